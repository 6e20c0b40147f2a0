// The selectors of a list or watch as one predicate over stored objects.
#pragma once

#include <functional>
#include <string>

#include "api/type_table.h"
#include "server/status.h"
#include "store/store.h"

namespace berth::server {

// True for selected objects; empty when there is no selector. Parses the object only for a selector. Pure,
// any thread.
using Matcher = std::function<bool(const store::Object&)>;

// `name`, unless empty, is the required name of the object. 400 for a selector that does not parse.
ApiResult<Matcher> make_matcher(const api::ResourceInfo& resource, const std::string& label_selector,
                                const std::string& field_selector, const std::string& name);

}  // namespace berth::server
