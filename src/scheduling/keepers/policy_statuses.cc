#include "scheduling/keepers/policy_statuses.h"

#include <algorithm>

#include "client/group_tree.h"
#include "dra/pools/value_table.h"
#include "placement/wishes/reached.h"
#include "placement/wishes/topology_survey.h"

namespace berth::scheduling {
namespace {

using placement::EntityKind;
using placement::GroupWish;
using placement::WishAnswer;
using placement::WishFault;
using placement::WishMember;
using placement::WishResult;

constexpr std::string_view kSomewhere = "anywhere";
constexpr std::string_view kWaits = "waits";
constexpr std::string_view kFailedNodesReplaced = "FailedNodesReplaced";  // condition
constexpr std::string_view kTargetNotFound = "TargetNotFound";
constexpr std::size_t kDomainsInCellMax = 2;
constexpr std::size_t kDomainsCellBytesMax = 512;

Json or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

struct PlacedMembers {
  std::vector<WishMember> placed;
  std::size_t alive = 0;
};

void add_members(const client::View& view, const std::string& ns, const std::string& group,
                 PlacedMembers& members) {
  for (const api::Pod* pod : view.pods_of_group(ns, group)) {
    if (pod->finished() || pod->meta.deleting()) continue;
    ++members.alive;
    const api::Node* node = pod->bound() ? view.nodes.find("", pod->node_name) : nullptr;
    if (node) members.placed.push_back({pod, &node->meta.labels});
  }
}

PlacedMembers members_of_key(const client::View& view, const GroupKey& key) {
  PlacedMembers members;
  if (key.kind == EntityKind::Group) {
    add_members(view, key.ns, key.name, members);
    return members;
  }
  for (const api::PodGroup* group : client::groups_below(view, key.ns, key.name))
    add_members(view, key.ns, group->meta.name, members);
  return members;
}

// A value of an attribute on devices that a group compares: where an integer sorts, and the text.
using DeviceValue = std::pair<std::int64_t, std::string>;

std::optional<DeviceValue> scalar_of(const api::AttributeValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value))
    return DeviceValue{*number, std::to_string(*number)};
  if (const auto* yes = std::get_if<bool>(&value)) return DeviceValue{0, *yes ? "true" : "false"};
  if (const auto* text = std::get_if<std::string>(&value)) return DeviceValue{0, *text};
  if (const auto* version = std::get_if<api::AttributeVersion>(&value)) return DeviceValue{0, version->text};
  return std::nullopt;
}

std::optional<DeviceValue> attribute_value(const client::View& view, const api::DeviceResult& device,
                                           const std::string& attribute) {
  for (const api::ResourceSlice* slice : view.slices_of_pool(device.driver, device.pool)) {
    const auto found = std::ranges::find(slice->devices, device.device, &api::Device::name);
    if (found == slice->devices.end()) continue;
    const api::AttributeValue* value = dra::attribute_of(*found, device.driver, attribute);
    return value ? scalar_of(*value) : std::nullopt;
  }
  return std::nullopt;
}

// The values that the devices of every member with an allocation have; none: they differ.
std::vector<std::string> same_values(const client::View& view, const placement::WishSameDevices& wish,
                                     const std::vector<WishMember>& members) {
  std::optional<std::set<DeviceValue>> all;
  for (const WishMember& member : members) {
    const auto named = std::ranges::find(member.pod->claims, wish.claim, &api::PodClaim::name);
    if (named == member.pod->claims.end()) continue;
    const api::ResourceClaim* claim =
        view.claims.find(member.pod->meta.ns, api::claim_object_name(*member.pod, *named));
    if (!claim || !claim->allocation) continue;
    std::set<DeviceValue> own;
    for (const api::DeviceResult& device : claim->allocation->results)
      if (const auto value = attribute_value(view, device, wish.attribute)) own.insert(*value);
    if (all && *all != own) return {};
    all = std::move(own);
  }
  std::vector<std::string> texts;
  for (const auto& [number, text] : all.value_or(std::set<DeviceValue>{}))
    if (texts.size() < api::kPlacedDomainsMax) texts.push_back(text);
  return texts;
}

