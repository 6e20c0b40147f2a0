#include "apply/managed_fields.h"

#include <algorithm>
#include <tuple>

namespace berth::apply {
namespace {

constexpr std::string_view kFieldsType = "FieldsV1";

std::string_view name_of(Operation operation) {
  return operation == Operation::Apply ? "Apply" : "Update";
}

Error refused(std::string_view field, std::string_view why) {
  return Error(ErrorCode::Invalid, "metadata.managedFields[]." + std::string(field), std::string(why));
}

Json json_of(const ManagerId& id, const ManagedEntry& entry) {
  JsonObject object;
  object.append("manager", id.manager);
  object.append("operation", name_of(id.operation));
  object.append("apiVersion", entry.api_version);
  if (!entry.time.empty()) object.append("time", entry.time);
  object.append("fieldsType", kFieldsType);
  object.append("fieldsV1", entry.fields.to_json());
  if (!id.subresource.empty()) object.append("subresource", id.subresource);
  return object;
}

}  // namespace

ManagerId ManagerId::applier(std::string_view manager, std::string_view subresource) {
  return {std::string(manager), Operation::Apply, {}, std::string(subresource)};
}

ManagerId ManagerId::updater(std::string_view manager, std::string_view api_version,
                             std::string_view subresource) {
  return {std::string(manager), Operation::Update, std::string(api_version), std::string(subresource)};
}

std::string ManagerId::text() const {
  std::string text = to_string(Json(manager));
  if (!subresource.empty()) text += " with subresource " + to_string(Json(subresource));
  if (operation == Operation::Update) text += " using " + api_version;
  return text;
}

Result<ManagedFields> ManagedFields::from_json(const Json& list) {
  ManagedFields managed;
  if (list.is_null()) return managed;
  if (!list.is_array()) return refused("", "is a list");
  for (const Json& item : list.as_array()) {
    const std::string_view operation = item.string_at("operation"), version = item.string_at("apiVersion");
    if (operation != "Apply" && operation != "Update") return refused("operation", "is Apply or Update");
    if (version.empty()) return refused("apiVersion", "must not be empty");
    if (item.string_at("fieldsType") != kFieldsType) return refused("fieldsType", "is FieldsV1");
    const std::string_view manager = item.string_at("manager"), subresource = item.string_at("subresource");
    const Json* fields = item.find("fieldsV1");
    ManagedEntry entry{std::string(version), std::string(item.string_at("time")), {}};
    if (fields && !fields->is_null()) entry.fields = TRY(FieldSet::from_json(*fields));
    managed.entries[operation == "Apply" ? ManagerId::applier(manager, subresource)
                                         : ManagerId::updater(manager, version, subresource)] =
        std::move(entry);
  }
  return managed;
}

Json ManagedFields::to_json() const {
  using Row = std::pair<const ManagerId, ManagedEntry>;
  std::vector<const Row*> rows;
  for (const Row& row : entries) rows.push_back(&row);
  std::sort(rows.begin(), rows.end(), [](const Row* a, const Row* b) {
    const auto key = [](const Row* row) {
      return std::tie(row->first.operation, row->second.time, row->first.manager, row->second.api_version,
                      row->first.subresource);
    };
    return key(a) < key(b);
  });
  if (rows.empty()) return {};
  JsonArray list;
  for (const Row* row : rows) list.push_back(json_of(row->first, row->second));
  return list;
}

}  // namespace berth::apply
