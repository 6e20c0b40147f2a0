#include "workloads/daemon_rollout.h"

#include <gtest/gtest.h>

namespace berth::workloads {
namespace {

// One letter a node. o: old, serves; x: old, serves nobody; n: updated, serves; m: updated, serves nobody;
// b: old that serves and updated that does not; B: both serve; -: none yet; O, X: as o, x on a node that is
// not wanted.
std::vector<NodeDaemons> nodes_of(std::string_view letters, const api::Pod& pod) {
  std::vector<NodeDaemons> nodes;
  for (const char letter : letters) {
    NodeDaemons node{.wanted = letter != 'O' && letter != 'X'};
    const std::string_view one(&letter, 1);
    if (std::string_view("oxbBOX").find(one) != std::string_view::npos) node.old = &pod;
    if (std::string_view("nmbB").find(one) != std::string_view::npos) node.updated = &pod;
    node.old_available = std::string_view("obBO").find(one) != std::string_view::npos;
    node.updated_available = letter == 'n' || letter == 'B';
    nodes.push_back(node);
  }
  return nodes;
}

struct Case {
  std::string_view nodes;
  std::int64_t desired, most;
  std::size_t deletes;
  std::vector<std::size_t> creates;
};

TEST(DaemonRollout, ReplacesWhatServesNobodyAndNoMoreThanTheLimit) {
  const Case cases[] = {{"ooooo", 5, 1, 1, {}}, {"ooooo", 5, 3, 3, {}}, {"oooom", 5, 1, 0, {}},
                        {"ooxxx", 5, 1, 3, {}}, {"ooxxx", 5, 4, 4, {}}, {"noo-o", 5, 1, 0, {}},
                        {"noo-o", 5, 2, 1, {}}, {"nnnnn", 5, 2, 0, {}}, {"nnOX", 2, 2, 0, {}}};
  const api::Pod pod;
  for (const Case& test : cases) {
    const DaemonRollout rollout = replace_daemons(nodes_of(test.nodes, pod), test.desired, test.most);
    EXPECT_EQ(rollout.deletes.size(), test.deletes) << test.nodes << " " << test.most;
    EXPECT_EQ(rollout.creates, test.creates) << test.nodes;
  }
}

TEST(DaemonRollout, SurgesAndTakesTheOldOneWhenItsSuccessorServes) {
  const Case cases[] = {{"ooooo", 5, 1, 0, {0}},              // no more than maxSurge beside what serves
                        {"ooooo", 5, 2, 0, {0, 1}},           //
                        {"xxxxx", 5, 1, 0, {0, 1, 2, 3, 4}},  // who serves nobody gets a successor at once
                        {"xoxoo", 5, 1, 0, {0, 2, 1}},        // and takes nothing of the surge
                        {"boooo", 5, 1, 0, {}},               // one is awaited
                        {"boooo", 5, 2, 0, {1}},              //
                        {"bbboo", 5, 2, 0, {}},               // more are awaited than now allowed
                        {"Boooo", 5, 1, 1, {1}},  // it serves: the old one goes, the next one comes
                        {"nnmo-", 5, 1, 0, {3}},  // a successor alone awaits nothing
                        {"nnnnn", 5, 1, 0, {}},   //
                        {"nnO", 2, 1, 1, {}},     // two others serve
                        {"nmO", 2, 1, 0, {}},     // one does not yet
                        {"nmOO", 2, 1, 1, {}},    //
                        {"nmX", 2, 1, 1, {}}};    // serves nobody there
  const api::Pod pod;
  for (const Case& test : cases) {
    const DaemonRollout rollout = surge_daemons(nodes_of(test.nodes, pod), test.desired, test.most);
    EXPECT_EQ(rollout.deletes.size(), test.deletes) << test.nodes << " " << test.most;
    EXPECT_EQ(rollout.creates, test.creates) << test.nodes << " " << test.most;
  }
}

}  // namespace
}  // namespace berth::workloads
