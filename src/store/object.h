// What is stored: objects under their keys, each version with its revision.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace berth::store {

// The key of an object: `resource` is "pods" or "resourceclaims.resource.k8s.io" (plural[.group], no version:
// all versions of a kind share one store); `ns` is empty for cluster-scoped objects. Ordered by resource, ns,
// name.
struct Key {
  std::string resource;
  std::string ns;
  std::string name;
  friend auto operator<=>(const Key&, const Key&) = default;
};

using Revision = std::uint64_t;

// One stored version of an object. Immutable and shared.
struct Object {
  Key key;
  std::string uid;
  Revision created = 0;   // revision of its create
  Revision revision = 0;  // revision of this version
  std::string bytes;      // JSON, metadata.resourceVersion included
};
using ObjectPtr = std::shared_ptr<const Object>;

// The bytes of a version before its revision is known: the store writes head + decimal revision + tail.
struct Draft {
  std::string head;  // becomes the object's bytes: reserve() room for the rest to avoid a copy
  std::string tail;
};

// An object with more bytes is TooLarge.
inline constexpr std::size_t kObjectBytesMax = 8 * 1024 * 1024;

}  // namespace berth::store
