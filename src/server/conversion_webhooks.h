// Calls of the conversion webhooks of custom resources.
//
// A conversion waits for the answer, so only threads of the definition's lane convert. A request of a
// resource with a webhook is handled on that lane from its beginning. So are the answers to its writes and
// the turns of its watches. Owner: ApiServer. Thread-safe. Cost: one call for each kConversionBatchBytes of
// objects in another version; objects in the wanted version cost nothing. Source: apiextensions-apiserver
// 1.37, conversion/webhook_converter.go; TLS and HTTP are those of client::HttpFetcher.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "crd/served_version.h"
#include "server/status.h"
#include "server/waiting_lanes.h"
#include "server/webhook_endpoint.h"

namespace berth::client {
class HttpFetcher;
}

namespace berth::server {

inline constexpr std::size_t kConversionBatchBytes = 1u << 20;  // of one request, or one object
inline constexpr std::size_t kConversionBatchObjectsMax = 250;
inline constexpr std::size_t kConversionAnswerBytesMax = 12u << 20;
inline constexpr std::size_t kConversionClientsMax = 64;  // connections kept to webhooks
inline constexpr std::int64_t kConversionTimeoutS = 30;   // of one call, as the reference's

class ConversionWebhooks {
 public:
  // `random` outlives it. `timeout`: of one call.
  explicit ConversionWebhooks(Random& random, WebhookServices services = {},
                              Duration timeout = Duration::seconds(kConversionTimeoutS));
  ~ConversionWebhooks();

  // The threads that may convert, a lane for each definition.
  WaitingLanes& lanes() { return lanes_; }

  // The documents in `api_version`, in their order; each says its own version. On a thread of a lane.
  // Refuses with the reference's text when the webhook does not answer or answers wrongly.
  ApiResult<std::vector<Json>> convert(const crd::Definition& definition, std::vector<Json> documents,
                                       std::string_view api_version);
  // How many connections are kept.
  std::size_t clients() const;
  // Ends calls under way and work that waits.
  void stop();

 private:
  struct Client;
  struct Batch;

  Result<JsonArray> call(const crd::Definition& definition, const Batch& batch, std::string_view api_version);
  Result<std::shared_ptr<Client>> client_of(const crd::Definition& definition,
                                            const WebhookEndpoint& endpoint);

  Random& random_;
  const WebhookServices services_;
  const Duration timeout_;
  const SystemClock clock_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Client>> clients_;  // by the definition's name
  bool stopping_ = false;
  WaitingLanes lanes_;
};

}  // namespace berth::server
