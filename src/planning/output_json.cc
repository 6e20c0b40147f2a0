#include <map>

#include "placement/refusal/kubernetes_words.h"
#include "placement/refusal/refusal_json.h"
#include "planning/plan.h"

namespace berth::planning {
namespace {

Json number_of(const Quantity& amount) {
  return amount.is_integer() ? Json(amount.ceil_units()) : Json(amount.approximate());
}

Json device_json(const api::DeviceResult& result) {
  Json device = Json::object({{"request", result.request},
                              {"driver", result.driver},
                              {"pool", result.pool},
                              {"device", result.device}});
  if (!result.share_id.empty()) device["shareID"] = result.share_id;
  if (!result.consumed_capacity.empty()) {
    Json& consumed = device["consumedCapacity"] = Json::object();
    for (const auto& [name, amount] : result.consumed_capacity) consumed[name] = amount.text();
  }
  device["adminAccess"] = result.admin_access;
  return device;
}

Json claim_json(const PlannedClaim& claim) {
  Json devices = Json::array();
  for (const api::DeviceResult& result : claim.allocation->results)
    devices.as_array().push_back(device_json(result));
  return Json::object({{"name", claim.name}, {"devices", std::move(devices)}});
}

Json pod_json(const PlannedPod& pod) {
  Json claims = Json::array();
  for (const PlannedClaim& claim : pod.claims) claims.as_array().push_back(claim_json(claim));
  Json json = Json::object(
      {{"namespace", pod.ns}, {"name", pod.name}, {"node", pod.node}, {"claims", std::move(claims)}});
  if (pod.gpu_share)
    json["gpuShare"] = Json::object({{"groups", api::to_json(pod.gpu_share->groups)},
                                     {"portion", api::gpu_portion(pod.gpu_share->hundredths)}});
  if (!pod.refusal) return json;
  json["message"] = placement::message_of(*pod.refusal);
  json["sentence"] = placement::kubernetes_sentence(*pod.refusal);
  json["explanation"] = placement::explanation_of(*pod.refusal);
  json["refused"] = placement::refused_nodes_json(*pod.refusal);
  return json;
}

// Where a group was tried, and how far it came.
Json where_json(const placement::GroupRefusal& group) {
  const auto count = [](std::size_t number) { return static_cast<std::int64_t>(number); };
  Json json = Json::object({{"key", group.topology_key},
                            {"needed", group.needed},
                            {"placements", count(group.placements)},
                            {"refusedByBound", count(group.refused_by_bound)},
                            {"tried", count(group.tried)},
                            {"searched", count(group.searched)}});
  if (!group.nearest.empty()) {
    json["nearest"] = group.nearest;
    json["room"] = group.nearest_room;
  }
  return json;
}

// The refusal as data, beside its message.
void put_refusal(Json& json, const placement::Refusal& refusal) {
  if (!refusal.group) json["refused"] = placement::refused_nodes_json(refusal);
  if (refusal.group && !refusal.group->gate && refusal.result != placement::DecisionResult::Error)
    json["where"] = where_json(*refusal.group);
}

Json proof_json(const Proof& proof) {
  return Json::object({{"kind", proof.kind},
                       {"claim", proof.claim},
                       {"request", proof.request},
                       {"node", proof.node},
                       {"need", number_of(proof.need)},
                       {"have", number_of(proof.have)},
                       {"items", api::to_json(proof.items)}});
}

Json verdict_json(const NodeVerdict& verdict) {
  Json json = Json::object({{"node", verdict.node}, {"feasible", verdict.feasible}});
  if (verdict.feasible) return json;
  json["plugin"] = verdict.plugin;
  json["reason"] = verdict.reason;
  return json;
}

Json summary_json(const std::vector<VerdictCount>& counts) {
  Json array = Json::array();
  for (const VerdictCount& count : counts) {
    Json row =
        Json::object({{"feasible", count.feasible}, {"nodes", static_cast<std::int64_t>(count.nodes)}});
    if (!count.feasible) {
      row["plugin"] = count.plugin;
      row["reason"] = count.reason;
    }
    array.as_array().push_back(std::move(row));
  }
  return array;
}

Json wish_json(const placement::WishResult& wish) {
  Json segments = Json::array();
  for (const std::int64_t pods : wish.segments) segments.as_array().emplace_back(pods);
  Json json = Json::object({{"level", wish.level},
                            {"reached", wish.reached},
                            {"domains", api::to_json(wish.domains)},
                            {"segments", std::move(segments)},
                            {"rankCrossings", wish.rank_crossings},
                            {"score", wish.score}});
  if (!wish.same_values.empty()) json["sameValues"] = api::to_json(wish.same_values);
  return json;
}

Json placement_json(const Decision& decision) {
  Json topology = Json::array();
  for (const auto& [key, value] : decision.topology)
    topology.as_array().push_back(Json::object({{"key", key}, {"value", value}}));
  Json json = Json::object({{"topology", std::move(topology)}, {"score", decision.score}});
  if (decision.wish) json["wish"] = wish_json(*decision.wish);
  return json;
}

Json victims_json(const std::vector<PlannedVictim>& victims) {
  Json array = Json::array();
  for (const PlannedVictim& victim : victims) {
    Json json = Json::object({{"namespace", victim.ns}, {"name", victim.name}});
    if (!victim.group.empty()) json["group"] = victim.group;
    array.as_array().push_back(std::move(json));
  }
  return array;
}

std::string_view kind_of(const Decision& decision) {
  return decision.group ? placement::group_kind(decision.composite) : "Pod";
}

Json decision_json(const Decision& decision, Verdicts verdicts) {
  Json json = Json::object({{"kind", kind_of(decision)},
                            {"namespace", decision.ns},
                            {"name", decision.name},
                            {"result", name_of(decision.result)},
                            {"reason", decision.reason},
                            {"message", decision.message()},
                            {"placement", placement_json(decision)},
                            {"victims", victims_json(decision.victims)}});
  Json pods = Json::array();
  for (const PlannedPod& pod : decision.pods) pods.as_array().push_back(pod_json(pod));
  json["pods"] = std::move(pods);
  if (!decision.parent.empty()) json["parent"] = decision.parent;
  if (decision.refusal) put_refusal(json, *decision.refusal);
  if (const std::optional<Proof> proof = decision.certificate()) json["certificate"] = proof_json(*proof);
  if (verdicts == Verdicts::Summary) json["verdictSummary"] = summary_json(summary_of(decision.verdicts));
  if (verdicts != Verdicts::All) return json;
  Json all = Json::array();
  for (const NodeVerdict& verdict : decision.verdicts) all.as_array().push_back(verdict_json(verdict));
  json["verdicts"] = std::move(all);
  return json;
}

// What a decision was before the changes, as far as that is compared.
Json was_json(const Decision& was) {
  Json pods = Json::array();
  for (const PlannedPod& pod : was.pods)
    pods.as_array().push_back(Json::object({{"namespace", pod.ns}, {"name", pod.name}, {"node", pod.node}}));
  return Json::object(
      {{"result", name_of(was.result)}, {"pods", std::move(pods)}, {"victims", victims_json(was.victims)}});
}

Json what_if_json(const WhatIf& what_if, const std::vector<Decision>& decisions, Verdicts verdicts) {
  Json base = Json::object();
  for (std::size_t i = 0; i < kResultKindCount; ++i) {
    const auto found = what_if.base.find(static_cast<ResultKind>(i));
    base[name_of(static_cast<ResultKind>(i))] =
        static_cast<std::int64_t>(found == what_if.base.end() ? 0 : found->second);
  }
  Json changed = Json::array(), gone = Json::array();
  for (const WhatIf::Changed& one : what_if.changed) {
    Json json = decision_json(decisions[one.now], verdicts);
    if (one.was) json["was"] = was_json(*one.was);
    changed.as_array().push_back(std::move(json));
  }
  for (const Decision& was : what_if.gone)
    gone.as_array().push_back(Json::object(
        {{"kind", kind_of(was)}, {"namespace", was.ns}, {"name", was.name}, {"was", was_json(was)}}));
  return Json::object({{"changes", api::to_json(what_if.changes)},
                       {"base", std::move(base)},
                       {"changed", std::move(changed)},
                       {"gone", std::move(gone)}});
}

}  // namespace

std::vector<VerdictCount> summary_of(const std::vector<NodeVerdict>& verdicts) {
  std::map<std::tuple<bool, std::string, std::string>, std::size_t> counts;
  for (const NodeVerdict& verdict : verdicts) ++counts[{!verdict.feasible, verdict.plugin, verdict.reason}];
  std::vector<VerdictCount> rows;
  for (const auto& [key, nodes] : counts)
    rows.push_back({!std::get<0>(key), std::get<1>(key), std::get<2>(key), nodes});
  return rows;
}

Json to_json(const Plan& plan, Verdicts verdicts) {
  Json decisions = Json::array();
  for (const Decision& decision : plan.decisions)
    decisions.as_array().push_back(decision_json(decision, verdicts));
  Json json = Json::object({{"decisions", std::move(decisions)}});
  if (plan.what_if) json["whatIf"] = what_if_json(*plan.what_if, plan.decisions, verdicts);
  return json;
}

}  // namespace berth::planning
