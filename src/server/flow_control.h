// Priority and fairness: how many requests of each priority level are under way at once, and in which order
// the others have their turn.
//
// A request has a seat of its level until its answer begins; a watch, and the items of a list, need none.
// Levels lend seats that they do not use (flow_seats.h). A level that queues takes the flows that wait in
// turn, so a user who floods it delays himself. Beyond its bounds a level refuses (429), and so it does what
// has waited for kFlowWaitMax. A request whose peer goes waits no longer. Exempt levels, and requests that no
// FlowSchema matches, never wait.
//
// Thread-safe; owner: ApiServer. Cost: a match of the schemas, and a lock at the begin and the end of a
// request; while requests wait, the end of one looks at all levels. After a write of a schema or a level the
// next request reads it, and sorts them all. Source: pkg/util/flowcontrol of k8s.io/apiserver 1.37, which
// deals flows to a fixed number of queues and counts seats by the size of a list.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "base/metrics.h"
#include "base/time.h"
#include "server/flow_schemas.h"
#include "server/http.h"
#include "server/object_target.h"
#include "server/read_objects.h"
#include "server/rendering.h"

namespace berth::server {

class Registry;

inline constexpr Duration kFlowWaitMax = Duration::seconds(15);
// The bodies of requests that wait: of all levels, divided as the seats are. One flow has at most this part
// of its level's. The first body of a level or a flow may be larger.
inline constexpr std::size_t kFlowWaitingBytesMax = 256u << 20;
inline constexpr std::size_t kFlowsOfWaitingBytes = 8;

class FlowControl {
 public:
  // It outlives this.
  explicit FlowControl(Registry& registry);
  ~FlowControl();

  // A request and what carries it out, with an exchange that gives its seat back.
  struct Arrival {
    std::shared_ptr<HttpExchange> exchange;
    std::size_t body_bytes = 0;  // that `run` holds
    Encoding refusal_encoding;
    std::function<void(std::shared_ptr<HttpExchange>)> run;
  };
  // Runs it, now or on a pool thread when it has its turn, or refuses.
  void admit(const FlowAttributes& asked, Arrival arrival);
  // A FlowSchema or a level was written: the next request is judged by it.
  void noted(const ObjectTarget& target);
  // Refuses what has waited for too long, and reports in the schemas whether their levels exist; about every
  // 200 ms, on one thread.
  void tick(Time monotonic_now);
  // Afterwards nothing that waits begins: called before the pool ends.
  void stop();
  void write_metrics(MetricsText& text) const;

 private:
  struct State;
  // The schemas with the states of their levels.
  struct Compiled;
  std::shared_ptr<Compiled> compiled();
  void read_again();

  Registry& registry_;
  // Writes of schemas and levels, and how many of them the statuses have seen.
  std::atomic<std::uint64_t> written_{1};
  std::uint64_t reported_to_ = 0;
  // Those that are not of the status, and how many of them the compiled set has seen.
  std::atomic<std::uint64_t> specs_written_{1}, read_to_{0};
  std::mutex reading_, compiled_mutex_;
  ReadObjects<FlowSchema> schemas_;
  ReadObjects<PriorityLevel> levels_;
  std::shared_ptr<Compiled> compiled_;
  const std::shared_ptr<State> state_;  // exchanges may outlive this
};

}  // namespace berth::server
