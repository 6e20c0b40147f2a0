// ApiClient of a real API server, over HTTP.
//
// Two HttpFetchers, each with its thread: one for requests and their answers, one for lists and watches, so
// that neither waits for the other. Built-in kinds are asked for as protobuf, everything else as JSON; a
// server may answer with JSON always. The first uses HTTP/2 where it can; on the
// second every watch has a connection of its own, because an API server ends a watch whose bytes are not
// read. Cost: an event in protobuf is only cut out here, one in JSON is parsed (about 20 µs for a 3 KB pod).
// Never repeats a write by itself. Source:
// Kubernetes API concepts (paging, watches, bookmarks, 410); client-go's reflector for the pauses.
#pragma once

#include <memory>

#include "client/http_fetch.h"
#include "client/server_time.h"

namespace berth::client {

inline constexpr std::size_t kListedObjectsMax = 4u << 20;  // of one list; a longer one fails

// Sizes and times of lists and watches; the defaults are for real clusters.
struct WatchPacing {
  std::size_t page_objects = 500;
  Duration first_pause = Duration::millis(800);  // after a failure; doubles up to the longest
  Duration longest_pause = Duration::seconds(30);
  Duration healthy = Duration::minutes(2);        // without a failure: the next pause is the first again
  Duration short_watch = Duration::seconds(1);    // one that ends earlier without an event has failed
  Duration watch_timeout = Duration::minutes(9);  // asked of the server
  Duration absent_pause = Duration::seconds(30);  // before a resource that is not served is listed again
};

// `clock` outlives the client, subscriptions end before it. A subscription is not destroyed by its receiver's
// own call. `server_time` (or null) gets every answer before its receiver, and outlives the client.
// A resource that was never listed and is not served (404) has no objects (WatchReceiver::on_not_served) and
// is listed again after absent_pause. Once it was listed, a 404 is a failure like any other refusal: what is
// known stays. Refuses what HttpFetcher refuses.
Result<std::unique_ptr<ApiClient>> make_https_client(ClusterAccess access, HttpFetcherOptions options,
                                                     const Clock& clock, WatchPacing pacing = {},
                                                     ServerTime* server_time = nullptr);

}  // namespace berth::client
