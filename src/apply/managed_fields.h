// metadata.managedFields: who owns which fields of an object.
//
// Values, any thread. Source: ManagedFieldsEntry of meta/v1.
#pragma once

#include <compare>
#include <map>
#include <string>

#include "apply/field_set.h"

namespace berth::apply {

enum class Operation : std::uint8_t { Apply, Update };

// What distinguishes entries. An applier is the same one in every version.
struct ManagerId {
  std::string manager;
  Operation operation = Operation::Update;
  std::string api_version;  // empty for Apply
  std::string subresource;

  static ManagerId applier(std::string_view manager, std::string_view subresource);
  static ManagerId updater(std::string_view manager, std::string_view api_version,
                           std::string_view subresource);

  // `"m1"`, `"kubelet" with subresource "status"`, `"m1" using v1`: as messages of conflicts name it.
  std::string text() const;
  auto operator<=>(const ManagerId&) const = default;
};

struct ManagedEntry {
  std::string api_version;  // of the fields' paths
  std::string time;         // RFC 3339; empty for a first apply that changed nothing
  FieldSet fields;
};

class ManagedFields {
 public:
  std::map<ManagerId, ManagedEntry> entries;

  // Refuses (Invalid) entries that no API server wrote: an unknown operation or fieldsType, no apiVersion.
  static Result<ManagedFields> from_json(const Json& list);
  // Appliers first, older entries first. Null when nobody owns anything.
  Json to_json() const;
};

}  // namespace berth::apply
