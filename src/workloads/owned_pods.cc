#include "workloads/owned_pods.h"

#include <algorithm>

#include "api/serialized.h"
#include "api/type_table.h"

namespace berth::workloads {
namespace {

// What the owner of a pod reads of it.
bool reads_alike(const api::Pod& before, const api::Pod& after) {
  return before.meta.uid == after.meta.uid && before.phase == after.phase &&
         before.meta.labels == after.meta.labels && before.meta.owners == after.meta.owners &&
         before.meta.finalizers == after.meta.finalizers && before.meta.deleting() == after.meta.deleting() &&
         before.node_name == after.node_name && before.conditions == after.conditions;
}

api::LabelSelector selector_in(const api::AnyObject& owner, SelectorForm form) {
  const Result<Json> document = api::parse_object(*owner.raw);
  Json written = document ? document->part("spec").part("selector") : Json();
  if (form == SelectorForm::Labels && !written.is_null())
    written = Json::object({{"matchLabels", std::move(written)}});
  Result<api::LabelSelector> selector = api::LabelSelector::of(written);
  if (selector) return std::move(selector).value();
  return api::LabelSelector::of(Json()).value_or(api::LabelSelector());
}

}  // namespace

OwnedPods::OwnedPods(api::ResourceRef owners, std::string kind, OwnershipRules rules)
    : resource_(std::move(owners)), kind_(std::move(kind)), rules_(std::move(rules)) {}

std::vector<client::Interest> OwnedPods::interests() const {
  return {{Kind::Other, resource_,
           [this](const View& view, const Delta& delta, Keys& keys) { on_owner(view, delta, keys); }},
          {Kind::Pod, {}, [this](const View& view, const Delta& delta, Keys& keys) {
             on_pod(view, delta, keys);
           }}};
}

const OwnedPods::ByName& OwnedPods::of(std::string_view uid) const {
  static const ByName kNone;
  const auto found = by_owner_.find(uid);
  return found == by_owner_.end() ? kNone : found->second;
}

std::vector<std::string> OwnedPods::uids_of(const api::ObjectKey& owner) const {
  const auto found = uids_.find(owner);
  if (found == uids_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

const api::OwnerReference* OwnedPods::owner_of(const api::Pod& pod) const {
  const api::OwnerReference* owner = pod.meta.controller();
  const bool ours =
      owner && owner->kind == kind_ && api::group_version_of(owner->api_version).group == resource_.group;
  return ours ? owner : nullptr;
}

const OwnedPods::NextNumbers& OwnedPods::next_numbers(std::string_view uid) const {
  static const NextNumbers kNone;
  const auto found = next_numbers_.find(uid);
  return found == next_numbers_.end() ? kNone : found->second;
}

std::vector<std::string> OwnedPods::strays_of(std::string_view uid) const {
  const auto found = strays_.find(uid);
  if (found == strays_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

std::vector<std::string> OwnedPods::claimants_of(const api::Pod& pod) const {
  std::vector<std::string> names;
  const auto in_namespace = owners_.find(pod.meta.ns);
  if (in_namespace == owners_.end() || !is_stray(pod)) return names;
  for (const auto& [name, owner] : in_namespace->second)
    if (selects(name, owner, pod)) names.push_back(name);
  return names;
}

bool OwnedPods::is_stray(const api::Pod& pod) const {
  return !pod.meta.controller() && !pod.meta.deleting() && (rules_.adopts_finished || !pod.finished());
}

bool OwnedPods::selects(const std::string& name, const Owner& owner, const api::Pod& pod) const {
  return owner.selector.matches(pod.meta.labels) &&
         (!rules_.may_be_named || rules_.may_be_named(name, pod.meta.name));
}

void OwnedPods::note_gone(const api::Pod& pod, const api::OwnerReference& owner) const {
  const auto in_namespace = owners_.find(pod.meta.ns);
  if (!rules_.names || in_namespace == owners_.end()) return;
  const auto known = in_namespace->second.find(owner.name);
  if (known == in_namespace->second.end() || known->second.uid != owner.uid) return;
  const NumberedNames names = rules_.names(owner, pod);
  const auto number = names.number_of(pod.meta.name);
  if (!number) return;
  std::uint32_t& next = next_numbers_[owner.uid][names];
  next = std::max(next, *number + 1);
}

void OwnedPods::note_stray(const api::Pod& pod, Keys& keys) const {
  const auto in_namespace = owners_.find(pod.meta.ns);
  if (in_namespace == owners_.end() || !is_stray(pod)) return;
  for (const auto& [name, owner] : in_namespace->second) {
    if (!selects(name, owner, pod)) continue;
    strays_[owner.uid].insert(pod.meta.name);
    keys.push_back(key_in(resource_, pod.meta.ns, name));
  }
}

void OwnedPods::forget_stray(const api::Pod& pod) const {
  if (pod.meta.controller()) return;
  const auto in_namespace = owners_.find(pod.meta.ns);
  if (in_namespace == owners_.end()) return;
  for (const auto& [name, owner] : in_namespace->second)
    if (const auto found = strays_.find(owner.uid); found != strays_.end()) {
      found->second.erase(pod.meta.name);
      if (found->second.empty()) strays_.erase(found);
    }
}

void OwnedPods::on_pod(const View&, const Delta& delta, Keys& keys) const {
  const auto* before = client::object_of<api::Pod>(delta.before);
  const auto* after = client::object_of<api::Pod>(delta.after);
  const api::OwnerReference* old_owner = before ? owner_of(*before) : nullptr;
  const api::OwnerReference* owner = after ? owner_of(*after) : nullptr;
  // Most pods of most clusters are none of ours.
  if (!old_owner && !owner && !owners_.contains(delta.key.ns)) return;
  index(delta, old_owner, owner);
  if (old_owner && (!owner || owner->uid != old_owner->uid)) note_gone(*before, *old_owner);
  if (before && after && reads_alike(*before, *after)) return;
  if (before) forget_stray(*before);
  if (after) note_stray(*after, keys);
  if (old_owner) keys.push_back(key_in(resource_, delta.key.ns, old_owner->name));
  if (owner && (!old_owner || owner->name != old_owner->name))
    keys.push_back(key_in(resource_, delta.key.ns, owner->name));
}

void OwnedPods::index(const Delta& delta, const api::OwnerReference* old_owner,
                      const api::OwnerReference* owner) const {
  if (old_owner && (!owner || owner->uid != old_owner->uid)) {
    ByName& pods = by_owner_[old_owner->uid];
    pods.erase(delta.key.name);
    if (pods.empty()) {
      by_owner_.erase(old_owner->uid);
      const auto named = uids_.find(key_in(resource_, delta.key.ns, old_owner->name));
      if (named != uids_.end()) named->second.erase(old_owner->uid);
      if (named != uids_.end() && named->second.empty()) uids_.erase(named);
    }
  }
  if (!owner) return;
  ByName& pods = by_owner_[owner->uid];
  if (pods.empty()) uids_[key_in(resource_, delta.key.ns, owner->name)].insert(owner->uid);
  pods[delta.key.name] = client::shared_object_of<api::Pod>(delta.after);
}

void OwnedPods::on_owner(const View& view, const Delta& delta, Keys& keys) const {
  keys.push_back(delta.key);
  const auto* before = client::object_of<api::AnyObject>(delta.before);
  const auto* after = client::object_of<api::AnyObject>(delta.after);
  // Selectors do not change during an owner's life.
  if (before && after && before->meta.uid == after->meta.uid) return;
  if (before) {
    strays_.erase(before->meta.uid);
    next_numbers_.erase(before->meta.uid);
    auto& in_namespace = owners_[delta.key.ns];
    in_namespace.erase(delta.key.name);
    if (in_namespace.empty()) owners_.erase(delta.key.ns);
  }
  if (!after) return;
  const Owner& owner =
      owners_[delta.key.ns][delta.key.name] = {after->meta.uid, selector_in(*after, rules_.selector)};
  const auto& all = view.pods.all();
  for (auto at = all.lower_bound({delta.key.ns, ""}); at != all.end() && at->first.ns == delta.key.ns; ++at) {
    const api::Pod& pod = *at->second;
    if (is_stray(pod) && selects(delta.key.name, owner, pod)) strays_[owner.uid].insert(pod.meta.name);
  }
}

void OwnedPods::claim(const View& view, const Parsed& owner, const api::OwnerReference& reference,
                      Effects& effects) const {
  if (owner.meta.deleting()) return;
  const auto in_namespace = owners_.find(owner.meta.ns);
  if (in_namespace == owners_.end()) return;
  const auto known = in_namespace->second.find(owner.meta.name);
  if (known == in_namespace->second.end()) return;
  // A patch that changes nothing: the owner still is what the view has, and so not on its way out.
  const client::Write unchanged =
      client::merge_patch(owner.key, Json::object(), owner.meta.uid, owner.meta.resource_version);
  std::size_t writes = 0;
  if (const auto strays = strays_.find(owner.meta.uid); strays != strays_.end())
    for (const std::string& name : strays->second) {
      const api::Pod* pod = view.pods.find(owner.meta.ns, name);
      if (!pod || pod->meta.controller() || ++writes > kPodsPerRunMax) continue;
      JsonArray owners;
      for (const api::OwnerReference& other : pod->meta.owners) owners.push_back(api::to_json(other));
      owners.push_back(api::to_json(reference));
      Json patch = Json::object();
      patch["metadata"]["ownerReferences"] = std::move(owners);
      if (!rules_.finalizer.empty() && !pod->meta.has_finalizer(rules_.finalizer)) {
        std::vector<std::string> finalizers = pod->meta.finalizers;
        finalizers.push_back(rules_.finalizer);
        patch["metadata"]["finalizers"] = api::to_json(finalizers);
      }
      const api::ObjectKey key = client::key_of(Kind::Pod, pod->meta);
      effects.chains.push_back(
          {key, {unchanged, client::merge_patch(key, patch, pod->meta.uid, pod->meta.resource_version)}});
    }
  for (const auto& [name, pod] : of(owner.meta.uid)) {
    if (pod->meta.deleting() || known->second.selector.matches(pod->meta.labels)) continue;
    if (++writes > kPodsPerRunMax) break;
    JsonArray owners;
    for (const api::OwnerReference& other : pod->meta.owners)
      if (other.uid != owner.meta.uid) owners.push_back(api::to_json(other));
    Json patch = Json::object();
    patch["metadata"]["ownerReferences"] = owners.empty() ? Json() : Json(std::move(owners));
    const api::ObjectKey key = client::key_of(Kind::Pod, pod->meta);
    effects.chains.push_back(
        {key, {client::merge_patch(key, patch, pod->meta.uid, pod->meta.resource_version)}});
  }
}

bool is_active(const api::Pod& pod) {
  return !pod.finished() && !pod.meta.deleting();
}

bool is_ready(const api::Pod& pod) {
  return api::condition_is_true(pod.conditions, "Ready");
}

Time ready_since(const api::Pod& pod) {
  const api::Condition* ready = api::find_condition(pod.conditions, "Ready");
  return ready && ready->status == "True" ? ready->last_transition : Time();
}

bool is_available(const api::Pod& pod, std::int64_t min_ready_s, Time now, Effects& recheck) {
  if (!is_ready(pod)) return false;
  if (min_ready_s == 0) return true;
  const Time since = ready_since(pod);
  if (!since.is_set()) return false;
  const Time at = since + Duration::seconds(min_ready_s);
  if (at <= now) return true;
  wake_by(recheck, at);
  return false;
}

}  // namespace berth::workloads
