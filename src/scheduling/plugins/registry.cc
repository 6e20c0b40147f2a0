#include "scheduling/plugins/plugins.h"

namespace berth::scheduling {

PluginSet default_plugins() {
  PluginSet set;
  set.gates.push_back(plugins::scheduling_gates());
  set.gates.push_back(plugins::claims_exist());
  set.prefilters.push_back(plugins::dynamic_resources_claims());
  set.prefilters.push_back(plugins::extended_resource_claims());
  set.filters.push_back(plugins::node_affinity_names());
  set.filters.push_back(plugins::node_name());
  set.filters.push_back(plugins::node_unschedulable());
  set.filters.push_back(plugins::taint_toleration());
  set.filters.push_back(plugins::node_affinity());
  set.filters.push_back(plugins::node_resources_fit());
  set.filters.push_back(plugins::dynamic_resources_allocated());
  set.lazy_filters.push_back(plugins::dynamic_resources());
  set.scores.push_back({plugins::least_allocated(), 1});
  set.reserves.push_back(plugins::claim_reservation());
  set.post_filters.push_back(plugins::claim_deallocation());
  set.fit_counter = plugins::node_resources_fit_counter();
  set.placement_generator = plugins::topology_placement();
  set.placement_state = plugins::gang_scheduling();
  set.placement_scorers.push_back(plugins::placement_most_allocated());
  set.placement_scorers.push_back(plugins::pod_group_pods_count());
  return set;
}

}  // namespace berth::scheduling
