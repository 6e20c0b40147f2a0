#include "placement/replacement/lost_places.h"

#include <algorithm>

#include "api/node_names.h"
#include "client/device_evictions.h"

namespace berth::placement {
namespace {

const api::Condition* not_ready(const api::Node& node) {
  const api::Condition* ready = api::find_condition(node.conditions, "Ready");
  return ready && ready->status != "True" ? ready : nullptr;
}

// As the eviction by taints reads tolerations: the first that matches counts.
bool stays_for_ever(const api::Pod& pod, const api::Taint& taint) {
  const auto first = std::ranges::find_if(
      pod.tolerations, [&](const api::Toleration& one) { return api::tolerates(one, taint); });
  return first != pod.tolerations.end() && !first->seconds;
}

bool is_evicted_by(const api::Pod& pod, const api::Taint& taint) {
  return taint.effect == api::kNoExecute && !stays_for_ever(pod, taint);
}

// The taint that a node with this condition gets, sooner or later.
api::Taint taint_of(const api::Condition& not_ready) {
  const std::string_view key = not_ready.status == "Unknown" ? api::kUnreachableTaint : api::kNotReadyTaint;
  return {std::string(key), "", std::string(api::kNoExecute), {}};
}

// When the pod's node counts as failed because it is not ready; nothing: it is ready, or the pod stays.
std::optional<Time> fails_at(const api::Pod& pod, const api::Node* node) {
  const api::Condition* condition = node ? not_ready(*node) : nullptr;
  if (!condition || stays_for_ever(pod, taint_of(*condition))) return std::nullopt;
  return condition->last_transition + kNotReadyGrace;
}

std::optional<PlaceLoss> loss_of(const client::View& view, const api::Pod& pod, const api::Node* node,
                                 const client::TaintRuleList& rules, Time now) {
  if (!node) return PlaceLoss::NodeGone;
  if (std::ranges::any_of(node->taints, [&](const api::Taint& one) { return is_evicted_by(pod, one); }))
    return not_ready(*node) ? PlaceLoss::NodeNotReady : PlaceLoss::NodeTainted;
  if (client::own_device_eviction(view, pod, rules)) return PlaceLoss::DeviceTainted;
  if (const std::optional<Time> at = fails_at(pod, node); at && *at <= now) return PlaceLoss::NodeNotReady;
  return std::nullopt;
}

}  // namespace

bool is_ready(const api::Node& node) {
  return !not_ready(node);
}

bool is_failing(const api::Node& node) {
  return not_ready(node) || std::ranges::any_of(node.taints, [](const api::Taint& taint) {
           return taint.effect == api::kNoExecute;
         });
}

bool is_failing_for(const api::Node& node, const api::Pod& pod) {
  return not_ready(node) ||
         std::ranges::any_of(node.taints, [&](const api::Taint& taint) { return is_evicted_by(pod, taint); });
}

LostPlaces lost_places(const client::View& view, std::span<const api::Pod* const> bound, Time now) {
  const client::TaintRuleList rules = evicting_rules(view);
  std::vector<std::optional<PlaceLoss>> losses;
  bool any = false;
  for (const api::Pod* pod : bound) {
    losses.push_back(loss_of(view, *pod, view.nodes.find("", pod->node_name), rules, now));
    any |= losses.back().has_value();
  }
  LostPlaces places;
  for (std::size_t i = 0; i < bound.size(); ++i) {
    if (losses[i]) {
      places.lost.push_back({bound[i], *losses[i]});
    } else if (const auto at = fails_at(*bound[i], view.nodes.find("", bound[i]->node_name))) {
      if (any)
        places.lost.push_back({bound[i], PlaceLoss::NodeNotReady});
      else
        places.next = places.next ? std::min(*places.next, *at) : *at;
    }
  }
  return places;
}

std::string words_of(const LostPlace& place) {
  const std::string& node = place.pod->node_name;
  switch (place.why) {
    case PlaceLoss::NodeGone:
      return node + " is deleted";
    case PlaceLoss::NodeNotReady:
      return node + " is not ready";
    case PlaceLoss::NodeTainted:
      return node + " is tainted";
    case PlaceLoss::DeviceTainted:
      return "a device on " + node + " is tainted";
  }
  return node;
}

}  // namespace berth::placement