// A group of the policy, and where its members are.
struct GroupReport {
  GroupKey key;
  PlacedMembers members;
  WishResult result;
  // Of the group, or of a PodGroup below it; null: no member is on a failed node.
  const ReplacementReports::value_type* replacement = nullptr;

  bool waits() const { return members.placed.empty(); }
  std::string message() const {
    if (!replacement) return where();
    const bool is_own = replacement->first == key;
    return where() + "; " + (is_own ? "" : replacement->first.name + ": ") + replacement->second.message;
  }

 private:
  std::string where() const {
    if (members.alive == 0) return "it has no pods";
    const std::string reached = placement::reached_text(result);
    if (members.placed.size() == members.alive && !reached.empty()) return reached;
    return reached + (reached.empty() ? "" : "; ") + std::to_string(members.placed.size()) + " of " +
           std::to_string(members.alive) + " pods have a node";
  }
};

Json group_json(const GroupReport& report) {
  Json json = Json::object({{"kind", placement::group_kind(report.key.kind == EntityKind::CompositeGroup)},
                            {"name", report.key.name}});
  if (!report.result.reached.empty()) json["level"] = report.result.reached;
  if (!report.result.domains.empty()) {
    Json domains = Json::array();
    for (const std::string& domain : report.result.domains) {
      if (domains.as_array().size() == api::kPlacedDomainsMax) break;
      domains.as_array().emplace_back(domain);
    }
    json["domains"] = std::move(domains);
  }
  if (report.members.alive > 0) json["pods"] = static_cast<std::int64_t>(report.members.alive);
  if (!report.waits()) json["placedPods"] = static_cast<std::int64_t>(report.members.placed.size());
  if (!report.result.same_values.empty()) json["sameValues"] = api::to_json(report.result.same_values);
  json["score"] = report.waits() ? 0.0 : report.result.score;
  json["message"] = report.message();
  return json;
}

// "in one rack", "anywhere" or "wait", of so many groups.
std::string reached_by_some(const std::string& level, std::size_t groups) {
  if (level == kSomewhere) return level;
  if (level == kWaits) return groups == 1 ? level : "wait";
  return "in one " + level + (groups == 1 ? "" : " each");
}

// "rack"; of several groups "one rack each", or "1 group anywhere, 3 in one rack each, 2 wait".
std::string reached_of(const std::vector<GroupReport>& reports) {
  std::map<std::string, std::size_t> counts;
  for (const GroupReport& report : reports)
    ++counts[report.waits()                  ? std::string(kWaits)
             : report.result.reached.empty() ? std::string(kSomewhere)
                                             : report.result.reached];
  const std::string& first = counts.begin()->first;
  if (counts.size() == 1)
    return reports.size() == 1 || first == kSomewhere || first == kWaits ? first : "one " + first + " each";
  std::string text;
  for (const auto& [level, count] : counts) {
    const char* const noun = !text.empty() ? " " : count == 1 ? " group " : " groups ";
    text.append(text.empty() ? "" : ", ")
        .append(std::to_string(count))
        .append(noun)
        .append(reached_by_some(level, count));
  }
  return text;
}

// Pods with a node and pods of all groups: "15/16".
std::string pods_text(const std::vector<GroupReport>& reports) {
  std::size_t placed = 0, alive = 0;
  for (const GroupReport& report : reports) {
    placed += report.members.placed.size();
    alive += report.members.alive;
  }
  return std::to_string(placed) + "/" + std::to_string(alive);
}

// The domains of all groups, as a cell of a table: "b1/r1,b1/r2"; of more "b1/r1 and 7 more".
std::string domains_text(const std::vector<GroupReport>& reports) {
  std::set<std::string> domains;
  for (const GroupReport& report : reports)
    domains.insert(report.result.domains.begin(), report.result.domains.end());
  if (domains.empty()) return "";
  std::string text;
  for (const std::string& domain : domains) text.append(text.empty() ? "" : ",").append(domain);
  if (domains.size() <= kDomainsInCellMax && text.size() <= kDomainsCellBytesMax) return text;
  return domains.begin()->substr(0, kDomainsCellBytesMax) + " and " + std::to_string(domains.size() - 1) +
         " more";
}

