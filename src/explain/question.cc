#include "explain/question.h"

#include <algorithm>
#include <map>

#include "api/types/bind_request.h"
#include "api/types/node_device_health.h"
#include "api/types/pod.h"
#include "base/hex.h"
#include "base/nearest_names.h"
#include "client/api_path.h"
#include "client/group_tree.h"
#include "explain/decision_history.h"
#include "explain/explanation.h"

namespace berth::explain {
namespace {

using scheduling::DecisionKind;

constexpr std::size_t kEventsReadMax = 64;  // about one pod

std::string escaped(std::string_view segment) {
  return percent_encoded(segment, kPlainInSegment);
}

// The path of one object; without a name of all in the namespace; without a namespace of all.
std::string url_path(api::Kind kind, const std::string& ns, const std::string& name = {}) {
  return client::path_of(
      {.verb = client::Verb::Get, .resource = api::ref_of(kind), .ns = escaped(ns), .name = escaped(name)});
}

std::string events_path(const api::Pod& pod) {
  const client::ApiRequest events{
      .verb = client::Verb::Get, .resource = {"", "v1", "events"}, .ns = escaped(pod.meta.ns)};
  return client::path_of(events) + "?fieldSelector=involvedObject.uid%3D" + escaped(pod.meta.uid) +
         "%2Creason%3DFailedScheduling&limit=" + std::to_string(kEventsReadMax);
}

// One question, while it is being answered.
class Inquiry {
 public:
  Inquiry(const Question& question, const PageReaders& read, Time now)
      : question_(question), read_(read), now_(now) {}

  Result<PodFacts> pod_facts() const {
    PodFacts facts;
    facts.pod = TRY(object(api::Kind::Pod, question_.name));
    if (facts.pod.is_null()) return not_found();
    const api::Pod pod = api::decode_pod(facts.pod, nullptr);
    facts.record = TRY(record(DecisionKind::Pod, pod.meta.name));
    if (!pod.group.empty()) facts.group_record = TRY(record(DecisionKind::Group, pod.group));
    facts.bind_request =
        TRY(object(api::Kind::BindRequest, api::bind_request_name(pod.meta.name, pod.meta.uid)));
    std::vector<std::string> names;
    for (const api::PodClaim& claim : pod.claims) names.push_back(api::claim_object_name(pod, claim));
    names.push_back(pod.extended_claim);
    for (const std::string& name : names) {
      if (name.empty()) continue;
      Json claim = TRY(object(api::Kind::ResourceClaim, name));
      if (!claim.is_null()) facts.claims.push_back(std::move(claim));
    }
    if (!pod.bound() && (has_gate(facts.record) || has_gate(facts.group_record)))
      facts.missing = missing_objects(pod, facts.claims);
    if (facts.record.is_null() && !pod.bound()) facts.events = TRY(read_.objects(events_path(pod)));
    if (!facts.claims.empty() && pod.bound()) facts.node_health = node_health(pod.node_name);
    if (has_unhealthy_device(facts))
      facts.taint_rules = TRY(read_.objects(url_path(api::Kind::DeviceTaintRule, "")));
    return facts;
  }

  Result<GroupFacts> group_facts() const {
    GroupFacts facts;
    facts.group = TRY(object(api::Kind::PodGroup, question_.name));
    if (facts.group.is_null()) return not_found();
    facts.record = TRY(record(DecisionKind::Group, question_.name));
    facts.policies = policies();
    facts.members = TRY(pods_by_group())[question_.name];
    if (has_gate(facts.record)) add_missing_parent(facts.group, facts.missing);
    return facts;
  }

