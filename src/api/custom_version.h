// A version of a custom resource, as far as this room asks. Its definition has all else: room crd implements
// it (crd/served_version.h).
#pragma once

#include <string_view>

namespace berth::api {

struct ResourceInfo;

class CustomVersion {
 public:
  // The row of the version in which objects of the resource are stored.
  virtual const ResourceInfo& storage_row() const = 0;
  virtual std::string_view list_kind() const = 0;
  // The Warning of a version that the definition calls deprecated; empty: it does not.
  virtual std::string_view deprecation_warning() const = 0;

 protected:
  ~CustomVersion() = default;
};

}  // namespace berth::api