// metav1.Condition: the message is required, even an empty one.
Json conditions_of(const std::vector<api::Condition>& standing, std::vector<api::Condition> wanted) {
  Json conditions = Json::array();
  for (api::Condition& one : wanted) {
    const std::string message = one.message;
    Json& condition =
        conditions.as_array().emplace_back(api::to_json(api::keeping_transition(standing, std::move(one))));
    condition["message"] = message;
  }
  return conditions;
}

// The worse one; of equal ones the first.
const ReplacementReports::value_type* worse(const ReplacementReports::value_type* a,
                                            const ReplacementReports::value_type* b) {
  return !a || (b && b->second.state > a->second.state) ? b : a;
}

const ReplacementReports::value_type* replacement_of(const client::View& view, const GroupKey& key,
                                                     const ReplacementReports& replacements) {
  const auto found_of = [&](const GroupKey& group) -> const ReplacementReports::value_type* {
    const auto found = replacements.find(group);
    return found == replacements.end() ? nullptr : &*found;
  };
  if (key.kind == EntityKind::Group) return found_of(key);
  const ReplacementReports::value_type* worst = nullptr;
  for (const api::PodGroup* group : client::groups_below(view, key.ns, key.name))
    worst = worse(worst, found_of({group->meta.ns, group->meta.name, EntityKind::Group}));
  return worst;
}

std::vector<GroupReport> reports_of(const client::View& view, const GroupWish& wish,
                                    const std::set<GroupKey>& groups,
                                    const ReplacementReports& replacements) {
  std::vector<GroupReport> reports;
  for (const GroupKey& key : groups) {
    GroupReport& report = reports.emplace_back(GroupReport{key, members_of_key(view, key), {}});
    report.result = placement::reached_by(wish, report.members.placed);
    if (wish.same_devices)
      report.result.same_values = same_values(view, *wish.same_devices, report.members.placed);
    report.replacement = replacement_of(view, key, replacements);
  }
  return reports;
}

// The worst of the groups counts, then the first.
api::Condition replacement_condition(const std::vector<GroupReport>& reports, Time now,
                                     std::int64_t generation) {
  const ReplacementReports::value_type* worst = nullptr;
  for (const GroupReport& report : reports) worst = worse(worst, report.replacement);
  if (!worst) return {std::string(kFailedNodesReplaced), "True", "NoFailedNodes", "", now, generation};
  return {std::string(kFailedNodesReplaced),
          "False",
          std::string(name_of(worst->second.state)),
          worst->first.name + ": " + worst->second.message,
          now,
          generation};
}

// Of groups that another policy names as well, or that cannot have the wish: the first one.
std::optional<WishFault> fault_of_groups(const client::View& view, const placement::OwnersOf& owners,
                                         const std::set<GroupKey>& groups) {
  for (const GroupKey& key : groups) {
    const api::PodGroup* group =
        key.kind == EntityKind::Group ? view.pod_groups.find(key.ns, key.name) : nullptr;
    const api::CompositePodGroup* composite = group ? nullptr : view.composite_groups.find(key.ns, key.name);
    if (!group && !composite) continue;
    const WishAnswer answer = group ? wish_of(view, owners, *group) : wish_of(view, owners, *composite);
    if (answer.fault && answer.fault->kind != WishFault::Kind::OwnersUnread) return answer.fault;
  }
  return std::nullopt;
}

struct Acceptance {
  bool accepted = false;
  std::string reason, message;
};

Acceptance acceptance_of(const client::View& view, const OwnerReads& owners,
                         const api::PlacementPolicy& policy, const WishAnswer& answer,
                         const std::set<GroupKey>& groups) {
  if (answer.fault) return {false, std::string(name_of(answer.fault->kind)), words_of(*answer.fault)};
  if (groups.empty()) {
    const bool about_groups = api::is_about_groups(policy.target);
    const std::string refused = about_groups ? "" : owners.refused_in(policy.meta.ns);
    return {false, std::string(kTargetNotFound),
            about_groups ? api::to_text(policy.target) + " does not exist"
                         : "no PodGroup or CompositePodGroup of the namespace is owned by " +
                               api::to_text(policy.target) + (refused.empty() ? "" : "; " + refused)};
  }
  if (const std::optional<WishFault> fault = fault_of_groups(view, owners.questions(), groups))
    return {false, std::string(name_of(fault->kind)), words_of(*fault)};
  return {true, "Accepted", ""};
}

