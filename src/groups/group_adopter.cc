#include "groups/group_adopter.h"

#include <algorithm>
#include <map>
#include <set>

#include "api/names.h"
#include "api/types/gang_decision.h"
#include "client/group_tree.h"
#include "groups/made_objects.h"

namespace berth::groups {
namespace {

using Keys = std::vector<api::ObjectKey>;
using PodList = std::vector<const api::Pod*>;

// A source's object is the key; of a source without objects the PodGroup that labels name.
api::ObjectKey key_of(GroupSource id, const std::string& ns, const std::string& object) {
  const Source& source = source_of(id);
  if (source.has_objects()) return {Kind::Other, ns, object, source.resource};
  return {Kind::PodGroup, ns, object, {}};
}

void add_key_of_member(const api::Pod& pod, Keys& keys) {
  if (pod.group_source == GroupSource::Kubernetes) return;
  if (const auto named = api::labelled_group(pod.meta))
    keys.push_back(key_of(named->source, pod.meta.ns, named->object));
}

void add_keys_of_pod(const View&, const client::Delta& delta, Keys& keys) {
  for (const auto* side : {&delta.before, &delta.after})
    if (const auto* pod = client::object_of<api::Pod>(*side)) add_key_of_member(*pod, keys);
}

const api::ObjectMeta* find_group(const View& view, const std::string& ns, const std::string& name,
                                  bool composite) {
  if (composite) {
    const api::CompositePodGroup* found = view.composite_groups.find(ns, name);
    return found ? &found->meta : nullptr;
  }
  const api::PodGroup* found = view.pod_groups.find(ns, name);
  return found ? &found->meta : nullptr;
}

void add_key_of_made(const api::ObjectMeta& meta, Keys& keys) {
  if (const auto made = api::made_from(meta)) keys.push_back(key_of(made->source, meta.ns, made->object));
}

// Of a group that stands for something, and of one that had the name of such a group and is gone: its pods
// and its children say whose name that is.
void add_keys_of_group(const View& view, const client::Delta& delta, Keys& keys) {
  for (const auto* side : {&delta.before, &delta.after})
    if (*side) add_key_of_made(api::meta_of(**side), keys);
  if (delta.after) return;
  const std::string &ns = delta.key.ns, &name = delta.key.name;
  if (delta.key.kind == Kind::PodGroup)
    for (const api::Pod* pod : view.pods_of_group(ns, name)) add_key_of_member(*pod, keys);
  else
    for (const api::PodGroup* child : view.groups_under(ns, name)) add_key_of_made(child->meta, keys);
}

// Of a policy about a group that stands for something, or with the name of one; people may have written it.
void add_keys_of_policy(const View& view, const client::Delta& delta, Keys& keys) {
  for (const auto* side : {&delta.before, &delta.after}) {
    const auto* policy = client::object_of<api::PlacementPolicy>(*side);
    if (!policy) continue;
    for (const std::string* name : {&policy->target.name, &policy->meta.name})
      for (const bool composite : {false, true})
        if (const auto* group = find_group(view, delta.key.ns, *name, composite))
          add_key_of_made(*group, keys);
  }
}

PodList pods_of(const View& view, const std::string& ns, const std::string& group, GroupSource source) {
  PodList pods = view.pods_of_group(ns, group);
  std::erase_if(pods, [&](const api::Pod* pod) { return pod->group_source != source; });
  return pods;
}

PodList pods_of_tree(const View& view, const std::string& ns, const WantedTree& tree, GroupSource source) {
  PodList all;
  for (const WantedGroup& group : tree.groups) {
    const PodList pods = pods_of(view, ns, group.name, source);
    all.insert(all.end(), pods.begin(), pods.end());
  }
  std::ranges::sort(all, {}, [](const api::Pod* pod) -> const std::string& { return pod->meta.name; });
  return all;
}

bool was_placed(const View& view, const std::string& ns, const WantedGroup& root) {
  if (root.composite) {
    const api::CompositePodGroup* composite = view.composite_groups.find(ns, root.name);
    return composite && api::is_scheduled(*composite);
  }
  const api::PodGroup* group = view.pod_groups.find(ns, root.name);
  return group && api::is_scheduled(*group);
}

// The mean over the groups of the tree about which a policy tells how far its wish came true.
std::optional<double> score_of(const View& view, const std::string& ns, const WantedTree& tree) {
  double sum = 0;
  int told = 0;
  for (const WantedGroup& group : tree.groups)
    for (const api::PlacementPolicy* policy : view.policies_about(ns, target_of(group)))
      for (const Json& row : policy->status.items_at("groups"))
        if (row.string_at("name") == group.name && row.part("score").is_number()) {
          sum += row.part("score").as_double();
          ++told;
        }
  return told == 0 ? std::nullopt : std::optional(sum / told);
}

class GroupAdopter final : public client::Reconciler {
 public:
  explicit GroupAdopter(AdopterOptions options) : options_(std::move(options)) {}

