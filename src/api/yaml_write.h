// JSON documents as YAML text in the form of `kubectl get -o yaml`: block style, two spaces, members in their
// order.
//
// Pure, any thread. A string is quoted when YAML would read it as something else.
#pragma once

#include <string>

#include "base/json.h"

namespace berth::api {

// One document, without the `---` before it.
std::string to_yaml(const Json& document);

}  // namespace berth::api
