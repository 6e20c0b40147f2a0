// Keeps metadata.managedFields over writes, and carries out server-side apply.
//
// One FieldManager is one write. Documents are canonical in the write's version, with kind and apiVersion.
// Pure, one thread. Source: KEP-555; k8s.io/apimachinery util/managedfields; observed responses of 1.37.
#pragma once

#include <functional>
#include <optional>
#include <variant>

#include "apply/managed_fields.h"
#include "apply/structured_merge.h"

namespace berth::apply {

// Entries of Update managers that an object keeps; older ones are put together.
inline constexpr std::size_t kUpdateManagersMax = 10;
// Owner of what an object had before its first apply, when nobody was tracked.
inline constexpr std::string_view kBeforeFirstApply = "before-first-apply";
inline constexpr std::string_view kLastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";

// A write, as far as ownership is concerned.
struct FieldWrite {
  std::string manager;
  std::string subresource;  // "status"; empty for the object itself
  std::string api_version;
  std::string kind;
  std::string now;  // RFC 3339, whole seconds
  Json empty;       // an object of the kind without any field set
  // Fields that this endpoint never stores: they are neither owned nor taken from an owner.
  FieldSet ignored;
  // The document in another version of its kind; nothing for a version that is not served.
  std::function<std::optional<Json>(const Json& document, std::string_view api_version)> converted;
  // The schema of a version that `converted` knows; empty for kinds of the type table.
  std::function<Schema(std::string_view api_version)> schema_of;
};

// A field that the manager named here owns with another value.
struct Conflict {
  ManagerId manager;
  FieldPath path;
};
using Conflicts = std::vector<Conflict>;

struct Applied {
  Json document;  // not canonical: decode it; without managedFields
  Json managed_fields;
};
// Why the configuration does not fit its type.
struct NotTyped {
  std::string why;
};
using ApplyResult = std::variant<Applied, Conflicts, NotTyped>;

class FieldManager {
 public:
  explicit FieldManager(FieldWrite write);

  // managedFields after a create (`live` is the empty object), an update or a patch other than apply. An
  // object whose owners are not tracked stays so until its first apply.
  Json after_update(const Json& live, const Json& next) const;
  // `config` as it was sent. `live` is the empty object when there is none. Without `force`
  // a field of another manager is a conflict.
  ApplyResult applied(const Json& live, const Json& config, bool force) const;

 private:
  void track_update(ManagedFields& managed, std::string_view manager, const Json& before,
                    const Json& after) const;
  // `change`: from `before` to `after` in the write's version, without what is ignored.
  Conflicts release(ManagedFields& managed, const ManagerId* self, const Json& before, const Json& after,
                    const Comparison& change, bool force) const;
  std::optional<Comparison> comparison_in(std::string_view version, const Json& before,
                                          const Json& after) const;
  std::variant<Applied, Conflicts> apply_to(ManagedFields managed, const Json& live, const Json& config,
                                            bool force) const;
  Json pruned(const Json& merged, const ManagedEntry& last, const ManagedFields& managed) const;
  std::optional<Json> in_version(const Json& document, std::string_view version) const;
  Schema schema_in(std::string_view version) const;
  std::optional<FieldSet> last_applied_fields(const Json& live) const;

  const FieldWrite write_;
  const Schema schema_;
};

}  // namespace berth::apply
