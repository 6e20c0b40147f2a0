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

  // The devices of a claim, before the model has its change; null: none, or the change is not one of a claim.
  using HeldDevices = std::shared_ptr<const api::Allocation>;
  HeldDevices held_by(const client::Delta& delta) const;
  void apply(const client::View& view, const client::Delta& delta, const HeldDevices& held, Time now);
  // Before changes are followed: finds the policies of every group. What the model knows is no change.
  void resolve_all(const client::View& view, Time now);
  // The owners that this group asked for were read, or cannot be.
  void owners_read(const client::View& view, const GroupKey& group, Time now);

 private:
  placement::ClusterChange change(placement::ClusterEvent event, const client::View& view,
                                  const client::Delta& delta) const {
    return {event, loop_.cluster, view, &delta};
  }
  void wake(const placement::ClusterChange& change, Time now);
  void node_changed(const client::View& view, const client::Delta& delta, Time now);
  void placed_pod_changed(const client::View& view, const client::Delta& delta, Time now);
  void resize_changed(const api::Pod* before, const api::Pod* after, Time now);
  void pod_changed(const client::View& view, const client::Delta& delta, Time now);
  void group_changed(const client::View& view, const client::Delta& delta, Time now);
  void composite_changed(const client::View& view, const client::Delta& delta, Time now);
  void claim_changed(const client::View& view, const client::Delta& delta, const HeldDevices& held, Time now);
  void wake_users(const client::View& view, std::string_view ns, std::string_view volume_claim, Time now);
  void volume_changed(const client::View& view, const client::Delta& delta, Time now);
  void devices_changed(const client::View& view, const client::Delta& delta, Time now);
  void request_changed(const client::View& view, const client::Delta& delta, Time now);
  void request_failed(const client::View& view, const api::BindRequest& request, Time now);

  // intake_policies.cc
  void resolve(const client::View& view, const GroupKey& group, Time now);
  void resolve_under(const client::View& view, const std::string& ns, const std::string& composite, Time now);
  void wake_group(const client::View& view, const GroupKey& group, Time now);
  void policy_changed(const client::View& view, const client::Delta& delta, Time now);
  void topology_changed(const client::View& view, const client::Delta& delta, Time now);
  void member_moved(const client::View& view, const client::Delta& delta, Time now);
  void places_changed(const client::View& view, const client::Delta& delta, Time now);
  bool has_replacing_policy(const client::View& view, const GroupKey& group) const;
  void look_at(const client::View& view, const GroupKey& group, Time now);
  void look_at_all(const client::View& view, Time now);
  void labels_changed(const client::View& view, const client::Delta& delta, Time now);

  LoopState& loop_;
  const placement::Profiles& profiles_;
  std::uint64_t namespaces_stamp_ = 0;  // of the latest Namespace
  std::uint64_t selectors_stamp_ = 0;   // of the latest Service or controller of pods
};

}  // namespace berth::scheduling
