// Why a pod or a group waits, or why it is where it is: what is known of it, put together and put in words.
//
// Pure: objects and the scheduler's record come in, one document comes out, and its text for a terminal.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/time.h"

namespace berth::explain {

// What was read of one pod. Objects as the API has them; null where there is none.
struct PodFacts {
  Json pod;
  Json bind_request;
  std::vector<Json> claims;
  Json record;        // the scheduler's page about the pod (decision_history.h); null: nobody serves it
  Json group_record;  // about the pod's group
  Json events;        // the EventList about a pod that waits where nobody serves a record; null: not read
};

struct GroupFacts {
  Json group;
  Json record;
  std::vector<PodFacts> members;  // by name; without records
};

// {"kind":"Pod","namespace","name","state","summary","node","group","decision":{…},"member","refused":[…],
//  "waitsFor":{…},"bindRequest":{…},"devices":[…],"steps":[{"step","time","took"}],"history":[…]}; what does
// not apply is absent. "member" is what the decision about its group says of this pod. `now` is what ages are
// counted from.
Json explain_pod(const PodFacts& facts, Time now);
// {"kind":"PodGroup",…,"members":[{"name","state","summary","node","devices"}]}
Json explain_group(const GroupFacts& facts, Time now);

enum class Detail { Table, Wide };
enum class Colour { No, Yes };
// For a terminal, in lines of about 100 columns.
std::string explanation_text(const Json& explanation, Detail detail, Colour colour);

}  // namespace berth::explain
