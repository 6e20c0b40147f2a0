// What changes the cluster before a run or a question: nodes go first, then objects come.
#pragma once

#include <string>
#include <vector>

#include "simulate/script.h"

namespace berth::simulate {

struct StartChanges {
  std::vector<std::string> lost_nodes;  // by name
  std::vector<planning::Document> added;
};

// The script of what begins with the changes.
inline Script changed(Script script, const StartChanges& changes) {
  script.objects.insert(script.objects.end(), changes.added.begin(), changes.added.end());
  script.lost_nodes.insert(script.lost_nodes.end(), changes.lost_nodes.begin(), changes.lost_nodes.end());
  return script;
}

}  // namespace berth::simulate
