#include "server/custom_garbage.h"

#include <algorithm>
#include <utility>

#include "crd/served_version.h"
#include "server/metadata.h"
#include "server/object_versions.h"

namespace berth::server {
namespace {

bool waits_for_dependents(const Json& object) {
  return is_deleting(object) &&
         (has_finalizer(object, kForegroundFinalizer) || has_finalizer(object, kOrphanFinalizer));
}

WriteOptions collector_write() {
  WriteOptions options;
  options.in_process = true;
  return options;
}

// The object without the references that `drop` names; unchanged when it is another one by now.
Registry::Change without_owners(std::string uid, std::set<std::string> drop) {
  return [uid = std::move(uid), drop = std::move(drop)](const Json& current) -> ApiResult<Json> {
    if (metadata_of(current).string_at("uid") != uid) return current;
    JsonArray kept;
    for (const Json& reference : metadata_of(current).items_at("ownerReferences"))
      if (!drop.contains(std::string(reference.string_at("uid")))) kept.push_back(reference);
    Json next = current;
    if (kept.empty())
      metadata_of(next).as_object().erase("ownerReferences");
    else
      metadata_of(next)["ownerReferences"] = std::move(kept);
    return next;
  };
}

// The object whose owners do not wait for it any more; unchanged when it is another one by now.
Registry::Change without_blocks(std::string uid) {
  return [uid = std::move(uid)](const Json& current) -> ApiResult<Json> {
    if (metadata_of(current).string_at("uid") != uid) return current;
    Json next = current;
    JsonArray references = metadata_of(current).items_at("ownerReferences");
    for (Json& reference : references) reference.as_object().erase("blockOwnerDeletion");
    metadata_of(next)["ownerReferences"] = std::move(references);
    return next;
  };
}

bool blocks_owners(const Json& document) {
  const JsonArray& references = metadata_of(document).items_at("ownerReferences");
  return std::any_of(references.begin(), references.end(),
                     [](const Json& reference) { return reference.bool_at("blockOwnerDeletion"); });
}

Registry::Change without_finalizer(std::string uid, std::string_view finalizer) {
  return [uid = std::move(uid), finalizer](const Json& current) -> ApiResult<Json> {
    Json next = current;
    if (metadata_of(current).string_at("uid") == uid) drop_finalizer(next, finalizer);
    return next;
  };
}

}  // namespace

// What an object's references lead to.
struct CustomGarbage::Owners {
  bool solid = false;            // one exists
  bool waiting = false;          // one waits for this object's deletion
  std::set<std::string> absent;  // UIDs of those that are gone, or wait
};

CustomGarbage::CustomGarbage(Registry& registry, const ServedResources& served)
    : registry_(registry), served_(served) {}

void CustomGarbage::tick(Time monotonic_now) {
  if (running_.exchange(true)) return;
  registry_.dependencies().executor.post([this, monotonic_now] {
    run(monotonic_now);
    running_ = false;
  });
}

bool CustomGarbage::holds(const ObjectTarget& target, const store::Object& owner) {
  if (served_.now()->definitions().empty()) return false;
  const std::lock_guard lock(mutex_);
  if (knows_all_ && !blocking_.contains(owner.uid)) return false;
  held_[owner.key] = {owner.uid, {target.resource, target.ns, target.name, ""}};
  return true;
}

void CustomGarbage::make_retries_due() {
  std::map<store::Key, Outcome> outcomes;
  {
    const std::lock_guard lock(mutex_);
    outcomes.swap(outcomes_);
  }
  for (const auto& [key, outcome] : outcomes) {
    if (outcome.is_done) {
      retries_.erase(key);
      released_.erase(key);
      continue;
    }
    Retry& retry = retries_[key];
    retry.delay = retry.delay == Duration() ? kGarbageRetryFirst
                                            : std::min(retry.delay + retry.delay, kGarbageRetryMax);
    retry.at = outcome.begun + retry.delay;
    retry.is_waiting = true;
  }
  for (auto& [key, retry] : retries_)
    if (retry.is_waiting && retry.at <= now_) {
      retry.is_waiting = false;
      due_.insert(key);
    }
}

void CustomGarbage::end_holds() {
  const std::lock_guard lock(mutex_);
  knows_all_ = !reads_anew_;
  if (!knows_all_) return;
  for (auto held = held_.begin(); held != held_.end();) {
    if (blocking_.contains(held->second.uid)) {
      ++held;
      continue;
    }
    due_.insert(held->first);
    released_.insert(held_.extract(held++));
  }
}

void CustomGarbage::run(Time now) {
  now_ = now;
  learn_kinds();
  for (const auto& [resource, row] : rows_) read(resource);
  end_holds();
  make_retries_due();
  for (std::size_t acted = 0; acted < kCollectedPerRunMax && !due_.empty(); ++acted)
    act(due_.extract(due_.begin()).value());
}

// Another set of definitions: everything is read anew, as other references matter.
void CustomGarbage::learn_kinds() {
  ServedPtr served = served_.now();
  if (served == kinds_of_ && !reads_anew_) return;
  kinds_of_ = std::move(served);
  std::vector<std::string> marks;
  std::map<std::string, const api::ResourceInfo*> rows;
  by_kind_.clear();
  if (!kinds_of_->definitions().empty())
    for (const api::ResourceInfo* row : kinds_of_->rows()) {
      const api::ResourceInfo& stored = storage_of(*row);
      rows.emplace(storage_resource(*row), &stored);
      by_kind_.emplace(std::pair(std::string(row->group), std::string(row->kind)), &stored);
    }
  for (const DefinitionPtr& definition : kinds_of_->definitions())
    marks.push_back("\"apiVersion\":\"" + definition->group + "/");
  std::sort(marks.begin(), marks.end());
  marks.erase(std::unique(marks.begin(), marks.end()), marks.end());
  const auto same_name = [](const auto& a, const auto& b) { return a.first == b.first; };
  const bool same = !std::exchange(reads_anew_, false) && marks == marks_ &&
                    std::equal(rows.begin(), rows.end(), rows_.begin(), rows_.end(), same_name);
  rows_ = std::move(rows);
  marks_ = std::move(marks);
  if (same) return;
  read_to_.clear();
  owners_.clear();
  dependents_.clear();
  closing_.clear();
  due_.clear();
  retries_.clear();
  for (const auto& [key, held] : released_) due_.insert(key);
  const std::lock_guard lock(mutex_);
  knows_all_ = false;
  blocking_.clear();
}

void CustomGarbage::read(const std::string& resource) {
  const auto position = read_to_.find(resource);
  if (position == read_to_.end()) return read_all(resource);
  for (bool more = true; more;) {
    const Result<store::EventPage> page =
        registry_.store().events(resource, position->second, kGarbageEventsPerReadMax);
    // More happened than the window keeps: what is missed would never be told again.
    if (!page) {
      reads_anew_ = true;
      return;
    }
    for (const store::WatchEventPtr& event : page->events)
      note(*event->object, event->kind == store::WatchEvent::Kind::Deleted);
    if (!page->events.empty()) position->second = page->events.back()->object->revision;
    position->second = std::max(position->second, page->through);
    more = page->more && !page->events.empty();
  }
}

void CustomGarbage::read_all(const std::string& resource) {
  store::ListQuery query;
  query.resource = resource;
  const std::unique_ptr<store::Cursor> state = registry_.store().open_cursor(query).value();
  while (const store::ObjectPtr object = state->next()) note(*object, false);
  read_to_[resource] = state->revision();
}

bool CustomGarbage::may_matter(const store::Object& object) const {
  const auto has = [&](std::string_view mark) { return object.bytes.find(mark) != std::string::npos; };
  const bool has_owners = has("\"ownerReferences\"");
  if (rows_.at(object.key.resource)->custom) return has_owners || has("\"deletionTimestamp\"");
  return has_owners && std::any_of(marks_.begin(), marks_.end(), has);
}

void CustomGarbage::wake_dependents(const std::string& owner_uid) {
  const auto found = dependents_.find(owner_uid);
  if (found != dependents_.end()) due_.insert(found->second.begin(), found->second.end());
}

void CustomGarbage::block(std::string_view owner_uid, const store::Key& dependent) {
  const std::lock_guard lock(mutex_);
  blocking_[std::string(owner_uid)].insert(dependent);
}

void CustomGarbage::unblock(const std::string& owner_uid, const store::Key& dependent) {
  const std::lock_guard lock(mutex_);
  const auto found = blocking_.find(owner_uid);
  if (found == blocking_.end()) return;
  found->second.erase(dependent);
  if (found->second.empty()) blocking_.erase(found);
}

void CustomGarbage::forget(const store::Object& object) {
  const auto known = owners_.find(object.key);
  if (known == owners_.end()) return;
  for (const std::string& uid : known->second) {
    const auto found = dependents_.find(uid);
    found->second.erase(object.key);
    if (found->second.empty()) dependents_.erase(found);
    unblock(uid, object.key);
    if (const auto owner = closing_.find(uid); owner != closing_.end()) due_.insert(owner->second);
  }
  owners_.erase(known);
}

// Null for a kind that is not served.
const api::ResourceInfo* CustomGarbage::kind_of(const Json& reference) const {
  const std::string group(api::group_version_of(reference.string_at("apiVersion")).group);
  const auto found = by_kind_.find({group, std::string(reference.string_at("kind"))});
  return found == by_kind_.end() ? nullptr : found->second;
}

void CustomGarbage::note(const store::Object& object, bool is_deleted) {
  forget(object);
  closing_.erase(object.uid);
  if (is_deleted) {
    retries_.erase(object.key);
    return wake_dependents(object.uid);
  }
  if (object.bytes.find(kForegroundFinalizer) != std::string::npos) wake_dependents(object.uid);
  if (!may_matter(object)) return;
  const Result<Json> document = registry_.document_of(object);
  if (!document) return;
  const bool is_custom = rows_.at(object.key.resource)->custom;
  std::set<std::string> uids;
  bool has_custom_owner = false;
  for (const Json& reference : metadata_of(*document).items_at("ownerReferences")) {
    uids.emplace(reference.string_at("uid"));
    if (is_custom && reference.bool_at("blockOwnerDeletion")) block(reference.string_at("uid"), object.key);
    const api::ResourceInfo* kind = kind_of(reference);
    has_custom_owner |= kind && kind->custom;
  }
  if (!uids.empty() && (is_custom || has_custom_owner)) {
    for (const std::string& uid : uids) dependents_[uid].insert(object.key);
    owners_[object.key].assign(uids.begin(), uids.end());
    due_.insert(object.key);
  }
  if (!is_custom || !waits_for_dependents(*document)) return;
  closing_[object.uid] = object.key;
  due_.insert(object.key);
}

void CustomGarbage::act(const store::Key& key) {
  if (const auto released = released_.find(key); released != released_.end())
    return registry_.modify(released->second.target,
                            without_finalizer(released->second.uid, kForegroundFinalizer), collector_write(),
                            noted(key));
  const store::ObjectPtr object = registry_.store().get(key);
  const Result<Json> document = object ? registry_.document_of(*object) : Result<Json>(Json());
  if (!object || !document) return;
  if (closing_.contains(object->uid) && is_deleting(*document)) {
    if (has_finalizer(*document, kOrphanFinalizer)) return orphan(*object);
    if (has_finalizer(*document, kForegroundFinalizer)) return finish_foreground(*object);
  }
  if (!is_deleting(*document)) collect(*object, *document);
}

CustomGarbage::Owners CustomGarbage::owners_of(const store::Object& object, const Json& document) const {
  Owners owners;
  for (const Json& reference : metadata_of(document).items_at("ownerReferences")) {
    const api::ResourceInfo* kind = kind_of(reference);
    // Nothing is known of a kind that is not served, and a cluster-scoped object has no namespaced owner.
    const bool unknown = !kind || (kind->namespaced && object.key.ns.empty());
    if (unknown) {
      owners.solid = true;
      continue;
    }
    const store::ObjectPtr owner =
        registry_.store().get({storage_resource(*kind), kind->namespaced ? object.key.ns : "",
                               std::string(reference.string_at("name"))});
    const std::string uid(reference.string_at("uid"));
    if (!owner || owner->uid != uid) {
      owners.absent.insert(uid);
      continue;
    }
    const Result<Json> found = registry_.document_of(*owner);
    if (found && is_deleting(*found) && has_finalizer(*found, kForegroundFinalizer)) {
      owners.waiting = true;
      owners.absent.insert(uid);
    } else {
      owners.solid = true;
    }
  }
  return owners;
}

void CustomGarbage::collect(const store::Object& object, const Json& document) {
  Owners owners = owners_of(object, document);
  if (owners.absent.empty()) return;
  if (owners.solid) return modify(object, without_owners(object.uid, std::move(owners.absent)));
  // Owners that wait for each other in a circle would never go; the object is deleted once it blocks none.
  if (owners.waiting && blocks_owners(document) && has_waiting_dependent(object.uid))
    return modify(object, without_blocks(object.uid));
  // What its finalizers say of its dependents holds: another policy would take them off.
  const bool is_waited_for = owners.waiting && dependents_.contains(object.uid);
  if (!is_waited_for && has_finalizer(document, kOrphanFinalizer)) return remove(object, "Orphan");
  remove(object,
         is_waited_for || has_finalizer(document, kForegroundFinalizer) ? "Foreground" : "Background");
}

bool CustomGarbage::has_waiting_dependent(const std::string& owner_uid) const {
  const auto found = dependents_.find(owner_uid);
  if (found == dependents_.end()) return false;
  for (const store::Key& key : found->second) {
    const store::ObjectPtr dependent = registry_.store().get(key);
    const Result<Json> document =
        dependent ? registry_.document_of(*dependent) : Result<Json>(Json::object());
    if (document && is_deleting(*document) && has_finalizer(*document, kForegroundFinalizer)) return true;
  }
  return false;
}

void CustomGarbage::orphan(const store::Object& owner) {
  const auto found = dependents_.find(owner.uid);
  if (found == dependents_.end()) return modify(owner, without_finalizer(owner.uid, kOrphanFinalizer));
  // The finalizer goes when the dependents' writes have been read.
  for (const store::Key& key : found->second)
    if (const store::ObjectPtr dependent = registry_.store().get(key))
      modify(*dependent, without_owners(dependent->uid, {owner.uid}));
}

void CustomGarbage::finish_foreground(const store::Object& owner) {
  const auto found = dependents_.find(owner.uid);
  if (found != dependents_.end())
    for (const store::Key& key : found->second) {
      const store::ObjectPtr dependent = registry_.store().get(key);
      const Result<Json> document =
          dependent ? registry_.document_of(*dependent) : Result<Json>(Json::object());
      if (!document) continue;
      for (const Json& reference : metadata_of(*document).items_at("ownerReferences"))
        if (reference.string_at("uid") == owner.uid && reference.bool_at("blockOwnerDeletion")) return;
    }
  modify(owner, without_finalizer(owner.uid, kForegroundFinalizer));
}

ObjectTarget CustomGarbage::target_of(const store::Key& key) const {
  return {rows_.at(key.resource), key.ns, key.name, "", kinds_of_};
}

Done CustomGarbage::noted(const store::Key& key) {
  return [this, key, begun = now_](const ApiResult<Answer>& made) {
    const std::lock_guard lock(mutex_);
    outcomes_[key] = {made || made.error().code == 404, begun};
  };
}

void CustomGarbage::modify(const store::Object& object, Registry::Change change) {
  const ObjectTarget target = target_of(object.key);
  post_for(target, registry_.dependencies().executor,
           [this, target, change = std::move(change), done = noted(object.key)] {
             registry_.modify(target, change, collector_write(), done);
           });
}

void CustomGarbage::remove(const store::Object& object, std::string_view propagation) {
  DeleteOptions options;
  options.uid = object.uid;
  options.resource_version = std::to_string(object.revision);  // of the owners that were looked up
  options.propagation = propagation;
  registry_.remove(target_of(object.key), std::move(options), collector_write(), noted(object.key));
}

}  // namespace berth::server
