#include "server/tables_custom.h"

#include "server/tables.h"

namespace berth::server {
namespace {

Json cell_of(const crd::Column& column, const Json& value, Time now) {
  if (value.is_null()) return {};
  if (column.type == "string") return value.is_string() ? value : Json(to_string(value));
  if (column.type == "integer") {
    if (value.is_double()) return static_cast<std::int64_t>(value.as_double());
    return value.is_int() ? value : Json();
  }
  if (column.type == "number") return value.is_number() ? value : Json();
  if (column.type == "boolean") return value.is_bool() ? value : Json();
  if (column.type != "date" || !value.is_string()) return {};
  if (!parse_time(value.as_string())) return "<invalid>";
  return since(value.as_string(), now);
}

}  // namespace

Json custom_definitions(const crd::ServedVersion& version) {
  JsonArray definitions = {Json::object({{"name", "Name"},
                                         {"type", "string"},
                                         {"format", "name"},
                                         {"description", "Name must be unique within a namespace."},
                                         {"priority", 0}})};
  for (const crd::Column& column : version.columns)
    definitions.push_back(Json::object({{"name", column.name},
                                        {"type", column.type},
                                        {"format", column.format},
                                        {"description", column.description},
                                        {"priority", column.priority}}));
  return definitions;
}

JsonArray custom_cells(const crd::ServedVersion& version, const Json& object, Time now) {
  JsonArray cells = {name_of(object)};
  for (const crd::Column& column : version.columns) {
    const Json* value = column.path.first(object);
    cells.push_back(value ? cell_of(column, *value, now) : Json());
  }
  return cells;
}

}  // namespace berth::server
