// How the registration table (registry.cc) makes each plugin. One file per plugin beside this one.
#pragma once

#include <memory>

#include "scheduling/framework.h"

namespace berth::scheduling::plugins {

std::unique_ptr<PreEnqueue> scheduling_gates();
std::unique_ptr<PreEnqueue> claims_exist();

std::unique_ptr<PreFilter> dynamic_resources_claims();
std::unique_ptr<PreFilter> extended_resource_claims();

std::unique_ptr<Filter> node_affinity_names();
std::unique_ptr<Filter> node_name();
std::unique_ptr<Filter> node_unschedulable();
std::unique_ptr<Filter> taint_toleration();
std::unique_ptr<Filter> node_affinity();
std::unique_ptr<Filter> node_resources_fit();
std::unique_ptr<Filter> dynamic_resources_allocated();
std::unique_ptr<LazyFilter> dynamic_resources();

std::unique_ptr<Score> least_allocated();

std::unique_ptr<Reserve> claim_reservation();
std::unique_ptr<PostFilter> claim_deallocation();

std::unique_ptr<FitCounter> node_resources_fit_counter();
std::unique_ptr<PlacementGenerator> topology_placement();
std::unique_ptr<PlacementState> gang_scheduling();
std::unique_ptr<PlacementScorer> placement_most_allocated();
std::unique_ptr<PlacementScorer> pod_group_pods_count();

}  // namespace berth::scheduling::plugins
