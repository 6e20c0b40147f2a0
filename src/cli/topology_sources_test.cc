#include "cli/topology_sources.h"

#include <gtest/gtest.h>

#include <map>

namespace berth::cli {
namespace {

using Labels = std::vector<api::StringMap>;

std::vector<placement::LabelledNode> labelled(const Labels& all) {
  static const std::vector<std::string> kNames = {"n0", "n1", "n2", "n3", "n4", "n5"};
  std::vector<placement::LabelledNode> nodes;
  for (std::size_t i = 0; i < all.size(); ++i) nodes.push_back({kNames.at(i), &all[i]});
  return nodes;
}

// "aws: spine 1, leaf 2; unlabelled 0"
std::string text_of(const FoundHierarchy& found) {
  std::string text = found.source + ":";
  for (const FoundLevel& level : found.levels)
    text += " " + level.level.name + " " + std::to_string(level.domains);
  return text + ", unlabelled " + std::to_string(found.survey.unlabelled);
}

TEST(TopologySources, FindTheLabelsOfEachSource) {
  struct Case {
    Labels labels;
    std::vector<std::string> found;
  };
  const api::StringMap host = {{"kubernetes.io/hostname", "n"}};
  const Case cases[] = {
      {{}, {}},
      {{host, host}, {}},
      {{{{"topology.kubernetes.io/zone", "z1"}, {"kubernetes.io/hostname", "a"}},
        {{"topology.kubernetes.io/zone", "z1"}, {"kubernetes.io/hostname", "b"}}},
       {"kubernetes: zone 1 host 2, unlabelled 0"}},
      {{{{"fabric.topograph.run/tier-1", "s1"}, {"fabric.topograph.run/tier-0", "l1"}},
        {{"fabric.topograph.run/tier-1", "s1"}, {"fabric.topograph.run/tier-0", "l2"}},
        host},
       {"topograph: tier-1 1 tier-0 2, unlabelled 1"}},
      {{{{"network.topology.nvidia.com/spine", "s"}, {"network.topology.nvidia.com/leaf", "l"}}},
       {"topograph-network: spine 1 leaf 1, unlabelled 0"}},
      {{{{"nvidia.com/gpu.clique", "u.1"}}, {{"nvidia.com/gpu.clique", "u.2"}}},
       {"nvidia: clique 2, unlabelled 0"}},
      {{{{"topology.k8s.aws/network-node-layer-1", "a"},
         {"topology.k8s.aws/network-node-layer-2", "b"},
         {"topology.k8s.aws/network-node-layer-3", "c"}}},
       {"aws: spine 1 aggregation 1 leaf 1, unlabelled 0"}},
      {{{{"cloud.google.com/gce-topology-block", "a"}, {"cloud.google.com/gce-topology-subblock", "b"}}},
       {"google: block 1 subblock 1, unlabelled 0"}},
      {{{{"oci.oraclecloud.com/host.network_block_id", "a"}, {"oci.oraclecloud.com/host.rack_id", "b"}}},
       {"oracle: block 1 rack 1, unlabelled 0"}},
      {{{{"node.coreweave.cloud/rack", "r"}, {"ds.coreweave.com/nvlink.domain", "d"}}},
       {"coreweave: rack 1 nvlink 1, unlabelled 0"}},
      // The one with the fewest unlabelled nodes comes first.
      {{{{"nvidia.com/gpu.clique", "u.1"}, {"topology.kubernetes.io/zone", "z"}},
        {{"topology.kubernetes.io/zone", "z"}}},
       {"kubernetes: zone 1, unlabelled 0", "nvidia: clique 1, unlabelled 1"}},
  };
  for (const Case& one : cases) {
    std::vector<std::string> found;
    for (const FoundHierarchy& hierarchy : find_hierarchies(labelled(one.labels)))
      found.push_back(text_of(hierarchy));
    EXPECT_EQ(found, one.found);
  }
}

TEST(TopologySources, CountAValueUnderTwoParentsTwiceAndSaySo) {
  const std::vector<placement::WishLevel> levels = {{"block", "b"}, {"rack", "r"}};
  const Labels labels = {{{"b", "b1"}, {"r", "r1"}}, {{"b", "b2"}, {"r", "r1"}}, {{"b", "b1"}}};
  const FoundHierarchy found = given_hierarchy(levels, labelled(labels));
  EXPECT_EQ(text_of(found), "given: block 2 rack 2, unlabelled 1");
  EXPECT_EQ(found.survey.reason, "MissingLabels");
  EXPECT_EQ(found.survey.message,
            "1 of 3 nodes lack a label of some level: n2. rack r1 is in b1, b2: each counts as a domain of "
            "its own.");
}

}  // namespace
}  // namespace berth::cli
