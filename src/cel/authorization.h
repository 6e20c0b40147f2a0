// The authorization library: expressions that ask what a user may do.
//
// Source: k8s.io/apiserver/pkg/cel/library/authz.go (1.27; selectors 1.31).
#pragma once

#include <string>

#include "cel/value.h"

namespace berth::cel {

// With a path, or with a resource.
struct AccessQuestion {
  std::string account_ns, account;  // a service account; empty: the user of the request
  std::string group, resource, subresource, ns, name;
  std::string path;
  std::string verb;
};

struct AccessAnswer {
  bool allowed = false;
  std::string reason;
};

// Who answers. Called while an expression is evaluated, on its thread; an expression's cost limit leaves room
// for two calls.
class Authorizer {
 public:
  virtual ~Authorizer() = default;
  virtual AccessAnswer answer(const AccessQuestion& question) const = 0;
};

// The value of the variable `authorizer`. `request_resource` is the question of its field requestResource,
// without a verb. The authorizer outlives every value that an expression makes of it.
Value authorizer_value(const Authorizer& authorizer, AccessQuestion request_resource);

class Environment;
// The variable `authorizer`, with its field.
void declare_authorizer(Environment& environment);

}  // namespace berth::cel