  std::string_view name() const override { return kGroupAdopterName; }

  std::vector<client::Interest> interests() const override {
    std::vector<client::Interest> interests{{Kind::Pod, {}, add_keys_of_pod},
                                            {Kind::PodGroup, {}, add_keys_of_group},
                                            {Kind::PlacementPolicy, {}, add_keys_of_policy}};
    if (options_.composite_groups) interests.push_back({Kind::CompositePodGroup, {}, add_keys_of_group});
    for (const Source& source : sources())
      if (source.has_objects())
        interests.push_back(
            {Kind::Other, source.resource,
             [](const View&, const client::Delta& delta, Keys& keys) { keys.push_back(delta.key); }});
    return interests;
  }

  Effects reconcile(const View& view, const api::ObjectKey& key, Time) override {
    const auto refusal = refusals_.extract(key);
    const Source* source =
        key.kind == Kind::PodGroup ? &source_of(GroupSource::Kueue) : source_with(key.resource);
    if (!source) return {};
    const std::optional<Parsed> object = workloads::find_parsed(view, key);
    // What was made for an object goes with it.
    if (object && object->meta.deleting()) return {};
    const Asked asked{view, key.ns, key.name, object ? &*object : nullptr,
                      pods_of(view, key.ns, key.name, source->id)};
    if (!object && source->has_objects()) return missing(*source, asked);
    if (!object && asked.pods.empty()) return drop_made(view, key);
    const Result<WantedTree> tree = checked(*source, asked);
    if (!tree) return refused(*source, asked, tree.error());
    Effects effects = keep(*source, asked, *tree);
    if (refusal)
      effects.events.push_back(event_about(*source, asked, true, "GroupNotMade", refusal.mapped()));
    return effects;
  }

  void on_outcome(const View&, const api::ObjectKey& key, const client::Outcome& outcome, Time) override {
    for (const client::ChainOutcome& chain : outcome.chains)
      if (!chain.ok && chain.key.kind != Kind::Other && chain.last.reason != "Conflict")
        refusals_[key] = api::to_text(chain.key) + " cannot be made: " + chain.last.message;
  }

 private:
  bool serves(std::string_view scheduler) const {
    const std::vector<std::string>& names = options_.scheduler_names;
    return names.empty() || std::ranges::find(names, scheduler) != names.end();
  }
  bool serves_one_of(const PodList& pods) const {
    return std::ranges::any_of(pods, [&](const api::Pod* pod) { return serves(pod->scheduler_name); });
  }

  Result<WantedTree> checked(const Source& source, const Asked& asked) const {
    WantedTree tree = TRY(source.wanted(asked));
    for (const WantedGroup& group : tree.groups)
      if (const api::NameProblems problems = api::dns_subdomain_problems(group.name); !problems.empty())
        return Error(ErrorCode::Invalid, "name", "of its group \"" + group.name + "\": " + problems.front());
    std::set<std::pair<bool, std::string_view>> names;
    for (const WantedGroup& group : tree.groups)
      if (!names.emplace(group.composite, group.name).second)
        return Error(ErrorCode::Invalid, "name", "of two of its groups is \"" + group.name + "\"");
    if (tree.groups.size() > 1 && !options_.composite_groups)
      return Error(ErrorCode::Unsupported, "spec",
                   "has groups of groups, which need the feature gate CompositePodGroup");
    return tree;
  }

  // Told about its pods: they wait.
  Effects missing(const Source& source, const Asked& asked) const {
    Effects effects;
    if (serves_one_of(asked.pods))
      effects.events.push_back(event_about(source, asked, true, "GroupNotFound",
                                           std::string(source.kind) + "." + source.resource.group + " " +
                                               asked.ns + "/" + asked.name + " does not exist"));
    return effects;
  }

  static Effects drop_made(const View& view, const api::ObjectKey& key) {
    const api::PodGroup* group = view.pod_groups.find(key.ns, key.name);
    const bool ours = group && api::made_from(group->meta) == api::MadeFrom{GroupSource::Kueue, key.name};
    if (!ours || group->meta.deleting()) return {};
    return Effects::write(key, client::delete_object(key, group->meta.uid));
  }

