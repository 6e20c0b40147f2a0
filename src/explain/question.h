// The question why a pod or a group waits or is on its node: reads the pages that answer it.
//
// Reads one page after the other through the given functions; uses no socket and no clock.
#pragma once

#include <functional>
#include <string>

#include "api/kinds.h"
#include "base/json.h"
#include "base/time.h"

namespace berth::explain {

// The document at a path such as "/api/v1/namespaces/ns/pods/p"; null when it does not exist. Blocks.
using PageReader = std::function<Result<Json>(const std::string& path)>;

struct PageReaders {
  PageReader objects;    // of the API server
  PageReader decisions;  // of the process that serves the scheduler's decisions (decision_history.h)
};

struct Question {
  api::Kind kind = api::Kind::Pod;  // or PodGroup, CompositePodGroup
  std::string ns;
  std::string name;
};

// The result of explain_pod or explain_group for the object. Refuses an object that does not exist (NotFound,
// naming the namespace of one with its name), and fails with the first page that cannot be read.
//
// Cost for a pod: one read each for the pod, its record, group, bind request, claims and node's device
// health. Without a record its events are read too. For a pod that is not tried, its group, the groups
// above and templates are read, and a list of each kind of which one does not exist. Cost for a group: one
// list of the pods and one of the bind requests of its namespace; if it is not tried, the groups above. A
// tree of groups adds the lists of both kinds of groups.
Result<Json> answer(const Question& question, const PageReaders& read, Time now);

}  // namespace berth::explain
