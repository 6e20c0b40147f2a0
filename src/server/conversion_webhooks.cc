#include "server/conversion_webhooks.h"

#include <future>

#include "client/http_fetch.h"
#include "server/webhook_endpoint.h"

namespace berth::server {
namespace {

bool is_same_server(const WebhookEndpoint& a, const WebhookEndpoint& b) {
  return a.server == b.server && a.certificate_name == b.certificate_name && a.ca_pem == b.ca_pem;
}

}  // namespace

struct ConversionWebhooks::Client {
  WebhookEndpoint endpoint;  // as far as a connection goes
  std::unique_ptr<client::HttpFetcher> fetcher;
};

// The documents of one call, and their texts.
struct ConversionWebhooks::Batch {
  std::vector<std::size_t> places;
  std::vector<std::string> texts;
  std::size_t bytes = 0;

  bool takes(std::size_t more) const {
    return places.empty() ||
           (bytes + more <= kConversionBatchBytes && places.size() < kConversionBatchObjectsMax);
  }
};

ConversionWebhooks::ConversionWebhooks(Random& random, WebhookServices services, Duration timeout)
    : random_(random), services_(std::move(services)), timeout_(timeout) {}

ConversionWebhooks::~ConversionWebhooks() {
  stop();
}

void ConversionWebhooks::stop() {
  std::map<std::string, std::shared_ptr<Client>> clients;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    clients.swap(clients_);
  }
  // Calls under way end with their fetcher, so no thread of a lane waits for one.
  for (auto& [name, client] : clients) client->fetcher.reset();
  lanes_.stop();
}

Result<std::shared_ptr<ConversionWebhooks::Client>> ConversionWebhooks::client_of(
    const crd::Definition& definition, const WebhookEndpoint& endpoint) {
  const std::lock_guard lock(mutex_);
  if (stopping_) return Error(ErrorCode::Unavailable, "the server stops");
  const auto kept = clients_.find(definition.name);
  if (kept != clients_.end() && is_same_server(kept->second->endpoint, endpoint)) return kept->second;
  auto made = std::make_shared<Client>();
  made->endpoint = endpoint;
  client::ClusterAccess access;
  access.server = endpoint.server;
  access.tls_server_name = endpoint.certificate_name;
  access.ca_pem = endpoint.ca_pem;
  client::HttpFetcherOptions options;
  options.user_agent = "berth-apiserver";
  options.reply_timeout = timeout_;
  options.connect_timeout = std::min(options.connect_timeout, timeout_);
  options.reply_bytes_max = kConversionAnswerBytesMax;
  made->fetcher = TRY(client::HttpFetcher::open(std::move(access), options, clock_));
  clients_[definition.name] = made;
  for (auto at = clients_.begin(); clients_.size() > kConversionClientsMax && at != clients_.end();)
    at = at->second != made && at->second.use_count() == 1 ? clients_.erase(at) : std::next(at);
  return made;
}

std::size_t ConversionWebhooks::clients() const {
  const std::lock_guard lock(mutex_);
  return clients_.size();
}

Result<JsonArray> ConversionWebhooks::call(const crd::Definition& definition, const Batch& batch,
                                           std::string_view api_version) {
  const crd::ConversionWebhook& webhook = *definition.webhook;
  const WebhookEndpoint endpoint = endpoint_of(webhook.client, services_);
  const std::string at = call_text(endpoint, timeout_);
  if (!endpoint.unreachable.empty()) return Error(ErrorCode::Unavailable, at + endpoint.unreachable);
  Result<std::shared_ptr<Client>> client = client_of(definition, endpoint);
  if (!client) return Error(ErrorCode::Unavailable, at + client.error().text());
  const std::string uid = random_.uuid();
  client::HttpFetch fetch;
  fetch.method = "POST";
  fetch.target = endpoint.target + timeout_query(timeout_);
  fetch.headers = {{"Content-Type", "application/json"}, {"Accept", "application/json"}};
  fetch.body = crd::conversion_request(webhook.review_version, uid, api_version, batch.texts);
  const auto answered = std::make_shared<std::promise<client::HttpReply>>();
  std::future<client::HttpReply> answer = answered->get_future();
  {
    // stop() ends the fetcher under this lock's protection: it is not used once it is gone.
    const std::lock_guard lock(mutex_);
    if (stopping_) return Error(ErrorCode::Unavailable, at + "the server stops");
    (*client)->fetcher->submit(
        std::move(fetch), [answered](client::HttpReply reply) { answered->set_value(std::move(reply)); });
  }
  const client::HttpReply reply = answer.get();
  if (reply.delivery != client::Delivery::Answered) return Error(ErrorCode::Unavailable, at + reply.trouble);
  if (reply.status < 200 || reply.status > 299) return Error(ErrorCode::Invalid, refusal_text(reply));
  const Result<Json> review = parse_json(reply.body);
  if (!review) return Error(ErrorCode::Invalid, "the answer is no JSON: " + review.error().text());
  return crd::converted_objects(*review, webhook.review_version, uid);
}

ApiResult<std::vector<Json>> ConversionWebhooks::convert(const crd::Definition& definition,
                                                         std::vector<Json> documents,
                                                         std::string_view api_version) {
  const auto take = [&](const Batch& batch) -> ApiResult<void> {
    if (batch.places.empty()) return {};
    const std::string asked =
        "conversion webhook for " + crd::kind_text(documents[batch.places.front()]) + " ";
    Result<JsonArray> converted = call(definition, batch, api_version);
    if (!converted) return plain_error(asked + "failed: " + std::string(converted.error().message()));
    if (converted->size() != batch.places.size())
      return plain_error(asked + "returned " + std::to_string(converted->size()) + " objects, expected " +
                         std::to_string(batch.places.size()));
    for (std::size_t i = 0; i < batch.places.size(); ++i) {
      Json& document = documents[batch.places[i]];
      Result<Json> accepted = crd::accepted_conversion(document, std::move((*converted)[i]), api_version);
      if (!accepted) return plain_error(asked + "returned " + std::string(accepted.error().message()));
      document = std::move(accepted).value();
    }
    return {};
  };
  Batch batch;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    if (std::as_const(documents[i]).string_at("apiVersion") == api_version) continue;
    std::string text = to_string(documents[i]);
    if (!batch.takes(text.size())) TRY(take(std::exchange(batch, {})));
    batch.bytes += text.size();
    batch.places.push_back(i);
    batch.texts.push_back(std::move(text));
  }
  TRY(take(batch));
  return documents;
}

}  // namespace berth::server