  // Its pods wait: their PodGroup does not exist.
  Effects refused(const Source& source, const Asked& asked, const Error& error) const {
    Effects effects;
    if (!asked.object && !serves_one_of(asked.pods)) return effects;
    effects.events.push_back(event_about(source, asked, true, "InvalidGroup", error.text()));
    return effects;
  }

  Effects keep(const Source& source, const Asked& asked, const WantedTree& tree) const {
    const PodList pods = pods_of_tree(asked.view, asked.ns, tree, source.id);
    const bool ours = pods.empty() ? serves(source.scheduler) : serves_one_of(pods);
    Effects effects;
    if (!ours) return effects;
    if (!pods.empty()) keep_groups(source, asked, tree, *pods.front(), effects);
    if (!asked.object || !source.status) return effects;
    const Progress progress{counts_of(pods), pods, was_placed(asked.view, asked.ns, tree.root()),
                            score_of(asked.view, asked.ns, tree)};
    const JsonObject status = source.status(*asked.object, tree, progress);
    if (auto write = workloads::status_write(*asked.object, status))
      effects.chains.push_back({asked.object->key, {*std::move(write)}});
    return effects;
  }

  void keep_groups(const Source& source, const Asked& asked, const WantedTree& tree, const api::Pod& member,
                   Effects& effects) const {
    const MadeObjects made(source, asked, tree, member);
    const api::MadeFrom made_for{source.id, asked.name};
    for (const WantedGroup& group : tree.groups) {
      const api::ObjectKey key{
          group.composite ? Kind::CompositePodGroup : Kind::PodGroup, asked.ns, group.name, {}};
      const api::ObjectMeta* standing = find_group(asked.view, asked.ns, group.name, group.composite);
      if (!standing) {
        effects.chains.push_back({key, {client::create(key.kind, asked.ns, made.group(group))}});
        if (group.parent.empty())
          effects.events.push_back(event_about(source, asked, false, "GroupAdopted", adopted(key)));
      } else if (api::made_from(*standing) != made_for) {
        effects.events.push_back(event_about(source, asked, true, "GroupNameTaken", taken(key)));
      } else if (auto write = resized(asked.view, key, group)) {
        effects.chains.push_back({key, {*std::move(write)}});
      }
      keep_policy(asked, group, made, effects);
    }
  }

  // A policy that people wrote for the group stands instead.
  static void keep_policy(const Asked& asked, const WantedGroup& group, const MadeObjects& made,
                          Effects& effects) {
    if (group.preferred.empty() || !asked.view.policies_about(asked.ns, target_of(group)).empty()) return;
    const api::ObjectKey key{Kind::PlacementPolicy, asked.ns, group.name, {}};
    if (asked.view.placement_policies.find(asked.ns, group.name)) return;
    effects.chains.push_back({key, {client::create(key.kind, asked.ns, made.policy(group))}});
  }

  // A minimum that changes is followed; other fields of groups cannot change.
  static std::optional<client::Write> resized(const View& view, const api::ObjectKey& key,
                                              const WantedGroup& wanted) {
    const api::PodGroup* group = wanted.composite ? nullptr : view.pod_groups.find(key.ns, key.name);
    if (!group || !group->gang_min || wanted.minimum < 1 || *group->gang_min == wanted.minimum)
      return std::nullopt;
    Json patch = Json::object();
    patch["spec"]["schedulingPolicy"]["gang"]["minCount"] = wanted.minimum;
    return client::merge_patch(key, std::move(patch), group->meta.uid, group->meta.resource_version);
  }

  static std::string adopted(const api::ObjectKey& key) {
    return "its pods are scheduled together as " + api::to_text(key);
  }
  static std::string taken(const api::ObjectKey& key) {
    return api::to_text(key) + " was not made for it, and stays as it is: the pods are in that group";
  }

  // About the project's object, or about the first pod.
  static client::EventNote event_about(const Source& source, const Asked& asked, bool warning,
                                       std::string_view reason, std::string message) {
    message = "as a group of " + std::string(api::name_of(source.id)) + ": " + message;
    if (asked.object) return workloads::event_about(*asked.object, warning, reason, std::move(message));
    const api::ObjectMeta& pod = asked.pods.front()->meta;
    return {client::key_of(Kind::Pod, pod),
            pod.uid,
            warning,
            std::string(reason),
            "",
            std::move(message),
            "",
            ""};
  }

  const AdopterOptions options_;
  std::map<api::ObjectKey, std::string> refusals_;  // of the last run of a key; its next one takes them
};

}  // namespace

std::unique_ptr<client::Reconciler> make_group_adopter(AdopterOptions options) {
  return std::make_unique<GroupAdopter>(std::move(options));
}

}  // namespace berth::groups
