#include "planning/remedies.h"

#include <algorithm>
#include <tuple>

#include "client/group_tree.h"
#include "placement/refusal/berth_words.h"
#include "planning/remedy_search.h"
#include "planning/waiting_input.h"

namespace berth::planning {
namespace {

Json step_json(const placement::RemedyStep& step) {
  Json json = Json::object({{"kind", placement::name_of(step.kind)}});
  if (!step.node.empty()) json["node"] = step.node;
  if (!step.subjects.empty()) json["subjects"] = api::to_json(step.subjects);
  if (!step.request.empty()) json["request"] = step.request;
  if (!step.more.is_zero()) json["more"] = step.more.text();
  if (step.count > 0) json["count"] = step.count;
  if (!step.group.empty()) json["group"] = step.group;
  if (step.victims.empty()) return json;
  JsonArray& victims = (json["victims"] = Json::array()).as_array();
  for (const auto& [pod, priority] : step.victims)
    victims.push_back(Json::object({{"pod", pod}, {"priority", std::int64_t{priority}}}));
  return json;
}

Json domain_json(const DomainRoom& room) {
  Json json = Json::object({{"domain", room.domain},
                            {"nodes", static_cast<std::int64_t>(room.nodes)},
                            {"members", static_cast<std::int64_t>(room.members)}});
  if (!room.next.empty()) json["next"] = room.next;
  if (!room.lacks.empty()) json["lacks"] = api::to_json(room.lacks);
  return json;
}

Remedies of_pod(OfflineCluster& offline, const client::NamedKey& key, const PlanOptions& options,
                dra::SelectorEvaluator& selectors) {
  const auto pod = offline.view().pods.find_shared(key.ns, key.name);
  const bool waits =
      pod && pod->group.empty() && placement::wants_place(offline.view(), offline.cluster(), *pod);
  Remedies gated;
  gated.trouble = offline.trouble_of(key);
  if (!waits || !gated.trouble.empty()) return gated;
  gated.gate = OfflineCore(offline, options, selectors).core.gate(offline.view(), *pod);
  return gated.gate ? std::move(gated) : pod_remedies(offline, *pod, options, selectors);
}

Remedies of_group(OfflineCluster& offline, const client::NamedKey& key, const PlanOptions& options,
                  dra::SelectorEvaluator& selectors) {
  const WaitingGroup waiting = waiting_group(offline, key);
  Remedies gated;
  gated.gate = waiting.gate;
  return waiting.input ? group_remedies(offline, *waiting.input, options, selectors) : gated;
}

Remedies of_tree(OfflineCluster& offline, const placement::EntityKey& root, const PlanOptions& options,
                 dra::SelectorEvaluator& selectors) {
  const WaitingTree waiting = waiting_tree(offline, root);
  Remedies gated;
  gated.gate = waiting.gate;
  return waiting.input ? tree_remedies(offline, *waiting.input, options, selectors) : gated;
}

// The tree of a CompositePodGroup, or of a PodGroup with a parent; none: it is in none, or trees are not
// decided.
std::optional<placement::EntityKey> tree_with(const OfflineCluster& offline, const AskedAbout& asked,
                                              const PlanOptions& options) {
  if (!options.gates || !options.gates->enabled("CompositePodGroup")) return std::nullopt;
  const auto& [ns, name] = std::tie(asked.key.ns, asked.key.name);
  client::TreeTop top;
  if (asked.kind == placement::EntityKind::CompositeGroup) {
    top = client::tree_top(offline.view(), ns, name);
  } else if (const api::PodGroup* group = offline.view().pod_groups.find(ns, name);
             group && asked.kind == placement::EntityKind::Group) {
    top = client::tree_top(offline.view(), *group);
  }
  if (top.name.empty()) return std::nullopt;
  return placement::EntityKey{ns, top.name, placement::EntityKind::CompositeGroup};
}

Json room_json(const GroupRoom& room) {
  Json json = Json::object({{"name", room.name},
                            {"kind", placement::group_kind(room.composite)},
                            {"needed", room.needed},
                            {"fit", room.fit}});
  if (!room.domain.empty()) json["domain"] = room.domain;
  return json;
}

}  // namespace

Remedies find_remedies(OfflineCluster& offline, const AskedAbout& asked, const PlanOptions& options,
                       dra::SelectorEvaluator& selectors) {
  if (const auto root = tree_with(offline, asked, options))
    return of_tree(offline, *root, options, selectors);
  if (asked.kind == placement::EntityKind::CompositeGroup) return {};
  return asked.kind == placement::EntityKind::Group ? of_group(offline, asked.key, options, selectors)
                                                    : of_pod(offline, asked.key, options, selectors);
}

void put_json(const Remedies& remedies, Json& json) {
  if (!remedies.found.empty()) {
    JsonArray& rows = (json["remedies"] = Json::array()).as_array();
    for (const placement::Remedy& remedy : remedies.found) {
      Json& row = rows.emplace_back(Json::object({{"text", placement::words_of(remedy)}}));
      JsonArray& steps = (row["steps"] = Json::array()).as_array();
      for (const placement::RemedyStep& step : remedy.steps) steps.push_back(step_json(step));
    }
  }
  if (remedies.nearest)
    json["nearestMiss"] =
        Json::object({{"place", remedies.nearest->place}, {"lacks", api::to_json(remedies.nearest->lacks)}});
  if (!remedies.domains.empty()) {
    json["needed"] = remedies.needed;
    JsonArray& rows = (json["domains"] = Json::array()).as_array();
    for (const DomainRoom& room : remedies.domains) rows.push_back(domain_json(room));
  }
  if (!remedies.rooms.empty()) {
    JsonArray& rows = (json["rooms"] = Json::array()).as_array();
    for (const GroupRoom& room : remedies.rooms) rows.push_back(room_json(room));
  }
  if (remedies.tried.empty()) return;
  JsonArray& tried = (json["tried"] = Json::array()).as_array();
  for (const placement::RemedyKind kind : remedies.tried) tried.emplace_back(placement::tried_words(kind));
  if (remedies.near_nodes > 0) json["nearNodes"] = static_cast<std::int64_t>(remedies.near_nodes);
  if (remedies.ended) json["triedAll"] = false;
}

}  // namespace berth::planning
