// `berth` with one more placement scorer: every command and flag, and groups that prefer some domains.
#include "cli/berth.h"
#include "preferred_domains.h"

namespace {

// One place in the list is worth kPlacementScoreMax / kDomainsMax = 5 points; Berth's scorers differ by at
// most 200.
constexpr std::int64_t kWeight = 41;

berth::placement::PluginSet scheduler_plugins(const berth::placement::PluginArguments& arguments) {
  berth::placement::PluginSet set = berth::placement::default_plugins(arguments);
  set.placement_scorers.push_back({example::make_preferred_domains(), kWeight});
  return set;
}

}  // namespace

int main(int argc, char** argv) {
  berth::cli::Plugins plugins;
  plugins.scheduler = scheduler_plugins;
  return berth::cli::run_berth(argc, argv, plugins);
}
