// The question why a pod or a group waits, or is where it is: which pages answer it, and what they come to.
//
// Reads one page after the other through the functions that it is given; knows no socket and no clock.
#pragma once

#include <functional>
#include <string>

#include "api/kinds.h"
#include "base/json.h"
#include "base/time.h"

namespace berth::explain {

// The document at a path such as "/api/v1/namespaces/ns/pods/p"; null where the server has none. Blocks.
using PageReader = std::function<Result<Json>(const std::string& path)>;

struct PageReaders {
  PageReader objects;    // of the API server
  PageReader decisions;  // of the process that serves the scheduler's decisions (decision_history.h)
};

struct Question {
  api::Kind kind = api::Kind::Pod;  // or PodGroup
  std::string ns;
  std::string name;
};

// What explain_pod or explain_group says of the object. Refuses an object that does not exist (NotFound, with
// the namespace of one that has its name), and fails with the first page that cannot be read. Cost: a pod one
// read, and one each for its record, group, bind request and claims, and its events where there is no record;
// a group one list of the pods and one of the bind requests of its namespace.
Result<Json> answer(const Question& question, const PageReaders& read, Time now);

}  // namespace berth::explain
