// The columns of `kubectl get`: one table of rows per resource.
//
// Pure, any thread. Source: the server-side printers of Kubernetes 1.37 (columns and cells observed);
// BindRequest's are Berth's own.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "api/type_table.h"
#include "base/json.h"
#include "base/time.h"

namespace berth::server {

struct TableColumn {
  std::string_view name;
  std::string_view type = "string";  // string, integer, boolean
  int priority = 0;                  // above 0: only with -o wide
  bool is_name = false;              // the column that holds metadata.name
};

struct TableColumns {
  std::span<const TableColumn> columns;
  // One cell per column, rendered by the server (ages against `now`).
  JsonArray (*cells)(const Json& object, Time now);
};

struct TableRow {
  std::string_view group;
  std::string_view resource;
  TableColumns columns;
};

inline constexpr TableColumn kName{"Name", "string", 0, true};
inline constexpr TableColumn kAge{"Age"};

// For workloads and volumes (tables_workloads.cc).
std::span<const TableRow> workload_rows();
// For kinds that belong to the cluster (tables_cluster.cc).
std::span<const TableRow> cluster_rows();

// Name and Age for a resource without columns of its own.
const TableColumns& columns_of(const api::ResourceInfo& resource);
Json definitions_json(const TableColumns& columns);

// Cells of the pod: Ready, Status, Restarts and the rest (tables_pod.cc).
JsonArray pod_cells(const Json& pod, Time now);

// Building blocks of cells.
std::string name_of(const Json& object);
// "38s" since creation; "<unknown>" without a time.
std::string age_of(const Json& object, Time now);
std::string since(std::string_view time, Time now);
// "a=1,b=2" sorted by key; "<none>" when empty.
std::string labels_text(const Json& labels);
// Containers, images and selector of a workload.
void append_template(JsonArray& cells, const Json& spec);
// `text`, or `otherwise` when it is empty.
std::string or_else(std::string_view text, std::string_view otherwise);

}  // namespace berth::server
