// What an admission webhook is asked about: the request, without its objects.
//
// Source: k8s.io/apiserver/pkg/admission (Attributes) of Kubernetes 1.37.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "rbac/user.h"

namespace berth::admission {

enum class Operation : std::uint8_t { Create, Update, Delete };
// "CREATE", …
std::string_view name_of(Operation operation);

struct GroupVersionResource {
  std::string_view group, version, resource;
};
struct GroupVersionKind {
  std::string_view group, version, kind;
};

// One request. Views refer to rows that the request holds.
struct Attributes {
  Operation operation = Operation::Create;
  GroupVersionResource resource;
  GroupVersionKind kind;  // of the object in the request: of a subresource, its own kind
  std::string subresource;
  std::string ns;    // of a Namespace: its own name
  std::string name;  // empty until a generated one is known
  rbac::User user;
  bool dry_run = false;
  Json options;  // CreateOptions, UpdateOptions, PatchOptions or DeleteOptions
};

// The version in which a webhook sees the object: that of the request, or an equivalent one.
struct SeenAs {
  GroupVersionResource resource;
  GroupVersionKind kind;
};

}  // namespace berth::admission
