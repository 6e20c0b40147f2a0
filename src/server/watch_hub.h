// Every open watch: ends them at their timeout, sends bookmarks, closes those whose peer does not read.
//
// Owner: ApiServer. Thread-safe.
#pragma once

#include <memory>

#include "server/http.h"
#include "server/list_options.h"
#include "server/matcher.h"
#include "server/registry.h"
#include "server/rendering.h"
#include "server/served.h"

namespace berth::server {

class WatchHub {
 public:
  explicit WatchHub(const Registry& registry);
  ~WatchHub();
  void open(const ObjectTarget& target, const ListOptions& options, Rendering rendering, Matcher matches,
            std::shared_ptr<HttpExchange> exchange);
  // Called about every 200 ms.
  void tick(Time now);
  // Ends the watches of custom resources that are served no more, or by another definition than they began
  // with. Called like tick(); one thread at a time.
  void end_replaced(const ServedPtr& served);
  std::size_t open_count() const;
  // Ends all streams.
  void close_all();

 private:
  struct Open;

  const Registry& registry_;
  const std::shared_ptr<Open> open_;
  ServedPtr checked_;  // what all watches were compared with that were open then
};

}  // namespace berth::server
