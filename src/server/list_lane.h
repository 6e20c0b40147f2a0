// Every LIST that is not done within its first turn: kListsOpenMax at once, one turn at a time, the others
// wait.
//
// So lists take one thread of the pool, in turns of a millisecond, and kListsOpenMax times what a ListStream
// keeps, however many are asked for and however their peers read. Those of one user wait in a line, and the
// lines have their turn one after the other. A list that waits keeps its request alone; its state is the
// newest when it begins. Owner: ApiServer. Thread-safe. Source: the reference cuts a request
// after 60 s (--request-timeout) and answers 429 when too many wait (API priority and fairness).
#pragma once

#include <cstddef>
#include <memory>

#include "base/time.h"
#include "server/list_stream.h"
#include "server/registry.h"

namespace berth::server {

inline constexpr std::size_t kListsOpenMax = 16;
// More are answered 429: the newest of the longest line.
inline constexpr std::size_t kListsWaitingMax = 256;
// While others wait: how long a peer may take nothing, and how long a list may take in all.
inline constexpr std::int64_t kListStallS = 5;
inline constexpr std::int64_t kListShareS = 60;
// Whether others wait or not: what it keeps of an old state is given back.
inline constexpr std::int64_t kListTimeoutS = 600;
inline constexpr std::int64_t kListWaitS = 60;  // until it begins; then 429

class ListLane {
 public:
  explicit ListLane(const Registry& registry);
  ~ListLane();

  // Answers on this thread when one turn suffices.
  void answer(ListRequest request);
  // The answer has these objects.
  void answer(ListRequest request, store::ListPage page);
  // Cuts what takes too long; about every 200 ms.
  void tick(Time monotonic_now);
  std::size_t open_count() const;
  std::size_t waiting_count() const;

 private:
  struct State;
  void enter(std::shared_ptr<ListStream> stream);

  const Registry& registry_;
  const std::shared_ptr<KeptBytes> kept_ = std::make_shared<KeptBytes>();
  const std::shared_ptr<State> state_;  // shared with callbacks of exchanges, which may outlive the lane
};

}  // namespace berth::server