  Result<TreeFacts> tree_facts() const {
    TreeFacts facts;
    Json asked = TRY(object(api::Kind::CompositePodGroup, question_.name));
    if (asked.is_null()) return not_found();
    facts.root = TRY(root_of(asked));
    facts.record = TRY(record(DecisionKind::CompositeGroup, facts.root));
    const Json groups = TRY(read_.objects(url_path(api::Kind::PodGroup, question_.ns)));
    const Json composites = TRY(read_.objects(url_path(api::Kind::CompositePodGroup, question_.ns)));
    facts.policies = policies();
    PodsByGroup pods = TRY(pods_by_group());
    if (has_gate(facts.record)) add_missing_parent(asked, facts.missing);
    facts.groups.push_back({std::move(asked), true, 0});
    add_groups(facts, question_.name, groups.items_at("items"), composites.items_at("items"), pods);
    return facts;
  }

 private:
  static bool has_gate(const Json& record) { return !record.part("gate").is_null(); }

  // What the pod names and nobody has made, as far as the asker may read it; `claims` are those that exist.
  std::vector<std::string> missing_objects(const api::Pod& pod, const std::vector<Json>& claims) const {
    std::vector<std::string> missing;
    const auto look_for = [&](api::Kind kind, const std::string& name) {
      Result<Json> found = object(kind, name);
      if (found && found->is_null()) missing.push_back(missing_text(kind, name));
      return std::move(found).value_or(Json());
    };
    if (!pod.group.empty()) add_missing_parent(look_for(api::Kind::PodGroup, pod.group), missing);
    for (const api::PodClaim& claim : pod.claims) {
      const std::string name = api::claim_object_name(pod, claim);
      const auto has_name = [&](const Json& one) { return one.part("metadata").string_at("name") == name; };
      if (name.empty())
        look_for(api::Kind::ResourceClaimTemplate, claim.template_name);
      else if (std::ranges::none_of(claims, has_name))
        missing.push_back(missing_text(api::Kind::ResourceClaim, name));
    }
    return missing;
  }

  static std::string parent_of(const Json& group) {
    return std::string(group.part("spec").string_at("parentCompositePodGroupName"));
  }

  // The first group above this one that nobody has made, as far as the asker may read it.
  void add_missing_parent(const Json& group, std::vector<std::string>& missing) const {
    std::string parent = parent_of(group);
    for (std::size_t level = 1; level < client::kTreeLevelsMax && !parent.empty(); ++level) {
      const Result<Json> above = object(api::Kind::CompositePodGroup, parent);
      if (!above) return;
      if (above->is_null()) return missing.push_back(missing_text(api::Kind::CompositePodGroup, parent));
      parent = parent_of(*above);
    }
  }

  // "ResourceClaim wanted, which does not exist (nearest: wanted-2)".
  std::string missing_text(api::Kind kind, const std::string& name) const {
    const Json list =
        read_.objects(url_path(kind, question_.ns) + "?limit=" + std::to_string(kNamesComparedMax))
            .value_or(Json());
    std::vector<std::string> names;
    for (const Json& one : list.items_at("items")) names.emplace_back(one.part("metadata").string_at("name"));
    const std::string hint = names_hint(name, names, names.size());
    return std::string(api::info_of(kind).name) + " " + name + ", which does not exist" +
           (hint.empty() ? "" : " (" + hint + ")");
  }

  using PodsByGroup = std::map<std::string, std::vector<PodFacts>, std::less<>>;

  Json policies() const {
    return read_.objects(url_path(api::Kind::PlacementPolicy, question_.ns)).value_or(Json());
  }

  Result<PodsByGroup> pods_by_group() const {
    const Json pods = TRY(read_.objects(url_path(api::Kind::Pod, question_.ns)));
    const Json requests = TRY(read_.objects(url_path(api::Kind::BindRequest, question_.ns)));
    std::map<std::string, const Json*> by_pod;
    for (const Json& request : requests.items_at("items"))
      by_pod[std::string(request.part("spec").string_at("podUID"))] = &request;
    PodsByGroup groups;
    for (const Json& pod : pods.items_at("items")) {
      std::string group = api::decode_pod(pod, nullptr).group;
      if (group.empty()) continue;
      PodFacts& member = groups[std::move(group)].emplace_back();
      member.pod = pod;
      const auto request = by_pod.find(std::string(pod.part("metadata").string_at("uid")));
      if (request != by_pod.end()) member.bind_request = *request->second;
    }
    return groups;
  }

