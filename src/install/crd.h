// The CustomResourceDefinitions of Berth's kinds: schemas from the type table, bounds and rules of the
// embedded server (api/kinds/scheduling_*.cc) as OpenAPI constraints and CEL.
//
// Pure, any thread. Differs from the embedded server: the status of a replaced decision stays until the
// binder writes the next one (an update cannot clear a status subresource); readers compare
// status.decisionID.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace berth::install {

inline constexpr std::string_view kBindRequestCrd = "bindrequests.scheduling.berth.dev";

// As the embedded server prints them; `Name` is implicit and first.
struct PrinterColumn {
  std::string_view name;
  std::string_view type;
  std::string_view path;  // JSON path
  int priority = 0;       // above 0: only with -o wide
};
std::span<const PrinterColumn> bind_request_columns();
std::span<const PrinterColumn> health_policy_columns();
std::span<const PrinterColumn> node_health_columns();
std::span<const PrinterColumn> topology_columns();
std::span<const PrinterColumn> placement_policy_columns();

Json bind_request_crd();
Json health_policy_crd();
Json node_health_crd();
Json topology_crd();
Json placement_policy_crd();
// All of them, in the order of installation.
std::vector<Json> own_crds();

}  // namespace berth::install
