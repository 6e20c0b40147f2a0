#include "model/replica_selectors.h"

#include <algorithm>
#include <functional>

#include "api/serialized.h"
#include "base/assert.h"

namespace berth::model {
namespace {

// Where a pod finds the Services that select by this label.
std::string post_of(std::string_view ns, std::string_view key, std::string_view value) {
  std::string post(ns);
  post.append(1, '\0').append(key).append(1, '\0').append(value);
  return post;
}

// Status changes often, and selects nothing. An object without a generation does not tell.
bool same_spec(const api::AnyObject* before, const api::AnyObject* after) {
  return before && after && before->meta.uid == after->meta.uid &&
         before->meta.generation == after->meta.generation && after->meta.generation > 0;
}

Json selector_in(const api::AnyObject& object) {
  BERTH_ASSERT(object.raw, "objects of kinds without a struct keep their text");
  const Result<Json> document = api::parse_object(*object.raw, api::ManagedFields::Skip);
  return document ? document->part("spec").part("selector") : Json();
}

api::StringMap labels_in(const api::AnyObject& object) {
  api::StringMap labels;
  const Json selector = selector_in(object);
  if (!selector.is_object()) return labels;
  for (const JsonMember& member : selector.as_object())
    if (member.value.is_string())
      labels.insert_or_assign(std::string(member.key), std::string(member.value.as_string()));
  return labels;
}

// Null: it selects nothing, or by no label.
std::shared_ptr<const api::LabelSelector> label_selector_in(const api::AnyObject& object) {
  Result<api::LabelSelector> selector = api::LabelSelector::of(selector_in(object));
  if (!selector || selector->selects_nothing() || selector->selects_everything()) return nullptr;
  return std::make_shared<const api::LabelSelector>(std::move(selector).value());
}

// Stores the value of the object, or erases it where it is nothing. Whether it was another one.
template <class Value, class Equal>
bool replace(client::NamedMap<Value>& map, const api::ObjectKey& key, Value value, Equal equal) {
  const auto* known = map.find(key.ns, key.name);
  if (equal(known ? known->second : Value(), value)) return false;
  if (equal(value, Value()))
    map.erase(key.ns, key.name);
  else
    map.try_emplace(key.ns, key.name).first->second = std::move(value);
  return true;
}

bool same_selector(const std::shared_ptr<const api::LabelSelector>& a,
                   const std::shared_ptr<const api::LabelSelector>& b) {
  return a == b || (a && b && *a == *b);
}

}  // namespace

struct ReplicaSelectors::Row {
  std::string_view api_version, kind;
  api::ResourceRef resource;
};

const std::array<ReplicaSelectors::Row, ReplicaSelectors::kSourceCount>& ReplicaSelectors::rows() {
  static const std::array<Row, kSourceCount> kRows = {{
      {"v1", "Service", {"", "v1", "services"}},
      {"v1", "ReplicationController", {"", "v1", "replicationcontrollers"}},
      {"apps/v1", "ReplicaSet", {"apps", "v1", "replicasets"}},
      {"apps/v1", "StatefulSet", {"apps", "v1", "statefulsets"}},
  }};
  return kRows;
}

bool ReplicaSelectors::is_one_of(Source source, const api::OwnerReference& owner) {
  const Row& row = rows()[static_cast<std::size_t>(source)];
  return row.kind == owner.kind && row.api_version == owner.api_version;
}

const std::vector<api::ResourceRef>& ReplicaSelectors::resources() {
  static const std::vector<api::ResourceRef> kResources = [] {
    std::vector<api::ResourceRef> all;
    for (const Row& row : rows()) all.push_back(row.resource);
    return all;
  }();
  return kResources;
}

bool ReplicaSelectors::reads(const api::ResourceRef& resource) {
  return std::ranges::find(resources(), resource) != resources().end();
}

void ReplicaSelectors::apply(const client::Delta& delta) {
  const auto row = std::ranges::find(rows(), delta.key.resource, &Row::resource);
  if (row == rows().end()) return;
  const auto* before = client::object_of<api::AnyObject>(delta.before);
  const auto* after = client::object_of<api::AnyObject>(delta.after);
  if (same_spec(before, after)) return;
  if (put(static_cast<Source>(row - rows().begin()), delta.key, after)) ++stamp_;
}

bool ReplicaSelectors::put(Source source, const api::ObjectKey& key, const api::AnyObject* after) {
  switch (source) {
    case Source::Service:
      return put_service(key, after ? labels_in(*after) : api::StringMap());
    case Source::ReplicationController:
      return replace(replication_controllers_, key, after ? labels_in(*after) : api::StringMap(),
                     std::equal_to());
    case Source::ReplicaSet:
      return replace(replica_sets_, key, after ? label_selector_in(*after) : nullptr, same_selector);
    case Source::StatefulSet:
      return replace(stateful_sets_, key, after ? label_selector_in(*after) : nullptr, same_selector);
  }
  return false;
}

bool ReplicaSelectors::put_service(const api::ObjectKey& key, api::StringMap labels) {
  const Services::Entry* known = services_.find(key.ns, key.name);
  if (known ? known->second == labels : labels.empty()) return false;
  if (known) erase_service(*known);
  if (labels.empty()) return true;
  Services::Entry* entry = services_.try_emplace(key.ns, key.name).first;
  entry->second = std::move(labels);
  const auto& [label, value] = *entry->second.begin();
  by_post_[post_of(key.ns, label, value)].push_back(entry);
  ++services_in_[key.ns];
  return true;
}

void ReplicaSelectors::erase_service(const Services::Entry& entry) {
  const auto& [ns, name] = entry.first;
  const auto& [label, value] = *entry.second.begin();
  const auto post = by_post_.find(post_of(ns, label, value));
  std::erase(post->second, &entry);
  if (post->second.empty()) by_post_.erase(post);
  const auto count = services_in_.find(ns);
  if (--count->second == 0) services_in_.erase(count);
  services_.erase(std::string(ns), std::string(name));
}

// Services that select the pod agree on every label.
api::StringMap ReplicaSelectors::labels_of_services(const api::Pod& pod) const {
  api::StringMap labels;
  if (!services_in_.contains(pod.meta.ns)) return labels;
  const auto selects = [&](const api::StringMap& by) {
    return std::ranges::all_of(by, [&](const auto& label) {
      const auto found = pod.meta.labels.find(label.first);
      return found != pod.meta.labels.end() && found->second == label.second;
    });
  };
  for (const auto& [key, value] : pod.meta.labels) {
    const auto post = by_post_.find(post_of(pod.meta.ns, key, value));
    if (post == by_post_.end()) continue;
    for (const Services::Entry* service : post->second)
      if (selects(service->second)) labels.insert(service->second.begin(), service->second.end());
  }
  return labels;
}

// The controller is found by its name, as kube-scheduler does it.
ReplicaSelectorPtr ReplicaSelectors::selector_of(const api::Pod& pod) const {
  api::StringMap labels = labels_of_services(pod);
  ReplicaSelector selector;
  if (const api::OwnerReference* owner = pod.meta.controller()) {
    const std::string &ns = pod.meta.ns, &name = owner->name;
    const auto* const controller =
        is_one_of(Source::ReplicationController, *owner) ? replication_controllers_.find(ns, name) : nullptr;
    if (controller)
      for (const auto& [key, value] : controller->second) labels.insert_or_assign(key, value);
    const auto* const set = is_one_of(Source::ReplicaSet, *owner)    ? replica_sets_.find(ns, name)
                            : is_one_of(Source::StatefulSet, *owner) ? stateful_sets_.find(ns, name)
                                                                     : nullptr;
    if (set) selector.controller = set->second;
  }
  if (labels.empty() && !selector.controller) return nullptr;
  for (const auto& [key, value] : labels) selector.labels.also_requires(key, api::LabelOperator::In, value);
  return std::make_shared<const ReplicaSelector>(std::move(selector));
}

}  // namespace berth::model