  // The name where the walk over parents ends.
  Result<std::string> root_of(const Json& composite) const {
    Json at = composite;
    std::string name = question_.name;
    for (std::size_t level = 1; level < client::kTreeLevelsMax; ++level) {
      const std::string parent = parent_of(at);
      if (parent.empty()) break;
      name = parent;
      at = TRY(object(api::Kind::CompositePodGroup, name));
    }
    return name;
  }

  // The groups below the last one of the facts, depth first, by name.
  static void add_groups(TreeFacts& facts, const std::string& parent, const JsonArray& groups,
                         const JsonArray& composites, PodsByGroup& pods) {
    const std::size_t level = facts.groups.back().level + 1;
    if (level >= client::kTreeLevelsMax) return;
    const auto is_child = [&](const Json& object) { return parent_of(object) == parent; };
    for (const Json& object : composites) {
      if (!is_child(object)) continue;
      facts.groups.push_back({object, true, level});
      add_groups(facts, std::string(object.part("metadata").string_at("name")), groups, composites, pods);
    }
    for (const Json& object : groups)
      if (is_child(object))
        facts.groups.push_back(
            {object, false, level, std::move(pods[std::string(object.part("metadata").string_at("name"))])});
  }

  Result<Json> object(api::Kind kind, const std::string& name) const {
    return read_.objects(url_path(kind, question_.ns, name));
  }
  Result<Json> record(DecisionKind kind, const std::string& name) const {
    return read_.decisions(decision_path(kind, escaped(question_.ns), escaped(name)));
  }

  // Null also for a report that says nothing any more, and for one that the asker may not read.
  Json node_health(const std::string& node) const {
    const client::ApiRequest report{
        .verb = client::Verb::Get, .resource = api::node_device_health_resource(), .name = escaped(node)};
    Json told = read_.objects(client::path_of(report)).value_or(Json());
    const Result<Time> observed = parse_time(told.part("spec").string_at("observed"));
    return observed && *observed + api::kNodeHealthSilenceMax >= now_ ? std::move(told) : Json();
  }

  Error not_found() const {
    const api::ResourceRef ref = api::ref_of(question_.kind);
    const std::string what = question_.kind == api::Kind::Pod        ? "pod "
                             : question_.kind == api::Kind::PodGroup ? "podgroup "
                                                                     : "compositepodgroup ";
    const std::string text = what + question_.ns + "/" + question_.name + " does not exist";
    const Result<Json> same = read_.objects(url_path(question_.kind, "") + "?fieldSelector=metadata.name%3D" +
                                            escaped(question_.name));
    if (same && !same->items_at("items").empty()) {
      const Json& first = same->items_at("items").front();
      return Error(ErrorCode::NotFound, text + "; one of that name is in namespace " +
                                            std::string(first.part("metadata").string_at("namespace")) +
                                            ": say so with -n");
    }
    return Error(ErrorCode::NotFound,
                 text + "; `kubectl get " + ref.resource + " -n " + question_.ns + "` lists those that do");
  }

  const Question& question_;
  const PageReaders& read_;
  const Time now_;
};

}  // namespace

Result<Json> answer(const Question& question, const PageReaders& read, Time now) {
  const Inquiry inquiry(question, read, now);
  if (question.kind == api::Kind::Pod) return explain_pod(TRY(inquiry.pod_facts()), now);
  if (question.kind == api::Kind::CompositePodGroup) return explain_tree(TRY(inquiry.tree_facts()), now);
  return explain_group(TRY(inquiry.group_facts()), now);
}

}  // namespace berth::explain
