#include "api/type_table_rows.h"

namespace berth::api {
namespace {

constexpr TypeName kNoMessage = {};

constexpr FieldInfo field(std::string_view json, std::string_view go_type, ValueKind kind, Shape shape,
                          unsigned flags, std::string_view gate = {}, std::string_view key = {}) {
  return {json,
          go_type,
          (flags & kPatchMerge) ? key : std::string_view(),
          key,
          gate,
          kNoType,
          0,
          {0, 0},
          kind,
          shape,
          shape != Shape::List ? ListType::None : (key.empty() ? ListType::Atomic : ListType::Map),
          static_cast<std::uint16_t>(flags)};
}

constexpr std::string_view kVersion = "v1alpha1";
constexpr TypeName kMeta = {"meta.k8s.io", "v1", "ObjectMeta"};
constexpr TypeName kListMeta = {"meta.k8s.io", "v1", "ListMeta"};
constexpr TypeName kCondition = {"meta.k8s.io", "v1", "Condition"};
constexpr TypeName kAllocation = {"resource.k8s.io", "v1", "AllocationResult"};
constexpr TypeName kResourceStatus = {"", "v1", "ResourceStatus"};
constexpr TypeName kNodeAllocatable = {"", "v1", "NodeAllocatableResourceClaimStatus"};
constexpr TypeName own(std::string_view name) {
  return {kBerthGroup, kVersion, name};
}
// scheduling.k8s.io as 1.36 had it, with the parts that 1.37 kept.
constexpr TypeName groups_of_1_36(std::string_view name) {
  return {"scheduling.k8s.io", "v1alpha2", name};
}
constexpr TypeName groups_of_1_37(std::string_view name) {
  return {"scheduling.k8s.io", "v1alpha3", name};
}
constexpr TypeName kGroup36 = groups_of_1_36("PodGroup");
constexpr TypeName kGroupList36 = groups_of_1_36("PodGroupList");
constexpr TypeName kGroupSpec36 = groups_of_1_36("PodGroupSpec");
constexpr TypeName kTemplateRef36 = groups_of_1_36("PodGroupTemplateReference");
constexpr TypeName kWorkloadRef36 = groups_of_1_36("WorkloadPodGroupTemplateReference");
constexpr TypeName kTemplate36 = groups_of_1_36("PodGroupTemplate");
constexpr TypeName kWorkload36 = groups_of_1_36("Workload");
constexpr TypeName kWorkloadList36 = groups_of_1_36("WorkloadList");
constexpr TypeName kWorkloadSpec36 = groups_of_1_36("WorkloadSpec");
constexpr TypeName older(std::string_view name) {
  return {"meta.k8s.io", "v1beta1", name};
}
constexpr TypeName kRequest = own("BindRequest");
constexpr TypeName kList = own("BindRequestList");
constexpr TypeName kSpec = own("BindRequestSpec");
constexpr TypeName kBindGroup = own("BindGroup");
constexpr TypeName kGroupRoot = own("GroupRoot");
constexpr TypeName kBindLease = own("BindRequestLease");
constexpr TypeName kGpu = own("ReceivedGPU");
constexpr TypeName kClaim = own("ResourceClaimAllocation");
constexpr TypeName kVolumeBinding = own("VolumeBinding");
constexpr TypeName kExtended = own("ExtendedResourceClaim");
constexpr TypeName kDeviceRequest = {"resource.k8s.io", "v1", "DeviceRequest"};
constexpr TypeName kMapping = {"", "v1", "ContainerExtendedResourceRequest"};
constexpr TypeName kStatus = own("BindRequestStatus");
constexpr TypeName kClaimStep = own("ClaimProgress");

constexpr TypeName kPolicy = own("DeviceHealthPolicy");
constexpr TypeName kPolicyList = own("DeviceHealthPolicyList");
constexpr TypeName kPolicySpec = own("DeviceHealthPolicySpec");
constexpr TypeName kBudgets = own("DeviceHealthBudgets");
constexpr TypeName kPolicyStatus = own("DeviceHealthPolicyStatus");

constexpr TypeName kNodeHealth = own("NodeDeviceHealth");
constexpr TypeName kNodeHealthList = own("NodeDeviceHealthList");
constexpr TypeName kNodeHealthSpec = own("NodeDeviceHealthSpec");
constexpr TypeName kReportedDevice = own("ReportedDevice");
constexpr TypeName kSilentDriver = own("SilentDriver");

constexpr TypeName kTopology = own("Topology");
constexpr TypeName kTopologyList = own("TopologyList");
constexpr TypeName kTopologySpec = own("TopologySpec");
constexpr TypeName kTopologyLevel = own("TopologyLevel");
constexpr TypeName kTopologyStatus = own("TopologyStatus");
constexpr TypeName kLevelCount = own("TopologyLevelCount");

constexpr TypeName kWishes = own("PlacementPolicy");
constexpr TypeName kWishesList = own("PlacementPolicyList");
constexpr TypeName kWishesSpec = own("PlacementPolicySpec");
constexpr TypeName kTarget = own("PlacementTarget");
constexpr TypeName kSegments = own("PlacementSegments");
constexpr TypeName kSegmentSize = own("SegmentSize");
constexpr TypeName kSameDevices = own("SameDevices");
constexpr TypeName kWishesStatus = own("PlacementPolicyStatus");
constexpr TypeName kPlacedGroup = own("PlacedGroup");

constexpr FieldInfo text(std::string_view json, unsigned flags = kOmitEmpty | kOptional) {
  return field(json, "string", ValueKind::String, Shape::One, flags);
}
constexpr FieldInfo flag(std::string_view json) {
  return field(json, "bool", ValueKind::Bool, Shape::One, kOmitEmpty | kOptional);
}
constexpr FieldInfo number(std::string_view json, unsigned flags = kOmitEmpty | kOptional) {
  return field(json, "int32", ValueKind::Int32, Shape::One, flags);
}
constexpr FieldInfo texts(std::string_view json) {
  return field(json, "[]string", ValueKind::String, Shape::List, kOmitEmpty | kOptional);
}
constexpr FieldInfo long_number(std::string_view json, unsigned flags = kOmitEmpty | kOptional) {
  return field(json, "int64", ValueKind::Int64, Shape::One, flags);
}
constexpr FieldInfo time(std::string_view json) {
  return field(json, "v1.Time", ValueKind::Time, Shape::One, kPointer | kOmitEmpty | kOptional);
}
constexpr FieldInfo part(std::string_view json, std::string_view go_type, unsigned flags = kOmitEmpty) {
  return field(json, go_type, ValueKind::Message, Shape::One, flags);
}
constexpr FieldInfo parts(std::string_view json, std::string_view go_type, std::string_view key,
                          std::string_view gate = {}, unsigned flags = kOmitEmpty | kOptional) {
  return field(json, go_type, ValueKind::Message, Shape::List, flags, gate, key);
}

// Of a member in a message of Kubernetes. Its own numbers are small, and readers skip those that they do not
// know: these go between Berth's parts alone.
constexpr std::uint16_t kAddedNumber = 50001;
constexpr FieldInfo numbered(FieldInfo field, std::uint16_t number) {
  field.proto = number;
  return field;
}

constexpr std::string_view kSnapshotGate = "BerthCompatibilityGroupSnapshot";
constexpr std::string_view kHealthGate = "BerthPodLevelHealth";
constexpr std::string_view kLevelGate = "BerthTopologyConstraintLevel";

// KEP-5963: the groups of a device when it was allocated, by counter set.
constexpr OverlayRow snapshot(std::string_view version) {
  return {{"resource.k8s.io", version, "DeviceRequestAllocationResult"},
          0,
          numbered(field("compatibilityGroups", "map[string][]string", ValueKind::String, Shape::MapOfLists,
                         kOmitEmpty | kOptional, kSnapshotGate),
                   kAddedNumber),
          kNoMessage};
}

// KEP-5732: the first form of the topology constraint.
constexpr OverlayRow levels(std::string_view version, std::string_view owner) {
  return {{"scheduling.k8s.io", version, owner},
          0,
          numbered(parts("topologyConstraints", "[]v1alpha1.TopologyConstraintLevel", "", kLevelGate),
                   kAddedNumber),
          own("TopologyConstraintLevel")};
}

// A member of a PodGroup's spec, and of a template, under its number in the protobuf of 1.36.
constexpr OverlayRow shared36(TypeName owner, FieldInfo member, std::uint16_t number,
                              TypeName message = kNoMessage) {
  return {owner, 0, numbered(member, number), message};
}
constexpr OverlayRow policy36(TypeName owner) {
  return shared36(owner, part("schedulingPolicy", "v1alpha2.PodGroupSchedulingPolicy", 0), 2,
                  groups_of_1_37("PodGroupSchedulingPolicy"));
}
constexpr OverlayRow constraints36(TypeName owner) {
  return shared36(owner,
                  field("schedulingConstraints", "v1alpha2.PodGroupSchedulingConstraints", ValueKind::Message,
                        Shape::One, kPointer | kOmitEmpty | kOptional, "TopologyAwareWorkloadScheduling"),
                  3, groups_of_1_37("PodGroupSchedulingConstraints"));
}
constexpr OverlayRow claims36(TypeName owner) {
  return shared36(owner,
                  parts("resourceClaims", "[]v1alpha2.PodGroupResourceClaim", "name",
                        "DRAWorkloadResourceClaims", kOmitEmpty | kOptional | kPatchMerge | kPatchRetainKeys),
                  4, groups_of_1_37("PodGroupResourceClaim"));
}
constexpr OverlayRow disruption36(TypeName owner) {
  return shared36(owner,
                  field("disruptionMode", "v1alpha2.DisruptionMode", ValueKind::String, Shape::One,
                        kPointer | kOmitEmpty | kOptional),
                  5);
}

constexpr OverlayRow kRows[] = {
    snapshot("v1"),
    snapshot("v1beta1"),
    snapshot("v1beta2"),
    // KEP-4680, alpha2: health of devices that belong to the pod and to no container.
    {{"", "v1", "PodStatus"},
     0,
     numbered(parts("allocatedResourcesStatus", "[]v1.ResourceStatus", "name", kHealthGate,
                    kOmitEmpty | kOptional | kPatchMerge),
              kAddedNumber),
     kResourceStatus},
    // Metadata alone in its older version, whose list has the numbers the other way round.
    {older("PartialObjectMetadata"), kTopLevel, text("kind"), kNoMessage},
    {older("PartialObjectMetadata"), 0, text("apiVersion"), kNoMessage},
    {older("PartialObjectMetadata"), 0, numbered(part("metadata", "v1.ObjectMeta"), 1), kMeta},
    {older("PartialObjectMetadataList"), kTopLevel, text("kind"), kNoMessage},
    {older("PartialObjectMetadataList"), 0, text("apiVersion"), kNoMessage},
    {older("PartialObjectMetadataList"), 0, numbered(part("metadata", "v1.ListMeta"), 2), kListMeta},
    {older("PartialObjectMetadataList"), 0,
     numbered(parts("items", "[]v1.PartialObjectMetadata", "", "", 0), 1), older("PartialObjectMetadata")},

    {own("TopologyConstraintLevel"), 0, numbered(text("level", 0), 1), kNoMessage},
    levels("v1alpha3", "PodGroupSchedulingConstraints"),
    levels("v1alpha3", "WorkloadPodGroupSchedulingConstraints"),
    levels("v1alpha3", "CompositePodGroupSchedulingConstraints"),
    levels("v1beta1", "PodGroupSchedulingConstraints"),
    levels("v1beta1", "WorkloadPodGroupSchedulingConstraints"),
    levels("v1beta1", "CompositePodGroupSchedulingConstraints"),

    {kGroup36, kTopLevel | kHasClient, text("kind"), kNoMessage},
    {kGroup36, 0, text("apiVersion"), kNoMessage},
    {kGroup36, 0, numbered(part("metadata", "v1.ObjectMeta"), 1), kMeta},
    {kGroup36, 0, numbered(part("spec", "v1alpha2.PodGroupSpec", 0), 2), kGroupSpec36},
    {kGroup36, 0, numbered(part("status", "v1alpha2.PodGroupStatus", kOmitEmpty | kOptional), 3),
     groups_of_1_37("PodGroupStatus")},
    {kGroupList36, kTopLevel, text("kind"), kNoMessage},
    {kGroupList36, 0, text("apiVersion"), kNoMessage},
    {kGroupList36, 0, numbered(part("metadata", "v1.ListMeta"), 1), kListMeta},
    {kGroupList36, 0, numbered(parts("items", "[]v1alpha2.PodGroup", "", "", 0), 2), kGroup36},
    {kGroupSpec36, 0,
     numbered(part("podGroupTemplateRef", "v1alpha2.PodGroupTemplateReference", kPointer), 1),
     kTemplateRef36},
    policy36(kGroupSpec36),
    constraints36(kGroupSpec36),
    claims36(kGroupSpec36),
    disruption36(kGroupSpec36),
    shared36(kGroupSpec36, text("priorityClassName"), 6),
    shared36(kGroupSpec36, number("priority", kPointer | kOmitEmpty | kOptional), 7),
    {kTemplateRef36, 0, numbered(part("workload", "v1alpha2.WorkloadPodGroupTemplateReference", kPointer), 1),
     kWorkloadRef36},
    {kWorkloadRef36, 0, numbered(text("workloadName", 0), 1), kNoMessage},
    {kWorkloadRef36, 0, numbered(text("podGroupTemplateName", 0), 2), kNoMessage},
    {kWorkload36, kTopLevel | kHasClient, text("kind"), kNoMessage},
    {kWorkload36, 0, text("apiVersion"), kNoMessage},
    {kWorkload36, 0, numbered(part("metadata", "v1.ObjectMeta"), 1), kMeta},
    {kWorkload36, 0, numbered(part("spec", "v1alpha2.WorkloadSpec", 0), 2), kWorkloadSpec36},
    {kWorkloadList36, kTopLevel, text("kind"), kNoMessage},
    {kWorkloadList36, 0, text("apiVersion"), kNoMessage},
    {kWorkloadList36, 0, numbered(part("metadata", "v1.ListMeta"), 1), kListMeta},
    {kWorkloadList36, 0, numbered(parts("items", "[]v1alpha2.Workload", "", "", 0), 2), kWorkload36},
    {kWorkloadSpec36, 0,
     numbered(part("controllerRef", "v1alpha2.TypedLocalObjectReference", kPointer | kOmitEmpty | kOptional),
              1),
     groups_of_1_37("TypedLocalObjectReference")},
    {kWorkloadSpec36, 0,
     numbered(parts("podGroupTemplates", "[]v1alpha2.PodGroupTemplate", "name", "", kOptional), 2),
     kTemplate36},
    {kTemplate36, 0, numbered(text("name", 0), 1), kNoMessage},
    policy36(kTemplate36),
    constraints36(kTemplate36),
    claims36(kTemplate36),
    disruption36(kTemplate36),
    shared36(kTemplate36, text("priorityClassName"), 6),
    shared36(kTemplate36, number("priority", kPointer | kOmitEmpty | kOptional), 7),

    {kRequest, kTopLevel | kHasClient, text("kind"), kNoMessage},
    {kRequest, 0, text("apiVersion"), kNoMessage},
    {kRequest, 0, part("metadata", "v1.ObjectMeta"), kMeta},
    {kRequest, 0, part("spec", "v1alpha1.BindRequestSpec"), kSpec},
    {kRequest, 0, part("status", "v1alpha1.BindRequestStatus", kOmitEmpty | kOmitZero), kStatus},
    {kList, kTopLevel, text("kind"), kNoMessage},
    {kList, 0, text("apiVersion"), kNoMessage},
    {kList, 0, part("metadata", "v1.ListMeta"), kListMeta},
    {kList, 0, parts("items", "[]v1alpha1.BindRequest", "", "", 0), kRequest},

    {kSpec, 0, text("podName", 0), kNoMessage},
    {kSpec, 0, text("podUID", 0), kNoMessage},
    {kSpec, 0, text("selectedNode", 0), kNoMessage},
    {kSpec, 0, part("group", "v1alpha1.BindGroup", kPointer | kOmitEmpty | kOptional), kBindGroup},
    {kSpec, 0, text("decisionID"), kNoMessage},
    {kSpec, 0, flag("withdrawn"), kNoMessage},
    {kSpec, 0, text("schedulerName"), kNoMessage},
    {kSpec, 0, long_number("epoch"), kNoMessage},
    {kSpec, 0, part("lease", "v1alpha1.BindRequestLease", kPointer | kOmitEmpty | kOptional), kBindLease},
    {kSpec, 0, time("deadline"), kNoMessage},
    {kSpec, 0, text("receivedResourceType"), kNoMessage},
    {kSpec, 0, part("receivedGPU", "v1alpha1.ReceivedGPU", kPointer | kOmitEmpty | kOptional), kGpu},
    {kSpec, 0, texts("selectedGPUGroups"), kNoMessage},
    {kSpec, 0, parts("resourceClaimAllocations", "[]v1alpha1.ResourceClaimAllocation", "name"), kClaim},
    {kSpec, 0,
     part("extendedResourceClaim", "v1alpha1.ExtendedResourceClaim", kPointer | kOmitEmpty | kOptional),
     kExtended},
    {kSpec, 0, parts("volumeBindings", "[]v1alpha1.VolumeBinding", "claimName"), kVolumeBinding},
    {kSpec, 0,
     parts("nodeAllocatableResourceClaimStatuses", "[]v1.NodeAllocatableResourceClaimStatus",
           "resourceClaimName"),
     kNodeAllocatable},
    {kSpec, 0, number("backoffLimit", kPointer | kOmitEmpty | kOptional), kNoMessage},
    // Specs of the same type: a table of types cannot refer to itself.
    {kSpec, 0,
     field("members", "[]runtime.RawExtension", ValueKind::RawJson, Shape::List, kOmitEmpty | kOptional),
     kNoMessage},
    {kBindGroup, 0, text("name", 0), kNoMessage},
    {kBindGroup, 0, text("uid"), kNoMessage},
    {kBindGroup, 0, number("size", 0), kNoMessage},
    {kBindGroup, 0, part("root", "v1alpha1.GroupRoot", kPointer | kOmitEmpty | kOptional), kGroupRoot},
    {kBindGroup, 0, text("domain"), kNoMessage},
    {kGroupRoot, 0, text("name", 0), kNoMessage},
    {kGroupRoot, 0, text("uid"), kNoMessage},
    {kBindLease, 0, text("namespace", 0), kNoMessage},
    {kBindLease, 0, text("name", 0), kNoMessage},
    {kBindLease, 0, text("uid", 0), kNoMessage},
    {kGpu, 0, number("count"), kNoMessage},
    {kGpu, 0, text("portion"), kNoMessage},
    {kClaim, 0, text("name", 0), kNoMessage},
    {kClaim, 0, text("claimName"), kNoMessage},
    {kClaim, 0, text("claimUID"), kNoMessage},
    {kClaim, 0, part("allocation", "v1.AllocationResult", kPointer | kOmitEmpty | kOptional), kAllocation},
    {kVolumeBinding, 0, text("claimName", 0), kNoMessage},
    {kVolumeBinding, 0, text("claimUID"), kNoMessage},
    {kVolumeBinding, 0, text("volumeName"), kNoMessage},
    {kExtended, 0, text("claimName", 0), kNoMessage},
    {kExtended, 0, parts("requests", "[]v1.DeviceRequest", ""), kDeviceRequest},
    {kExtended, 0, parts("requestMappings", "[]v1.ContainerExtendedResourceRequest", ""), kMapping},
    {kExtended, 0, part("allocation", "v1.AllocationResult", kPointer | kOmitEmpty | kOptional), kAllocation},

    {kStatus, 0, text("phase"), kNoMessage},
    {kStatus, 0, text("decisionID"), kNoMessage},
    {kStatus, 0, text("step"), kNoMessage},
    {kStatus, 0, text("reason"), kNoMessage},
    {kStatus, 0, text("message"), kNoMessage},
    {kStatus, 0, number("failedAttempts"), kNoMessage},
    {kStatus, 0, time("nextAttemptTime"), kNoMessage},
    {kStatus, 0, flag("terminal"), kNoMessage},
    {kStatus, 0, text("failureClass"), kNoMessage},
    {kStatus, 0, flag("committed"), kNoMessage},
    {kStatus, 0, parts("claims", "[]v1alpha1.ClaimProgress", "name"), kClaimStep},
    {kStatus, 0, long_number("observedGeneration"), kNoMessage},
    {kStatus, 0, parts("conditions", "[]v1.Condition", "type"), kCondition},
    {kClaimStep, 0, text("name", 0), kNoMessage},
    {kClaimStep, 0, flag("finalizerAdded"), kNoMessage},
    {kClaimStep, 0, flag("allocated"), kNoMessage},
    {kClaimStep, 0, flag("reserved"), kNoMessage},

    {kPolicy, kTopLevel | kHasClient | kClusterScoped, text("kind"), kNoMessage},
    {kPolicy, 0, text("apiVersion"), kNoMessage},
    {kPolicy, 0, part("metadata", "v1.ObjectMeta"), kMeta},
    {kPolicy, 0, part("spec", "v1alpha1.DeviceHealthPolicySpec"), kPolicySpec},
    {kPolicy, 0, part("status", "v1alpha1.DeviceHealthPolicyStatus", kOmitEmpty | kOmitZero), kPolicyStatus},
    {kPolicyList, kTopLevel, text("kind"), kNoMessage},
    {kPolicyList, 0, text("apiVersion"), kNoMessage},
    {kPolicyList, 0, part("metadata", "v1.ListMeta"), kListMeta},
    {kPolicyList, 0, parts("items", "[]v1alpha1.DeviceHealthPolicy", "", "", 0), kPolicy},
    {kPolicySpec, 0, text("driver", 0), kNoMessage},
    {kPolicySpec, 0, text("health"), kNoMessage},
    {kPolicySpec, 0, text("messagePattern"), kNoMessage},
    {kPolicySpec, 0, text("holdFor"), kNoMessage},
    {kPolicySpec, 0, text("recoverAfter"), kNoMessage},
    {kPolicySpec, 0, text("effect", 0), kNoMessage},
    {kPolicySpec, 0, flag("evictUnknown"), kNoMessage},
    {kPolicySpec, 0, part("budgets", "v1alpha1.DeviceHealthBudgets", kPointer | kOmitEmpty | kOptional),
     kBudgets},
    {kBudgets, 0, number("node", kPointer | kOmitEmpty | kOptional), kNoMessage},
    {kBudgets, 0, number("rack", kPointer | kOmitEmpty | kOptional), kNoMessage},
    {kBudgets, 0, number("cluster", kPointer | kOmitEmpty | kOptional), kNoMessage},
    {kBudgets, 0, text("rackLabel"), kNoMessage},
    {kPolicyStatus, 0, number("matchingDevices"), kNoMessage},
    {kPolicyStatus, 0, number("taintedDevices"), kNoMessage},
    {kPolicyStatus, 0, number("devicesOverBudget"), kNoMessage},

    {kNodeHealth, kTopLevel | kHasClient | kClusterScoped, text("kind"), kNoMessage},
    {kNodeHealth, 0, text("apiVersion"), kNoMessage},
    {kNodeHealth, 0, part("metadata", "v1.ObjectMeta"), kMeta},
    {kNodeHealth, 0, part("spec", "v1alpha1.NodeDeviceHealthSpec"), kNodeHealthSpec},
    {kNodeHealthList, kTopLevel, text("kind"), kNoMessage},
    {kNodeHealthList, 0, text("apiVersion"), kNoMessage},
    {kNodeHealthList, 0, part("metadata", "v1.ListMeta"), kListMeta},
    {kNodeHealthList, 0, parts("items", "[]v1alpha1.NodeDeviceHealth", "", "", 0), kNodeHealth},
    {kNodeHealthSpec, 0, time("observed"), kNoMessage},
    {kNodeHealthSpec, 0, number("healthy", 0), kNoMessage},
    {kNodeHealthSpec, 0, number("unhealthy", 0), kNoMessage},
    {kNodeHealthSpec, 0, number("unknown", 0), kNoMessage},
    {kNodeHealthSpec, 0, number("omitted"), kNoMessage},
    {kNodeHealthSpec, 0, parts("devices", "[]v1alpha1.ReportedDevice", ""), kReportedDevice},
    {kNodeHealthSpec, 0, parts("silentDrivers", "[]v1alpha1.SilentDriver", ""), kSilentDriver},
    {kReportedDevice, 0, text("driver", 0), kNoMessage},
    {kReportedDevice, 0, text("pool", 0), kNoMessage},
    {kReportedDevice, 0, text("device", 0), kNoMessage},
    {kReportedDevice, 0, text("health", 0), kNoMessage},
    {kReportedDevice, 0, text("message"), kNoMessage},
    {kReportedDevice, 0, time("since"), kNoMessage},
    {kSilentDriver, 0, text("driver", 0), kNoMessage},
    {kSilentDriver, 0, text("reason", 0), kNoMessage},

    {kTopology, kTopLevel | kHasClient | kClusterScoped, text("kind"), kNoMessage},
    {kTopology, 0, text("apiVersion"), kNoMessage},
    {kTopology, 0, part("metadata", "v1.ObjectMeta"), kMeta},
    {kTopology, 0, part("spec", "v1alpha1.TopologySpec"), kTopologySpec},
    {kTopology, 0, part("status", "v1alpha1.TopologyStatus", kOmitEmpty | kOmitZero), kTopologyStatus},
    {kTopologyList, kTopLevel, text("kind"), kNoMessage},
    {kTopologyList, 0, text("apiVersion"), kNoMessage},
    {kTopologyList, 0, part("metadata", "v1.ListMeta"), kListMeta},
    {kTopologyList, 0, parts("items", "[]v1alpha1.Topology", "", "", 0), kTopology},
    {kTopologySpec, 0, parts("levels", "[]v1alpha1.TopologyLevel", "", "", 0), kTopologyLevel},
    {kTopologyLevel, 0, text("name", 0), kNoMessage},
    {kTopologyLevel, 0, text("nodeLabel", 0), kNoMessage},
    {kTopologyStatus, 0, long_number("observedGeneration"), kNoMessage},
    {kTopologyStatus, 0, text("path"), kNoMessage},
    {kTopologyStatus, 0, parts("levels", "[]v1alpha1.TopologyLevelCount", "name"), kLevelCount},
    {kTopologyStatus, 0, number("nodes"), kNoMessage},
    {kTopologyStatus, 0, number("unlabelledNodes"), kNoMessage},
    {kTopologyStatus, 0, parts("conditions", "[]v1.Condition", "type"), kCondition},
    {kLevelCount, 0, text("name", 0), kNoMessage},
    {kLevelCount, 0, number("domains", 0), kNoMessage},

    {kWishes, kTopLevel | kHasClient, text("kind"), kNoMessage},
    {kWishes, 0, text("apiVersion"), kNoMessage},
    {kWishes, 0, part("metadata", "v1.ObjectMeta"), kMeta},
    {kWishes, 0, part("spec", "v1alpha1.PlacementPolicySpec"), kWishesSpec},
    {kWishes, 0, part("status", "v1alpha1.PlacementPolicyStatus", kOmitEmpty | kOmitZero), kWishesStatus},
    {kWishesList, kTopLevel, text("kind"), kNoMessage},
    {kWishesList, 0, text("apiVersion"), kNoMessage},
    {kWishesList, 0, part("metadata", "v1.ListMeta"), kListMeta},
    {kWishesList, 0, parts("items", "[]v1alpha1.PlacementPolicy", "", "", 0), kWishes},
    {kWishesSpec, 0, part("targetRef", "v1alpha1.PlacementTarget", 0), kTarget},
    {kWishesSpec, 0, text("topology"), kNoMessage},
    {kWishesSpec, 0, text("required"), kNoMessage},
    {kWishesSpec, 0, texts("preferred"), kNoMessage},
    {kWishesSpec, 0, part("segments", "v1alpha1.PlacementSegments", kPointer | kOmitEmpty | kOptional),
     kSegments},
    {kWishesSpec, 0, text("distribution"), kNoMessage},
    {kWishesSpec, 0, text("ranks"), kNoMessage},
    {kWishesSpec, 0, part("sameDevices", "v1alpha1.SameDevices", kPointer | kOmitEmpty | kOptional),
     kSameDevices},
    {kWishesSpec, 0, text("replaceFailedNodes"), kNoMessage},
    {kWishesSpec, 0, text("whenNoSpare"), kNoMessage},
    {kTarget, 0, text("group"), kNoMessage},
    {kTarget, 0, text("kind", 0), kNoMessage},
    {kTarget, 0, text("name", 0), kNoMessage},
    {kSegments, 0, text("level", 0), kNoMessage},
    {kSegments, 0, part("size", "v1alpha1.SegmentSize", 0), kSegmentSize},
    {kSegmentSize, 0, number("min", kPointer | kOmitEmpty | kOptional), kNoMessage},
    {kSegmentSize, 0, number("max", kPointer | kOmitEmpty | kOptional), kNoMessage},
    {kSameDevices, 0, text("claim", 0), kNoMessage},
    {kSameDevices, 0, text("attribute", 0), kNoMessage},
    {kWishesStatus, 0, long_number("observedGeneration"), kNoMessage},
    {kWishesStatus, 0, text("wish"), kNoMessage},
    {kWishesStatus, 0, text("reached"), kNoMessage},
    {kWishesStatus, 0, text("pods"), kNoMessage},
    {kWishesStatus, 0, text("domain"), kNoMessage},
    {kWishesStatus, 0, parts("groups", "[]v1alpha1.PlacedGroup", ""), kPlacedGroup},
    {kWishesStatus, 0, number("omittedGroups"), kNoMessage},
    {kWishesStatus, 0, parts("conditions", "[]v1.Condition", "type"), kCondition},
    {kPlacedGroup, 0, text("kind", 0), kNoMessage},
    {kPlacedGroup, 0, text("name", 0), kNoMessage},
    {kPlacedGroup, 0, text("level"), kNoMessage},
    {kPlacedGroup, 0, texts("domains"), kNoMessage},
    {kPlacedGroup, 0, number("pods"), kNoMessage},
    {kPlacedGroup, 0, number("placedPods"), kNoMessage},
    {kPlacedGroup, 0, texts("sameValues"), kNoMessage},
    {kPlacedGroup, 0, field("score", "float64", ValueKind::Double, Shape::One, 0), kNoMessage},
    {kPlacedGroup, 0, text("message"), kNoMessage},
};

}  // namespace

std::span<const OverlayRow> overlay_rows() {
  return kRows;
}

}  // namespace berth::api
