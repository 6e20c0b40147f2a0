// Creates pods over TLS as fast as a server takes them, with next to no CPU time of its own: all connections
// share one thread, and a request is a copied body. The pods are those of the `load` in
// tests/cluster/clients.
//
//   create-load KUBECONFIG NAMESPACE FIRST COUNT CONNECTIONS
//
// Prints {"created", "seconds", "per_second", "p50_ms", "p99_ms"}; ends with 1 and a sentence when a create
// fails.
#include <poll.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

#include "api/protobuf.h"
#include "api/protobuf_encode.h"
#include "base/clock.h"
#include "base/json.h"
#include "client/tls_stream.h"

namespace berth::bench {
namespace {

constexpr std::size_t kConnectionsMax = 1024;
constexpr std::size_t kPodsMax = 1'000'000;  // names have six digits
constexpr std::size_t kAnswerBytesMax = 1u << 20;
constexpr int kSilenceMillisMax = 30'000;
constexpr std::size_t kTenths = 10;
constexpr std::string_view kNameOfNone = "load-000000";

struct Order {
  client::ClusterAccess access;
  std::string ns;
  std::size_t first = 0, count = 0, connections = 0;
};

Json pod(std::size_t tenth) {
  const Json requests = Json::object({{"cpu", "100m"}, {"memory", "64Mi"}});
  const Json container = Json::object(
      {{"name", "main"}, {"image", "app:1"}, {"resources", Json::object({{"requests", requests}})}});
  const Json labels = Json::object({{"app", "load"}, {"tenth", std::to_string(tenth)}});
  return Json::object(
      {{"apiVersion", "v1"},
       {"kind", "Pod"},
       {"metadata", Json::object({{"name", kNameOfNone}, {"labels", labels}})},
       {"spec", Json::object({{"schedulerName", "nobody"}, {"containers", Json::array({container})}})}});
}

// The request of each pod, from one text for each value of its label.
class Requests {
 public:
  static Result<Requests> of(const std::string& ns, const std::string& authority) {
    Requests made;
    for (std::size_t tenth = 0; tenth < kTenths; ++tenth) {
      const std::string body = TRY(api::encode_protobuf_body(to_string(pod(tenth)), api::Unnumbered::Refuse));
      made.texts_[tenth] =
          "POST /api/v1/namespaces/" + ns + "/pods HTTP/1.1\r\nHost: " + authority +
          "\r\nUser-Agent: create-load\r\nContent-Type: " + std::string(api::kProtobufMediaType) +
          "\r\nAccept: " + std::string(api::kProtobufMediaType) +
          ",application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    }
    return made;
  }

  // Valid until the next call.
  std::string_view of_pod(std::size_t number) {
    std::string& text = texts_[number % kTenths];
    const std::string digits = std::to_string(number);
    const std::size_t end = text.find("load-", text.find("\r\n\r\n")) + kNameOfNone.size();
    std::fill_n(text.begin() + static_cast<std::ptrdiff_t>(end - 6), 6, '0');
    std::copy(digits.begin(), digits.end(), text.begin() + static_cast<std::ptrdiff_t>(end - digits.size()));
    return text;
  }

 private:
  std::array<std::string, kTenths> texts_;
};

// Whether `answer` is one whole response to a create.
Result<bool> is_created(std::string_view answer) {
  const std::size_t head_end = answer.find("\r\n\r\n");
  if (head_end == std::string_view::npos) return false;
  if (!answer.starts_with("HTTP/1.1 201 "))
    return Error(ErrorCode::Internal, "a create failed: " + std::string(answer));
  constexpr std::string_view kLength = "\r\nContent-Length: ";
  const std::size_t at = answer.find(kLength);
  std::size_t size = 0;
  if (at < head_end) std::from_chars(answer.data() + at + kLength.size(), answer.data() + head_end, size);
  if (size == 0 || size > kAnswerBytesMax)
    return Error(ErrorCode::Internal, "an answer of " + std::to_string(size) + " bytes");
  return answer.size() >= head_end + 4 + size;
}

struct Connection {
  std::unique_ptr<client::TlsStream> stream;
  std::string answer;
  Time sent;
  bool is_waiting = false;
};

class CreateLoad {
 public:
  CreateLoad(const Order& order, Requests requests)
      : next_(order.first), end_(order.first + order.count), requests_(std::move(requests)) {}

