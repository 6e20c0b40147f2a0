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
  // Both outlive it.
  Intake(LoopState& loop, const placement::Profiles& profiles) : loop_(loop), profiles_(profiles) {}

  void apply(const client::View& view, const client::Delta& delta, Time now);

 private:
  placement::ClusterChange change(placement::ClusterEvent event) const { return {event, loop_.cluster}; }
  void wake(const placement::ClusterChange& change, Time now);
  void node_changed(const client::Delta& delta, Time now);
  void placed_pod_changed(const api::Pod* before, const api::Pod* after, Time now);
  void pod_changed(const client::View& view, const client::Delta& delta, Time now);
  void group_changed(const client::View& view, const client::Delta& delta, Time now);
  void composite_changed(const client::View& view, const client::Delta& delta, Time now);
  void claim_changed(const client::View& view, const client::Delta& delta, Time now);
  void volume_claim_changed(const client::View& view, const client::Delta& delta, Time now);
  void request_changed(const client::View& view, const client::Delta& delta, Time now);
  void request_failed(const client::View& view, const api::BindRequest& request, Time now);

  LoopState& loop_;
  const placement::Profiles& profiles_;
  std::uint64_t namespaces_stamp_ = 0;  // of the latest Namespace
};

}  // namespace berth::scheduling
