// Why a placed pod is on its node: what each plugin gives the node and the next best one.
//
// Pure: decided again on the objects as if the pod were not placed. Cost: every node judged once.
#pragma once

#include "planning/offline_core.h"

namespace berth::planning {

// Nodes that are asked, best first, until a second one takes the pod.
inline constexpr std::size_t kRunnersUpTriedMax = 64;

struct ScoreRow {
  std::string plugin;
  std::int64_t weight = 1;
  std::int64_t score = 0;      // of the pod's node: 0..100, before the weight
  std::int64_t runner_up = 0;  // of the other one
};

struct ScoreTable {
  std::string node;
  std::string refused;         // why the node would not take the pod now; empty: it would
  std::string runner_up;       // the best of the other nodes; empty: none of them takes the pod
  std::size_t candidates = 0;  // nodes that were compared
  std::vector<ScoreRow> rows;  // in call order
  std::int64_t total = 0, runner_up_total = 0;
};

// None: the pod is not there, has no node, or has ended. Afterwards the cluster is as before.
std::optional<ScoreTable> score_placed_pod(OfflineCluster& offline, OfflineCore& core,
                                           const client::NamedKey& pod);

// {"node","total","runnerUp","runnerUpTotal","nodes","refused","plugins":[
// {"plugin","weight","raw","weighted",
// "runnerUpRaw","runnerUpWeighted"}]}. "raw" is 0..100, before the weight. What does not apply is absent.
Json to_json(const ScoreTable& table);

}  // namespace berth::planning
