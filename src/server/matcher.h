// The selectors of a list or watch as one predicate over stored objects.
#pragma once

#include <functional>
#include <string>

#include "api/type_table.h"
#include "server/status.h"
#include "store/store.h"

namespace berth::server {

// Both are empty when there is no selector. Pure, any thread.
struct Matcher {
  // True for selected objects. Parses the object.
  std::function<bool(const store::Object&)> selects;
  // False only for objects that are not selected. Looks at the bytes alone, so that ten thousand watches of
  // a node's pods each cost an event next to nothing.
  std::function<bool(const store::Object&)> may_select;
  // What every event has that may concern a watch of it; so the others need not even be looked at.
  store::MemberFilter filter;
};

// `name`, unless empty, is the required name of the object. 400 for a selector that does not parse.
ApiResult<Matcher> make_matcher(const api::ResourceInfo& resource, const std::string& label_selector,
                                const std::string& field_selector, const std::string& name);

}  // namespace berth::server