// An event for each condition that became False, or False for another reason. A target may come later than
// its policy, and pods that move are in order, so these are no warnings.
std::vector<client::EventNote> notes_of(const api::ObjectKey& key, const std::string& uid, const Json& stored,
                                        const Json& wanted) {
  std::vector<client::EventNote> notes;
  for (const Json& is : wanted.items_at("conditions")) {
    std::string_view was;
    for (const Json& standing : stored.items_at("conditions"))
      if (standing.string_at("type") == is.string_at("type")) was = standing.string_at("reason");
    const std::string_view reason = is.string_at("reason");
    if (is.string_at("status") == "True" || reason == was) continue;
    const bool is_warning =
        reason != kTargetNotFound && reason != name_of(ReplacementReport::State::Replacing);
    notes.push_back(client::EventNote{key, uid, is_warning, std::string(reason), "Resolve",
                                      std::string(is.string_at("message"))});
  }
  return notes;
}

}  // namespace

Json status_of_policy(const client::View& view, const api::PlacementPolicy& policy,
                      const std::set<GroupKey>& groups, const OwnerReads& owners,
                      const ReplacementReports& replacements, Time now) {
  const WishAnswer answer = placement::wish_of(view, policy);
  const Acceptance acceptance = acceptance_of(view, owners, policy, answer, groups);
  std::vector<GroupReport> reports;
  if (answer.wish && acceptance.accepted) reports = reports_of(view, *answer.wish, groups, replacements);
  Json listed = Json::array();
  for (const GroupReport& report : reports) {
    if (listed.as_array().size() == api::kPlacedGroupsMax) break;
    listed.as_array().push_back(group_json(report));
  }
  const std::size_t omitted = reports.size() - listed.as_array().size();
  const std::vector<api::Condition> standing = api::decode_conditions(policy.status.items_at("conditions"));
  std::vector<api::Condition> conditions{{std::string(api::kPolicyAccepted),
                                          acceptance.accepted ? "True" : "False", acceptance.reason,
                                          acceptance.message, now, policy.meta.generation}};
  if (policy.replaces_failed_nodes && acceptance.accepted)
    conditions.push_back(replacement_condition(reports, now, policy.meta.generation));
  return Json::object({{"observedGeneration", policy.meta.generation},
                       {"wish", answer.wish ? or_null(placement::wish_text(*answer.wish)) : Json()},
                       {"reached", reports.empty() ? Json() : Json(reached_of(reports))},
                       {"pods", reports.empty() ? Json() : Json(pods_text(reports))},
                       {"domain", or_null(domains_text(reports))},
                       {"groups", reports.empty() ? Json() : std::move(listed)},
                       {"omittedGroups", omitted == 0 ? Json() : Json(static_cast<std::int64_t>(omitted))},
                       {"conditions", conditions_of(standing, std::move(conditions))}});
}

Json status_of_topology(const client::View& view, const api::Topology& topology, Time now) {
  std::vector<placement::WishLevel> levels;
  std::string path;
  for (const api::TopologyLevel& level : topology.levels) {
    levels.push_back({level.name, level.node_label});
    path.append(path.empty() ? "" : "/").append(level.name);
  }
  std::vector<placement::LabelledNode> nodes;
  nodes.reserve(view.nodes.size());
  for (const auto& [key, node] : view.nodes.all()) nodes.push_back({node->meta.name, &node->meta.labels});
  const placement::TopologySurvey found = placement::survey(levels, nodes);
  Json counts = Json::array();
  for (std::size_t i = 0; i < levels.size(); ++i)
    counts.as_array().push_back(Json::object({{"name", levels[i].name}, {"domains", found.domains[i]}}));
  const std::vector<api::Condition> standing = api::decode_conditions(topology.status.items_at("conditions"));
  return Json::object(
      {{"observedGeneration", topology.meta.generation},
       {"path", or_null(path)},
       {"levels", levels.empty() ? Json() : std::move(counts)},
       {"nodes", found.nodes == 0 ? Json() : Json(found.nodes)},
       {"unlabelledNodes", found.unlabelled == 0 ? Json() : Json(found.unlabelled)},
       {"conditions",
        conditions_of(standing, {{std::string(api::kTopologyValid), found.valid() ? "True" : "False",
                                  found.reason, found.message, now, topology.meta.generation}})}});
}

