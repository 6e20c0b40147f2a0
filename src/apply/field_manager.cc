#include "apply/field_manager.h"

#include <algorithm>

namespace berth::apply {
namespace {

constexpr std::string_view kAncientChanges = "ancient-changes";
constexpr std::string_view kKubectl = "kubectl";

const Json& managed_fields_of(const Json& document) {
  return document.part("metadata").part("managedFields");
}

// `document`, or its copy in `room` when there is something to leave out.
const Json& without_managed_fields(const Json& document, Json& room) {
  if (managed_fields_of(document).is_null()) return document;
  room = document;
  room["metadata"].as_object().erase("managedFields");
  return room;
}

// One empty entry is how a client asks to forget all owners.
bool asks_for_reset(const Json& list) {
  return list.is_array() && list.as_array().size() == 1 && list.as_array().front() == Json::object();
}

// System fields, which nobody owns.
const FieldSet& system_fields() {
  static const FieldSet kFields = [] {
    FieldSet set;
    for (std::string_view name : {"apiVersion", "kind", "metadata"})
      set.insert(FieldPath{PathElement::field(name)});
    for (std::string_view name : {"name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName",
                                  "generation", "managedFields", "resourceVersion"})
      set.insert(FieldPath{PathElement::field("metadata"), PathElement::field(name)});
    return set;
  }();
  return kFields;
}

// The oldest Update entries of a version become one, until few enough are left.
void cap_update_managers(ManagedFields& managed) {
  std::vector<ManagerId> updaters;
  for (const auto& [id, entry] : managed.entries)
    if (id.operation == Operation::Update) updaters.push_back(id);
  std::stable_sort(updaters.begin(), updaters.end(), [&](const ManagerId& a, const ManagerId& b) {
    return managed.entries.at(a).time < managed.entries.at(b).time;
  });
  std::map<std::string, ManagerId> first_of_version;
  std::size_t count = updaters.size();
  for (const ManagerId& id : updaters) {
    if (count <= kUpdateManagersMax) return;
    const ManagedEntry entry = managed.entries.at(id);
    const auto [first, is_first] = first_of_version.emplace(entry.api_version, id);
    if (is_first) continue;
    const ManagerId bucket = ManagerId::updater(kAncientChanges, entry.api_version, "");
    if (!managed.entries.contains(bucket)) {
      auto node = managed.entries.extract(first->second);
      node.key() = bucket;
      managed.entries.insert(std::move(node));
    }
    ManagedEntry& merged = managed.entries.at(bucket);
    merged.fields = entry.fields.united(merged.fields);
    merged.time = entry.time;
    managed.entries.erase(id);
    --count;
  }
}

// Objects by name, as Go writes maps.
Json sorted(const Json& value) {
  if (value.is_array()) {
    JsonArray items;
    for (const Json& item : value.as_array()) items.push_back(sorted(item));
    return items;
  }
  if (!value.is_object()) return value;
  JsonObject::Members members;
  for (const JsonMember& member : value.as_object()) members.push_back({member.key, sorted(member.value)});
  std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  return JsonObject(std::move(members));
}

// kubectl's client-side apply reads the annotation: it follows server-side apply where it exists.
void update_last_applied(Json& document, Json config) {
  Json* metadata = document.find("metadata");
  Json* annotations = metadata ? metadata->find("annotations") : nullptr;
  if (!annotations || annotations->string_at(kLastAppliedAnnotation).empty()) return;
  if (config.part("metadata").find("annotations")) {
    Json& own = config["metadata"]["annotations"];
    if (own.is_object()) own.as_object().erase(kLastAppliedAnnotation);
  }
  (*annotations)[kLastAppliedAnnotation] = to_string(sorted(config)) + "\n";
}

FieldSet changed_fields(Comparison change) {
  return std::move(change.modified).united(std::move(change.added));
}

void erase_empty(ManagedFields& managed) {
  std::erase_if(managed.entries, [](const auto& row) { return row.second.fields.empty(); });
}

}  // namespace

FieldManager::FieldManager(FieldWrite write)
    : write_(std::move(write)), schema_(schema_in(write_.api_version)) {}

Schema FieldManager::schema_in(std::string_view version) const {
  if (write_.schema_of) return write_.schema_of(version);
  const api::TypeInfo* type = api::find_kind(version, write_.kind);
  BERTH_ASSERT(type, "a version that a document was converted to is served");
  return Schema::of(*type);
}

std::optional<Json> FieldManager::in_version(const Json& document, std::string_view version) const {
  if (document.string_at("apiVersion") == version) return document;
  return write_.converted ? write_.converted(document, version) : std::nullopt;
}

Json FieldManager::after_update(const Json& live, const Json& next) const {
  const Json& given = managed_fields_of(next);
  const bool is_own = write_.subresource.empty();  // subresources cannot change the owners
  ManagedFields managed;
  if (!is_own || !asks_for_reset(given)) {
    if (is_own) managed = ManagedFields::from_json(given).value_or({});
    if (managed.entries.empty()) managed = ManagedFields::from_json(managed_fields_of(live)).value_or({});
  }
  const bool is_create = live.part("metadata").string_at("uid").empty();
  if (managed.entries.empty() && !is_create) return {};
  Json live_copy, next_copy;
  track_update(managed, write_.manager, without_managed_fields(live, live_copy),
               without_managed_fields(next, next_copy));
  return managed.to_json();
}

void FieldManager::track_update(ManagedFields& managed, std::string_view manager, const Json& before,
                                const Json& after) const {
  Comparison change = compare(schema_, before, after).without_subtrees(write_.ignored);
  release(managed, nullptr, before, after, change, true);
  FieldSet changed = changed_fields(std::move(change)).without(system_fields());
  if (!changed.empty()) {
    const ManagerId id =
        ManagerId::updater(manager.empty() ? "unknown" : manager, write_.api_version, write_.subresource);
    ManagedEntry& entry = managed.entries[id];
    entry = {write_.api_version, write_.now, std::move(changed).united(std::move(entry.fields))};
  }
  cap_update_managers(managed);
}

std::optional<Comparison> FieldManager::comparison_in(std::string_view version, const Json& before,
                                                      const Json& after) const {
  const std::optional<Json> left = in_version(before, version), right = in_version(after, version);
  if (!left || !right) return std::nullopt;
  return compare(schema_in(version), *left, *right).without_subtrees(write_.ignored);
}

// Takes what changed from every manager but `self`. Without `force` nothing changes when something is taken.
Conflicts FieldManager::release(ManagedFields& managed, const ManagerId* self, const Json& before,
                                const Json& after, const Comparison& change, bool force) const {
  if (managed.entries.empty()) return {};
  std::map<std::string, std::optional<Comparison>> comparisons = {{write_.api_version, change}};
  Conflicts conflicts;
  ManagedFields left;
  for (const auto& [id, entry] : managed.entries) {
    if (self && id == *self) {
      left.entries.emplace(id, entry);
      continue;
    }
    const auto [at, is_new] = comparisons.try_emplace(entry.api_version);
    if (is_new) at->second = comparison_in(entry.api_version, before, after);
    if (!at->second) continue;  // the version is not served any more
    const FieldSet taken = entry.fields.intersected(changed_fields(*at->second));
    taken.for_each([&, &id = id](const FieldPath& path) { conflicts.push_back({id, path}); });
    FieldSet kept = entry.fields.without(taken).without(at->second->removed);
    left.entries.emplace(id, ManagedEntry{entry.api_version, entry.time, std::move(kept)});
  }
  if (!force && !conflicts.empty()) return conflicts;
  managed = std::move(left);
  erase_empty(managed);
  return {};
}

ApplyResult FieldManager::applied(const Json& live_object, const Json& config, bool force) const {
  if (std::string problem = schema_.problem_of(config); !problem.empty()) return NotTyped{std::move(problem)};
  Json live_copy;
  const Json& live = without_managed_fields(live_object, live_copy);
  ManagedFields managed = ManagedFields::from_json(managed_fields_of(live_object)).value_or({});
  if (managed.entries.empty()) track_update(managed, kBeforeFirstApply, write_.empty, live);

  std::variant<Applied, Conflicts> result = apply_to(managed, live, config, force);
  const bool by_kubectl = write_.manager == kKubectl;
  if (auto* conflicts = std::get_if<Conflicts>(&result)) {
    const std::optional<FieldSet> allowed = by_kubectl ? last_applied_fields(live) : std::nullopt;
    if (!allowed) return std::move(*conflicts);
    std::erase_if(*conflicts, [&](const Conflict& conflict) { return allowed->has(conflict.path); });
    if (!conflicts->empty()) return std::move(*conflicts);
    result = apply_to(std::move(managed), live, config, true);
  }
  Applied& applied = std::get<Applied>(result);
  if (by_kubectl) update_last_applied(applied.document, config);
  return std::move(applied);
}

std::variant<Applied, Conflicts> FieldManager::apply_to(ManagedFields managed, const Json& live,
                                                        const Json& config, bool force) const {
  const ManagerId id = ManagerId::applier(write_.manager, write_.subresource);
  const auto found = managed.entries.find(id);
  const ManagedEntry last = found == managed.entries.end() ? ManagedEntry() : found->second;
  FieldSet own = fields_of(schema_, config).without_subtrees(write_.ignored);
  managed.entries[id] = {write_.api_version, last.time, own};

  Json next = merged(schema_, live, config);
  if (!last.fields.empty()) next = pruned(next, last, managed);
  const Comparison change = compare(schema_, live, next).without_subtrees(write_.ignored);
  if (Conflicts conflicts = release(managed, &id, live, next, change, force); !conflicts.empty())
    return conflicts;

  ManagedEntry& entry = managed.entries[id];
  entry.fields = own.without(system_fields());
  if (!(next == live)) entry.time = write_.now;
  erase_empty(managed);
  return Applied{std::move(next), managed.to_json()};
}

// Removes what the manager applied last time and does not any more, unless somebody else owns it.
Json FieldManager::pruned(const Json& merged, const ManagedEntry& last, const ManagedFields& managed) const {
  std::optional<Json> whole = in_version(merged, last.api_version);
  if (!whole) return merged;
  const Schema last_schema = schema_in(last.api_version);
  const FieldSet last_fields = with_named_parents(last_schema, last.fields);
  Json left = without_fields(last_schema, *whole, last_fields);

  std::map<std::string, FieldSet> owned;  // by version
  for (const auto& [id, entry] : managed.entries)
    owned[entry.api_version] = owned[entry.api_version].united(entry.fields);
  const auto add_back_owned = [&](const std::string& version) {
    const std::optional<Json> all = in_version(*whole, version), some = in_version(left, version);
    if (!all || !some) return;
    const Schema schema = schema_in(version);
    const FieldSet kept = with_named_parents(schema, fields_of(schema, *some))
                              .united(with_named_parents(schema, owned[version]));
    left = without_fields(schema, *all, with_named_parents(schema, fields_of(schema, *all)).without(kept));
  };
  if (owned.contains(last.api_version)) add_back_owned(last.api_version);
  for (const auto& [version, fields] : owned)
    if (version != last.api_version) add_back_owned(version);

  // What went although this manager had not applied it comes back, too.
  left = in_version(left, last.api_version).value_or(*whole);
  const FieldSet gone = with_named_parents(last_schema, fields_of(last_schema, *whole))
                            .without(with_named_parents(last_schema, fields_of(last_schema, left)));
  left = without_fields(last_schema, *whole, gone.intersected(last_fields));
  return in_version(left, write_.api_version).value_or(merged);
}

// What the client-side apply annotation shows that kubectl set, and that still has that value: no conflict is
// made of it. Nothing when there is no annotation of this version.
std::optional<FieldSet> FieldManager::last_applied_fields(const Json& live) const {
  const std::string_view text = live.part("metadata").part("annotations").string_at(kLastAppliedAnnotation);
  if (text.empty()) return std::nullopt;
  const Result<Json> last = parse_json(text);
  if (!last || last->string_at("apiVersion") != write_.api_version) return std::nullopt;
  if (!schema_.problem_of(*last).empty()) return std::nullopt;
  const Comparison change = compare(schema_, *last, live);
  return fields_of(schema_, *last).without(change.modified).without(change.added).without(change.removed);
}

}  // namespace berth::apply
