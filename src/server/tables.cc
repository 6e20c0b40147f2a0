#include "server/tables.h"

#include "server/metadata.h"

namespace berth::server {
namespace {

std::string age_of(const Json& object, Time now) {
  const Result<Time> created = parse_time(metadata_of(object).string_at("creationTimestamp"));
  return created ? human_age(now - *created) : "<unknown>";
}

}  // namespace

const TableColumns& columns_of(const api::ResourceInfo&) {
  static const TableColumns kPlain = {
      {{"Name", "string", "name", 0}, {"Age", "string", "", 0}},
      [](const Json& object, Time now) -> JsonArray {
        return {Json(metadata_of(object).string_at("name")), Json(age_of(object, now))};
      }};
  return kPlain;
}

Json definitions_json(const TableColumns& columns) {
  JsonArray definitions;
  for (const TableColumn& column : columns.columns)
    definitions.push_back(Json::object({{"name", column.name},
                                        {"type", column.type},
                                        {"format", column.format},
                                        {"description", ""},
                                        {"priority", column.priority}}));
  return definitions;
}

}  // namespace berth::server
