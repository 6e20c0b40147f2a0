#include "server/custom_resources.h"

#include <algorithm>

#include "crd/definition_rules.h"
#include "crd/names.h"
#include "crd/served_version.h"
#include "server/metadata.h"

namespace berth::server {
namespace {

constexpr std::string_view kDefinitions = "customresourcedefinitions.apiextensions.k8s.io";

const api::ResourceInfo& definition_row() {
  static const api::ResourceInfo& row =
      *api::find_resource(crd::kDefinitionGroup, "v1", crd::kDefinitionPlural);
  return row;
}

WriteOptions own_write() {
  WriteOptions options;
  options.in_process = true;
  return options;
}

bool waits_for_objects(const Json& crd) {
  if (!is_deleting(crd)) return false;
  for (const Json& finalizer : metadata_of(crd).items_at("finalizers"))
    if (finalizer == Json(crd::kCleanupFinalizer)) return true;
  return false;
}

bool overlaps(const Json& crd) {
  const Json& spec = crd.part("spec");
  return api::is_built_in(spec.string_at("group"), spec.part("names").string_at("plural"));
}

// What makes a definition another one than the one before.
bool is_same(const crd::Definition& made, const Json& crd, const Json& accepted) {
  const Json& metadata = metadata_of(crd);
  return made.uid == metadata.string_at("uid") && made.generation == metadata.int_at("generation") &&
         made.plural == accepted.string_at("plural") && made.kind == accepted.string_at("kind") &&
         made.terminating == is_deleting(crd) && made.accepted == accepted;
}

}  // namespace

CustomResources::CustomResources(Registry& registry, ServedResources& served)
    : registry_(registry), served_(served) {
  std::vector<Entry> found = entries();
  judge(found, registry_.dependencies().clock.now());
  served_.set(definitions_of(found));
  waiting_ = !found.empty();
}

void CustomResources::run() {
  {
    const std::lock_guard lock(mutex_);
    if (running_) {
      again_ = true;
      return;
    }
    running_ = true;
  }
  for (int runs = 0; runs < kDefinitionRunsMax; ++runs) {
    run_once();
    const std::lock_guard lock(mutex_);
    if (!again_) break;
    again_ = false;
  }
  const std::lock_guard lock(mutex_);
  running_ = false;
  if (again_) waiting_ = true;
  again_ = false;
}

void CustomResources::tick() {
  if (waiting_.exchange(false)) registry_.dependencies().executor.post([this] { run(); });
}

void CustomResources::run_once() {
  std::vector<Entry> found = entries();
  judge(found, registry_.dependencies().clock.now());
  // Served before it is said: who reads Established finds the resource.
  served_.set(definitions_of(found));
  for (const Entry& entry : found) {
    if (!(entry.wanted == entry.stored)) write_status(entry);
    if (waits_for_objects(entry.stored)) clean_up(entry);
  }
  clean_namespaces();
}

std::vector<CustomResources::Entry> CustomResources::entries() const {
  std::vector<Entry> found;
  for (const store::ObjectPtr& object : registry_.stored(kDefinitions))
    if (Result<Json> crd = registry_.document_of(*object)) found.push_back({object, *crd, *crd});
  // The oldest one keeps a name that two want.
  std::sort(found.begin(), found.end(),
            [](const Entry& a, const Entry& b) { return a.object->created < b.object->created; });
  return found;
}

void CustomResources::judge(std::vector<Entry>& entries, Time now) {
  for (Entry& entry : entries) {
    const Json& wanted = entry.stored.part("spec").part("names");
    const Json& held = entry.stored.part("status").part("acceptedNames");
    if (wanted == held && crd::is_established(entry.stored)) continue;
    const std::string group(entry.stored.part("spec").string_at("group"));
    crd::TakenNames others;
    for (const Entry& other : entries)
      if (&other != &entry && other.stored.part("spec").string_at("group") == group)
        others.take(other.wanted.part("status").part("acceptedNames"));
    entry.wanted = crd::judged(entry.stored, others, now);
  }
}

std::vector<DefinitionPtr> CustomResources::definitions_of(const std::vector<Entry>& entries) {
  std::map<std::string, DefinitionPtr> made;
  std::vector<DefinitionPtr> served;
  for (const Entry& entry : entries) {
    if (!crd::is_established(entry.wanted) || overlaps(entry.wanted)) continue;
    const Json& accepted = entry.wanted.part("status").part("acceptedNames");
    const std::string& name = entry.object->key.name;
    const auto before = made_.find(name);
    DefinitionPtr definition = before != made_.end() && is_same(*before->second, entry.wanted, accepted)
                                   ? before->second
                                   : crd::read_definition(entry.wanted, accepted);
    if (!definition->storage) continue;
    served.push_back(definition);
    made[name] = std::move(definition);
  }
  made_ = std::move(made);
  return served;
}

void CustomResources::write_status(const Entry& entry) {
  const ObjectTarget target{&definition_row(), "", entry.object->key.name, "status"};
  const auto change = [uid = entry.object->uid,
                       status = entry.wanted.part("status")](const Json& current) -> ApiResult<Json> {
    if (metadata_of(current).string_at("uid") != uid) return current;
    Json next = current;
    for (const char* member : {"acceptedNames", "conditions"})
      if (const Json* value = status.find(member)) next["status"][member] = *value;
    return next;
  };
  registry_.modify(target, change, own_write(), [this](const ApiResult<Answer>& made) {
    // A write that failed is tried again; one that was carried out needs no run.
    if (!made) waiting_ = true;
  });
}

void CustomResources::clean_up(const Entry& entry) {
  waiting_ = true;
  if (overlaps(entry.stored) || !crd::is_established(entry.stored)) return release(entry);
  const auto found = made_.find(entry.object->key.name);
  if (found == made_.end() || !delete_objects(*found->second, "")) release(entry);
}

void CustomResources::release(const Entry& entry) {
  const ObjectTarget target{&definition_row(), "", entry.object->key.name, ""};
  const auto change = [uid = entry.object->uid](const Json& current) -> ApiResult<Json> {
    Json next = current;
    if (metadata_of(current).string_at("uid") == uid) drop_finalizer(next, crd::kCleanupFinalizer);
    return next;
  };
  registry_.modify(target, change, own_write(), [this](const ApiResult<Answer>& made) { written(made); });
}

bool CustomResources::delete_objects(const crd::Definition& definition, const std::string& ns) {
  const api::ResourceInfo& row = definition.storage->row;
  const auto objects = registry_.stored(storage_resource(row), ns, kObjectDeletesPerRunMax);
  for (const store::ObjectPtr& object : objects) {
    const Result<Json> document = registry_.document_of(*object);
    if (!document || is_deleting(*document)) continue;
    DeleteOptions options;
    options.uid = object->uid;
    ObjectTarget target{&row, object->key.ns, object->key.name, "", served_.now()};
    registry_.remove(std::move(target), std::move(options), own_write(),
                     [this](const ApiResult<Answer>& made) { written(made); });
  }
  return !objects.empty();
}

bool CustomResources::has_objects_in(const std::string& ns) const {
  for (const DefinitionPtr& definition : served_.now()->definitions()) {
    if (!definition->namespaced) continue;
    if (!registry_.stored(storage_resource(definition->storage->row), ns, 1).empty()) return true;
  }
  return false;
}

bool CustomResources::has_pods_in(const std::string& ns) const {
  return !registry_.stored("pods", ns, 1).empty();
}

void CustomResources::clean_namespaces() {
  const ServedPtr served = served_.now();
  if (served->definitions().empty()) return;
  for (const store::ObjectPtr& object : registry_.stored_with("namespaces", "\"deletionTimestamp\"")) {
    waiting_ = true;
    // As with everything else of a namespace, its pods go first (KEP-5080).
    if (has_pods_in(object->key.name)) continue;
    for (const DefinitionPtr& definition : served->definitions())
      if (definition->namespaced) delete_objects(*definition, object->key.name);
  }
}

// One more step was made: what comes next is decided anew. On the committer's thread.
void CustomResources::written(const ApiResult<Answer>& made) {
  if (!made && made.error().code != 404) waiting_ = true;
  const std::lock_guard lock(mutex_);
  if (running_)
    again_ = true;
  else
    waiting_ = true;
}

}  // namespace berth::server
