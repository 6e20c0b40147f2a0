// Patches sent as whole objects, which cost an API server less. It reads, applies and decodes a merge patch
// as JSON; a PUT of a ResourceClaim in protobuf takes it 0.4 ms of CPU less.
//
// For a patch on a version (metadata.resourceVersion) that only adds, if the object's protobuf at that
// version is known. The PUT has the same precondition and the same result, and keeps members that the type
// table does not know. Everything else stays a patch. Owner: one client; thread-safe. Memory:
// kWholeObjectBytesMax. docs/benchmarks.md has the figures.
#pragma once

#include <cstddef>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "api/type_table.h"
#include "client/api_client.h"

namespace berth::client {

inline constexpr std::size_t kWholeObjectBytesMax = 8u << 20;  // of the bodies that are remembered

class WholeObjects {
 public:
  // An object as a watch or an answer has it. The latest version is remembered when it is one of those that
  // are replaced.
  void heard(const api::ResourceRef& resource, const api::RawPtr& object);
  // The last state of an object that was deleted.
  void gone(const api::ResourceRef& resource, const api::RawPtr& object);

  // The protobuf body of the PUT; nothing when it must be the patch that it is.
  std::optional<std::string> instead_of(const ApiRequest& patch);

  // The server does not permit this client to replace objects.
  void stop();

 private:
  struct Known {
    std::string uid, version;
    api::RawPtr object;
  };
  using Order = std::list<Known>;

  api::RawPtr at(std::string_view uid, std::string_view version);
  void forget(Order::iterator known);

  std::mutex mutex_;
  bool stopped_ = false;
  std::size_t bytes_ = 0;
  Order order_;                                                   // the latest heard is the last
  std::unordered_map<std::string_view, Order::iterator> by_uid_;  // views of the UIDs in `order_`
};

// The members and items that `patch` adds to the document `base`, when it does nothing else; else nothing.
// Lists of a merge patch begin with those of `base`; of a strategic one new items of a list with a merge key
// are added.
std::optional<Json> addition_of(const Json& base, const Json& patch, Verb verb, const api::TypeInfo& type);

}  // namespace berth::client
