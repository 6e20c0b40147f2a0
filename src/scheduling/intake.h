// What a change of a live object means for entries: which are looked at again, which are woken, and what the
// keepers forget or note.
//
// The model has the change already. Cost: O(log n), of a claim O(its pods). Source: kube-scheduler's event
// handlers.
#pragma once

#include "scheduling/loop_state.h"

namespace berth::scheduling {

class Intake {
 public:
  explicit Intake(LoopState& loop) : loop_(loop) {}

  void apply(const client::View& view, const client::Delta& delta, Time now);

 private:
  void pod_changed(const client::Delta& delta, Time now);
  void claim_changed(const client::View& view, const client::Delta& delta, Time now);
  void volume_claim_changed(const client::View& view, const client::Delta& delta, Time now);
  void request_changed(const client::View& view, const client::Delta& delta, Time now);
  void request_failed(const client::View& view, const api::BindRequest& request, Time now);

  LoopState& loop_;
  std::uint64_t namespaces_stamp_ = 0;  // of the latest Namespace
};

}  // namespace berth::scheduling