bool says_status(const Json& stored, const Json& wanted) {
  if (wanted.is_object()) {
    if (!stored.is_object()) return false;
    for (const JsonMember& member : wanted.as_object())
      if (member.key != "lastTransitionTime" && !says_status(stored.part(member.key), member.value))
        return false;
    return std::all_of(stored.as_object().begin(), stored.as_object().end(), [&](const JsonMember& member) {
      return wanted.find(member.key) || member.value.is_null();
    });
  }
  if (wanted.is_array()) {
    if (!stored.is_array() || stored.as_array().size() != wanted.as_array().size()) return false;
    for (std::size_t i = 0; i < wanted.as_array().size(); ++i)
      if (!says_status(stored.as_array()[i], wanted.as_array()[i])) return false;
    return true;
  }
  if (wanted.is_number() && stored.is_number()) return stored.as_double() == wanted.as_double();
  return stored == wanted;
}

void PolicyStatuses::changed(const api::ObjectKey& key, Time now) {
  const auto found = computed_.find(key);
  const Duration every = key.kind == api::Kind::Topology ? kTopologyStatusEvery : kPolicyStatusEvery;
  writes_.want(key, found == computed_.end() ? now : std::max(now, found->second + every));
}

// Looked at again in its interval: what the API server stores in another form is not written at each turn.
bool PolicyStatuses::write_done(const api::ObjectKey& key, bool ok, Time now) {
  if (!writes_.write_done(key, ok, now)) return false;
  if (ok) changed(key, now);
  return true;
}

void PolicyStatuses::policy_changed(const std::string& ns, const std::string& name, Time now) {
  changed({api::Kind::PlacementPolicy, ns, name, {}}, now);
}

void PolicyStatuses::nodes_changed(const client::View& view, Time now) {
  for (const auto& [key, topology] : view.topologies.all())
    changed(client::key_of(api::Kind::Topology, topology->meta), now);
}

client::Effects PolicyStatuses::due(const client::View& view, const PolicyMembers& members,
                                    const OwnerReads& owners, const ReplacementReports& replacements,
                                    Time now) {
  client::Effects effects;
  while (effects.chains.size() < kStatusesPerWriteMax) {
    const std::optional<api::ObjectKey> key = writes_.next(now);
    if (!key) break;
    const bool of_topology = key->kind == api::Kind::Topology;
    const api::Topology* topology = of_topology ? view.topologies.find("", key->name) : nullptr;
    const api::PlacementPolicy* policy =
        of_topology ? nullptr : view.placement_policies.find(key->ns, key->name);
    if (!policy && !topology) {
      computed_.erase(*key);
      writes_.erase(*key);
      continue;
    }
    const Json wanted = policy ? status_of_policy(view, *policy, members.groups_of({key->ns, key->name}),
                                                  owners, replacements, now)
                               : status_of_topology(view, *topology, now);
    computed_[*key] = now;
    const Json& stored = policy ? policy->status : topology->status;
    if (says_status(stored, wanted)) {
      writes_.erase(*key);
      continue;
    }
    const api::ObjectMeta& meta = policy ? policy->meta : topology->meta;
    for (client::EventNote& note : notes_of(*key, meta.uid, stored, wanted))
      effects.events.push_back(std::move(note));
    effects.chains.push_back(
        {*key, {client::merge_patch(*key, Json::object({{"status", wanted}}), meta.uid, 0, "status")}});
  }
  return effects;
}

}  // namespace berth::scheduling
