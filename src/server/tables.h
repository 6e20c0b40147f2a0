// The columns that `kubectl get` prints: one table of rows per resource.
#pragma once

#include <string_view>
#include <vector>

#include "api/type_table.h"
#include "base/json.h"
#include "base/time.h"

namespace berth::server {

struct TableColumn {
  std::string_view name;
  std::string_view type;    // string, integer, boolean, date
  std::string_view format;  // "name" for the first
  int priority = 0;         // above 0: only with -o wide
};

struct TableColumns {
  std::vector<TableColumn> columns;
  // One cell per column, as the server renders it (ages against `now`).
  JsonArray (*cells)(const Json& object, Time now);
};

// Name and Age for a resource without columns of its own.
const TableColumns& columns_of(const api::ResourceInfo& resource);
Json definitions_json(const TableColumns& columns);

}  // namespace berth::server
