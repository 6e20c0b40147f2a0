// The kinds with typed structs, and their names in the API.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "api/types/bind_request.h"
#include "api/types/cluster.h"
#include "api/types/disruption_budget.h"
#include "api/types/dra.h"
#include "api/types/placement_policy.h"
#include "api/types/pod.h"
#include "api/types/taint_rule.h"
#include "api/types/topology.h"
#include "api/types/volumes.h"

namespace berth::api {

enum class Kind : std::uint8_t {
  Pod,
  Node,
  Namespace,
  Lease,
  PriorityClass,
  PodGroup,
  ResourceSlice,
  DeviceClass,
  ResourceClaim,
  ResourceClaimTemplate,
  BindRequest,
  DeviceTaintRule,
  PersistentVolumeClaim,
  PersistentVolume,
  StorageClass,
  CSIDriver,
  CSIStorageCapacity,
  CSINode,
  VolumeAttachment,
  PodDisruptionBudget,
  CompositePodGroup,
  Topology,
  PlacementPolicy,
  Other,  // any other kind: only its metadata is known (AnyObject)
};
inline constexpr std::size_t kTypedKindCount = static_cast<std::size_t>(Kind::Other);

// A resource of the API: the parts of its URL.
struct ResourceRef {
  std::string group;
  std::string version;
  std::string resource;  // plural
  friend auto operator<=>(const ResourceRef&, const ResourceRef&) = default;
  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
};

// One row per typed kind.
struct KindInfo {
  Kind kind;
  std::string_view name;
  std::string_view group;
  std::string_view version;
  std::string_view resource;
  bool namespaced;
};

const KindInfo& info_of(Kind kind);
// Kind::Other when none matches.
Kind kind_of_resource(std::string_view group, std::string_view resource);
ResourceRef ref_of(Kind kind);

// Identifies one object. For Kind::Other, `resource` is its resource; empty otherwise.
struct ObjectKey {
  Kind kind = Kind::Other;
  std::string ns;
  std::string name;
  ResourceRef resource = {};
  friend auto operator<=>(const ObjectKey&, const ObjectKey&) = default;
};

// "Pod default/web-1": for people.
std::string to_text(const ObjectKey& key);

using TypedObject =
    std::variant<std::shared_ptr<const Pod>, std::shared_ptr<const Node>, std::shared_ptr<const Namespace>,
                 std::shared_ptr<const Lease>, std::shared_ptr<const PriorityClass>,
                 std::shared_ptr<const PodGroup>, std::shared_ptr<const ResourceSlice>,
                 std::shared_ptr<const DeviceClass>, std::shared_ptr<const ResourceClaim>,
                 std::shared_ptr<const ResourceClaimTemplate>, std::shared_ptr<const BindRequest>,
                 std::shared_ptr<const DeviceTaintRule>, std::shared_ptr<const PersistentVolumeClaim>,
                 std::shared_ptr<const PersistentVolume>, std::shared_ptr<const StorageClass>,
                 std::shared_ptr<const CSIDriver>, std::shared_ptr<const CSIStorageCapacity>,
                 std::shared_ptr<const CSINode>, std::shared_ptr<const VolumeAttachment>,
                 std::shared_ptr<const DisruptionBudget>, std::shared_ptr<const CompositePodGroup>,
                 std::shared_ptr<const Topology>, std::shared_ptr<const PlacementPolicy>,
                 std::shared_ptr<const AnyObject>>;

const ObjectMeta& meta_of(const TypedObject& object);
const RawPtr& raw_of(const TypedObject& object);

// Whether a typed object keeps its text: `raw` is null in one that does not.
enum class Text : std::uint8_t { Keep, Drop };

// Decodes one object. Lenient: unknown fields are ignored, fields of a wrong type read as absent (the server
// has validated what it stored). Error only when the bytes are no object. Cost: about 10 µs for a 3 KB pod.
Result<TypedObject> decode_typed(Kind kind, RawPtr raw, Text text = Text::Keep);
// Whether decode_typed() needs no document in between: protobuf of the kinds of which a cluster has many.
bool is_read_directly(Kind kind, std::string_view raw);
// The same when `raw` is already parsed.
Result<TypedObject> decode_typed(Kind kind, RawPtr raw, const Json& document, Text text = Text::Keep);

}  // namespace berth::api