  Status open(const Order& order, const client::ServerUrl& server) {
    context_ = TRY(client::client_tls(order.access));
    const std::string& name =
        order.access.tls_server_name.empty() ? server.host : order.access.tls_server_name;
    const Time deadline = clock_.monotonic() + Duration::millis(kSilenceMillisMax);
    for (std::size_t i = 0; i < order.connections; ++i) {
      Connection& made = connections_.emplace_back();
      made.stream = TRY(client::TlsStream::connect(context_.get(), server, name, deadline));
      while (!TRY(made.stream->advance(clock_.monotonic()))) {
        pollfd file = made.stream->awaited();
        TRY(wait_for({&file, 1}));
      }
      if (made.stream->speaks_h2()) return Error(ErrorCode::Unsupported, "the server chose HTTP/2");
    }
    return {};
  }

  Result<Json> run() {
    const Time began = clock_.monotonic();
    for (Connection& connection : connections_) TRY(send_next(connection));
    while (waiting_ > 0) TRY(take_answers());
    const double seconds = (clock_.monotonic() - began).seconds_f();
    std::sort(delays_ms_.begin(), delays_ms_.end());
    return Json::object({{"created", static_cast<std::int64_t>(delays_ms_.size())},
                         {"seconds", seconds},
                         {"per_second", static_cast<double>(delays_ms_.size()) / seconds},
                         {"p50_ms", quantile(50)},
                         {"p99_ms", quantile(99)}});
  }

 private:
  double quantile(std::size_t percent) const {
    return delays_ms_.empty() ? 0 : delays_ms_[(delays_ms_.size() - 1) * percent / 100];
  }

  static Status wait_for(std::span<pollfd> files) {
    if (::poll(files.data(), files.size(), kSilenceMillisMax) > 0) return {};
    return Error(ErrorCode::Unavailable, "the server is silent");
  }

  Status send_next(Connection& connection) {
    if (next_ == end_) return {};
    TRY(connection.stream->write(requests_.of_pod(next_++)));
    connection.sent = clock_.monotonic();
    connection.is_waiting = true;
    ++waiting_;
    return connection.stream->flush();
  }

  Status take_answers() {
    std::vector<pollfd> files;
    for (const Connection& connection : connections_) files.push_back(connection.stream->awaited());
    TRY(wait_for(files));
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      if (files[i].revents == 0) continue;
      TRY(connections_[i].stream->flush());
      if (files[i].revents & ~POLLOUT) TRY(take_answer(connections_[i]));
    }
    return {};
  }

  Status take_answer(Connection& connection) {
    TRY(connection.stream->receive());
    for (;;) {
      const std::string_view piece = TRY(connection.stream->decrypted());
      if (piece.empty()) break;
      connection.answer += piece;
    }
    if (!connection.is_waiting || !TRY(is_created(connection.answer))) return {};
    delays_ms_.push_back((clock_.monotonic() - connection.sent).seconds_f() * 1000);
    connection.answer.clear();
    connection.is_waiting = false;
    --waiting_;
    return send_next(connection);
  }

  const SystemClock clock_;
  std::size_t next_;
  const std::size_t end_;
  Requests requests_;
  client::TlsContext context_;
  std::vector<Connection> connections_;
  std::size_t waiting_ = 0;  // connections whose answer is not there yet
  std::vector<double> delays_ms_;
};

Result<std::size_t> number_of(std::string_view text, std::size_t most) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number > most)
    return Error(ErrorCode::Invalid, std::string(text) + " is no number up to " + std::to_string(most));
  return number;
}

Result<Json> measure(std::span<char* const> arguments) {
  if (arguments.size() != 5)
    return Error(ErrorCode::Invalid, "usage: create-load KUBECONFIG NAMESPACE FIRST COUNT CONNECTIONS");
  Order order;
  order.access = TRY(client::read_kubeconfig(arguments[0], "", client::KubeEnvironment{}));
  order.ns = arguments[1];
  order.first = TRY(number_of(arguments[2], kPodsMax));
  order.count = TRY(number_of(arguments[3], kPodsMax - order.first));
  order.connections = TRY(number_of(arguments[4], kConnectionsMax));
  const client::ServerUrl server = client::parse_server_url(order.access.server);
  CreateLoad load(order, TRY(Requests::of(order.ns, server.authority)));
  TRY(load.open(order, server));
  return load.run();
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) {
  const auto measured = berth::bench::measure({argv + 1, argc > 0 ? static_cast<std::size_t>(argc - 1) : 0});
  if (!measured) {
    std::fprintf(stderr, "create-load: %s\n", measured.error().text().c_str());
    return 1;
  }
  std::printf("%s\n", to_string(*measured).c_str());
  return 0;
}
