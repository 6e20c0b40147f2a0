#include "sim/stored_state.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "api/evictions.h"
#include "api/types/group_domain.h"
#include "sim/storm_objects.h"

namespace berth::sim {
namespace {

constexpr std::string_view kClaimFinalizer = "resource.kubernetes.io/delete-protection";

std::string text(const Json& object, std::string_view key) {
  return std::string(object.string_at(key));
}

// "250m", "2" or "64Gi", in thousandths.
std::int64_t millis_of(std::string_view quantity) {
  const std::int64_t number = std::strtoll(std::string(quantity).c_str(), nullptr, 10);
  if (quantity.ends_with('m')) return number;
  constexpr std::int64_t kGi = std::int64_t{1} << 30;
  return number * 1000 * (quantity.ends_with("Gi") ? kGi : 1);
}

StoredAmounts amounts_of(const Json& members) {
  StoredAmounts amounts;
  if (!members.is_object()) return amounts;
  for (const JsonMember& member : members.as_object())
    amounts[member.key] =
        millis_of(member.value.is_object() ? member.value.string_at("value") : member.value.as_string());
  return amounts;
}

std::string in_namespace(const Json& meta, std::string_view name) {
  return local_name(meta.string_at("namespace"), name);
}
std::string name_of(const Json& meta) {
  return in_namespace(meta, meta.string_at("name"));
}

std::string device_key(const Json& result) {
  return text(result, "driver") + "/" + text(result, "pool") + "/" + text(result, "device");
}

std::vector<std::string> texts(const JsonArray& items) {
  std::vector<std::string> all;
  for (const Json& item : items) all.push_back(item.as_string());
  return all;
}

const Json* condition(const Json& status, std::string_view type) {
  for (const Json& entry : status.items_at("conditions"))
    if (entry.string_at("type") == type) return &entry;
  return nullptr;
}

StoredTaint read_taint(const Json& taint) {
  return {text(taint, "key"), text(taint, "value"), text(taint, "effect")};
}

StoredToleration read_toleration(const Json& toleration) {
  return {text(toleration, "key"), text(toleration, "value"), text(toleration, "effect"),
          toleration.string_at("operator") == "Exists"};
}

StoredWant read_want(const Json& asked, std::string name) {
  StoredWant want;
  want.name = std::move(name);
  want.device_class = text(asked, "deviceClassName");
  for (const Json& selector : asked.items_at("selectors"))
    want.selectors.push_back(text(selector.part("cel"), "expression"));
  want.count = asked.int_at("count", 1);
  want.all = asked.string_at("allocationMode") == "All";
  want.admin = asked.bool_at("adminAccess");
  for (const Json& toleration : asked.items_at("tolerations"))
    want.tolerations.push_back(read_toleration(toleration));
  want.capacity = amounts_of(asked.part("capacity").part("requests"));
  return want;
}

std::vector<StoredWant> read_wants(const Json& request) {
  std::vector<StoredWant> wants;
  if (const Json* exactly = request.find("exactly"))
    wants.push_back(read_want(*exactly, text(request, "name")));
  for (const Json& one : request.items_at("firstAvailable"))
    wants.push_back(read_want(one, text(request, "name") + "/" + text(one, "name")));
  return wants;
}

// One text per value, with its type, so that equal texts are equal values.
std::set<std::string> values_of(const Json& attribute) {
  std::set<std::string> values;
  if (!attribute.is_object()) return values;
  for (const JsonMember& member : attribute.as_object()) {
    const std::string type = member.key.substr(0, member.key.find_last_not_of('s') + 1);
    for (const Json& value : member.value.is_array() ? member.value.as_array() : JsonArray{member.value})
      values.insert(type + " " + (value.is_string() ? value.as_string() : to_string(value)));
  }
  return values;
}

void read_capacity(const Json& capacity, StoredDevice& device) {
  if (!capacity.is_object()) return;
  device.capacity = amounts_of(capacity);
  for (const JsonMember& member : capacity.as_object())
    if (const Json* policy = member.value.find("requestPolicy")) {
      const Json& range = policy->part("validRange");
      device.ranges[member.key] = {millis_of(policy->string_at("default")), millis_of(range.string_at("min")),
                                   millis_of(range.string_at("step")), millis_of(range.string_at("max"))};
    }
}

StoredDevice read_device(const Json& device, const std::string& pool, const std::string& node) {
  StoredDevice read;
  read.key = pool + "/" + text(device, "name");
  read.type = text(device.part("attributes").part("type"), "string");
  read.node = node;
  if (const Json* attributes = device.find("attributes"))
    for (const JsonMember& attribute : attributes->as_object())
      read.attributes[attribute.key] = values_of(attribute.value);
  read_capacity(device.part("capacity"), read);
  read.shared = device.bool_at("allowMultipleAllocations");
  read.binds = device.bool_at("bindsToNode");
  for (const Json& taint : device.items_at("taints")) read.taints.push_back(read_taint(taint));
  for (const Json& draw : device.items_at("consumesCounters")) {
    const Json& counters = draw.part("counters");
    if (!counters.is_object()) continue;
    for (const JsonMember& counter : counters.as_object()) {
      const std::vector<std::string> groups = texts(draw.items_at("compatibilityGroups"));
      read.draws.push_back({pool + "/" + text(draw, "counterSet"),
                            counter.key,
                            millis_of(counter.value.string_at("value")),
                            {groups.begin(), groups.end()}});
    }
  }
  return read;
}

bool matches(const Json& term, const StoredNode* node, const std::string& name) {
  for (const char* list : {"matchFields", "matchExpressions"})
    for (const Json& want : term.items_at(list)) {
      std::string value = name;
      if (std::string_view(list) == "matchExpressions") {
        if (!node) return false;
        const auto label = node->labels.find(text(want, "key"));
        if (label == node->labels.end()) return false;
        value = label->second;
      }
      const std::vector<std::string> values = texts(want.items_at("values"));
      if (std::find(values.begin(), values.end(), value) == values.end()) return false;
    }
  return true;
}

template <class Map>
void drop(Map& map, const std::string& key, const std::string& entry) {
  const auto found = map.find(key);
  if (found == map.end()) return;
  found->second.erase(entry);
  if (found->second.empty()) map.erase(found);
}

}  // namespace

std::string local_name(std::string_view ns, std::string_view name) {
  if (ns.empty() || ns == "default" || name.empty()) return std::string(name);
  return std::string(ns) + "/" + std::string(name);
}

std::vector<std::string> comma_list(std::string_view list) {
  std::vector<std::string> items;
  while (!list.empty()) {
    items.emplace_back(list.substr(0, list.find(',')));
    list.remove_prefix(std::min(list.size(), items.back().size() + 1));
  }
  return items;
}

// A reservation pod has its group and no share of it; the GPU that it asks for is that of the group.
void read_gpu_share(const Json& object, StoredPod& pod) {
  const Json& annotations = object.part("metadata").part("annotations");
  if (pod.name.starts_with(kReservationPods)) {
    pod.node_gpus = 0;
    pod.gpu_groups = {text(annotations, "scheduling.berth.dev/gpu-group")};
    for (const Json& container : object.part("status").items_at("containerStatuses"))
      for (const Json& given : container.items_at("allocatedResourcesStatus"))
        for (const Json& device : given.items_at("resources"))
          pod.gpu_devices.push_back(text(device, "resourceID"));
    return;
  }
  pod.share = std::lround(std::strtod(text(annotations, "gpu-fraction").c_str(), nullptr) * 100);
  if (pod.share == 0) return;
  const std::int64_t devices = millis_of(annotations.string_at("gpu-fraction-num-devices")) / 1000;
  pod.share_gpus = std::max<std::int64_t>(1, devices);
  pod.gpu_groups = comma_list(annotations.string_at("scheduling.berth.dev/gpu-groups"));
  pod.gpu_devices = comma_list(annotations.string_at("scheduling.berth.dev/gpu-devices"));
}

StoredPod read_pod(const Json& object) {
  const Json& meta = object.part("metadata");
  const Json& spec = object.part("spec");
  const Json& status = object.part("status");
  StoredPod pod{name_of(meta), text(meta, "uid"), text(spec, "nodeName"),
                in_namespace(meta, spec.part("schedulingGroup").string_at("podGroupName")),
                text(status, "phase")};
  pod.deleting = meta.find("deletionTimestamp") != nullptr;
  for (const Json& owner : meta.items_at("ownerReferences"))
    pod.of_set |= owner.string_at("kind") == "ReplicaSet" && owner.bool_at("controller");
  const Json* disruption = condition(status, api::kDisruptionTarget);
  const std::string_view reason = disruption ? disruption->string_at("reason") : "";
  pod.evicted = reason == api::kEvictionByEvictionApi;
  pod.preempted = reason == api::kPreemptionByScheduler;
  pod.domain = text(meta.part("annotations"), api::kGroupDomainAnnotation);
  pod.ends = meta.part("annotations").find("berth.dev/run-time") != nullptr;
  pod.priority = spec.int_at("priority");
  for (const Json& entry : spec.items_at("resourceClaims")) {
    std::string name = text(entry, "resourceClaimName");
    for (const Json& made : status.items_at("resourceClaimStatuses"))
      if (name.empty() && made.string_at("name") == entry.string_at("name"))
        name = text(made, "resourceClaimName");
    if (name.empty())
      pod.claims_known = false;
    else
      pod.claims.push_back(in_namespace(meta, name));
  }
  for (const Json& volume : spec.items_at("volumes"))
    if (const std::string claim = text(volume.part("persistentVolumeClaim"), "claimName"); !claim.empty())
      pod.volume_claims.push_back(in_namespace(meta, claim));
  for (const Json& container : spec.items_at("containers")) {
    const Json& requests = container.part("resources").part("requests");
    pod.cpu_millis += millis_of(requests.string_at("cpu"));
    pod.whole_gpus += millis_of(requests.string_at("example.com/whole")) / 1000;
    pod.node_gpus += millis_of(requests.string_at("nvidia.com/gpu")) / 1000;
  }
  read_gpu_share(object, pod);
  if (pod.whole_gpus > 0) {
    std::string name = text(status.part("extendedResourceClaimStatus"), "resourceClaimName");
    if (name.empty())
      pod.claims_known = false;
    else
      pod.claims.push_back(in_namespace(meta, name));
  }
  if (const Json* scheduled = condition(status, "PodScheduled")) {
    pod.scheduled = text(*scheduled, "status");
    pod.scheduled_reason = text(*scheduled, "reason");
    pod.scheduled_message = text(*scheduled, "message");
  }
  return pod;
}

StoredClaim read_claim(const Json& object) {
  const Json& meta = object.part("metadata");
  const Json& status = object.part("status");
  StoredClaim claim{name_of(meta), text(meta, "uid")};
  claim.deleting = meta.find("deletionTimestamp") != nullptr;
  const std::vector<std::string> finalizers = texts(meta.items_at("finalizers"));
  claim.has_finalizer = std::find(finalizers.begin(), finalizers.end(), kClaimFinalizer) != finalizers.end();
  for (const Json& owner : meta.items_at("ownerReferences"))
    if (owner.string_at("kind") == "Pod") claim.owner_uid = text(owner, "uid");
  const Json& devices = object.part("spec").part("devices");
  for (const Json& request : devices.items_at("requests")) claim.requests.push_back(read_wants(request));
  for (const Json& constraint : devices.items_at("constraints"))
    claim.constraints.push_back({texts(constraint.items_at("requests")), text(constraint, "matchAttribute"),
                                 text(constraint, "distinctAttribute")});
  if (const Json* allocation = status.find("allocation"); allocation && allocation->is_object()) {
    claim.allocated = true;
    for (const Json& result : allocation->part("devices").items_at("results"))
      claim.results.push_back({text(result, "request"), device_key(result), result.bool_at("adminAccess"),
                               result.find("shareID") != nullptr, amounts_of(result.part("consumedCapacity")),
                               texts(result.items_at("bindingConditions")),
                               texts(result.items_at("bindingFailureConditions"))});
    claim.node_selector = allocation->part("nodeSelector");
  }
  for (const Json& consumer : status.items_at("reservedFor")) claim.reserved.insert(text(consumer, "uid"));
  for (const Json& device : status.items_at("devices"))
    for (const Json& entry : device.items_at("conditions"))
      if (entry.string_at("status") == "True") claim.true_[device_key(device)].insert(text(entry, "type"));
  return claim;
}

StoredRequest read_request(const Json& object) {
  const Json& spec = object.part("spec");
  const Json& status = object.part("status");
  const Json& meta = object.part("metadata");
  const bool of_this = status.string_at("decisionID") == spec.string_at("decisionID");
  return {name_of(meta),
          in_namespace(meta, spec.string_at("podName")),
          text(spec, "podUID"),
          text(spec, "selectedNode"),
          text(status, "phase"),
          text(status, "step"),
          text(spec, "decisionID"),
          spec.int_at("epoch"),
          of_this ? status.int_at("failedAttempts") : 0,
          spec.part("group").int_at("size"),
          of_this ? text(status, "nextAttemptTime") : "",
          text(spec.part("lease"), "uid"),
          text(spec.part("group").part("root"), "name")};
}

std::vector<std::string> members_of_record(const Json& object) {
  std::vector<std::string> uids;
  for (const Json& member : object.part("spec").items_at("members")) uids.push_back(text(member, "podUID"));
  return uids;
}

namespace {

// What PodGroups and CompositePodGroups have in common.
void read_common(const Json& object, std::string_view minimum, std::string_view scheduled_type,
                 StoredGroup& group) {
  const Json& spec = object.part("spec");
  group.name = name_of(object.part("metadata"));
  group.uid = text(object.part("metadata"), "uid");
  group.parent = text(spec, "parentCompositePodGroupName");
  group.priority = spec.int_at("priority");
  group.min = spec.part("schedulingPolicy").part("gang").int_at(minimum);
  for (const Json& constraint : spec.part("schedulingConstraints").items_at("topology"))
    group.key = text(constraint, "key");
  if (const Json* scheduled = condition(object.part("status"), scheduled_type)) {
    group.scheduled = text(*scheduled, "status");
    group.scheduled_message = text(*scheduled, "message");
  }
  const Json* decided = condition(object.part("status"), "scheduling.berth.dev/GangCommitted");
  if (decided && decided->string_at("status") == "True") group.committed = text(*decided, "message");
}

}  // namespace

StoredGroup read_group(const Json& object) {
  StoredGroup group;
  read_common(object, "minCount", "PodGroupInitiallyScheduled", group);
  return group;
}

StoredComposite read_composite(const Json& object) {
  StoredComposite group;
  read_common(object, "minGroupCount", "CompositePodGroupInitiallyScheduled", group);
  return group;
}

StoredNode read_node(const Json& object) {
  StoredNode node;
  node.name = text(object.part("metadata"), "name");
  if (const Json* labels = object.part("metadata").find("labels"))
    for (const JsonMember& label : labels->as_object()) node.labels[label.key] = label.value.as_string();
  const Json& offered = object.part("status").part("allocatable");
  node.cpu_millis = millis_of(offered.string_at("cpu"));
  node.pods = millis_of(offered.string_at("pods")) / 1000;
  node.gpus = millis_of(offered.string_at("nvidia.com/gpu")) / 1000;
  const Json* ready = condition(object.part("status"), "Ready");
  const bool is_ready = ready && ready->string_at("status") == "True";
  const Json& spec = object.part("spec");
  node.usable = is_ready && !spec.bool_at("unschedulable") && spec.items_at("taints").empty();
  node.failed = !is_ready;
  for (const Json& taint : spec.items_at("taints")) node.failed |= taint.string_at("effect") == "NoExecute";
  return node;
}

StoredSlice read_slice(const Json& object) {
  const Json& spec = object.part("spec");
  const Json& pool = spec.part("pool");
  StoredSlice slice;
  slice.pool = text(spec, "driver") + "/" + text(pool, "name");
  slice.generation = pool.int_at("generation");
  slice.slices = pool.int_at("resourceSliceCount");
  for (const Json& device : spec.items_at("devices"))
    slice.devices.push_back(read_device(device, slice.pool, text(spec, "nodeName")));
  for (const Json& set : spec.items_at("sharedCounters")) {
    const Json& counters = set.part("counters");
    for (const JsonMember& counter : counters.as_object())
      slice.counters[slice.pool + "/" + text(set, "name") + " " + counter.key] =
          millis_of(counter.value.string_at("value"));
  }
  return slice;
}

std::vector<std::string> read_class(const Json& object) {
  std::vector<std::string> selectors;
  for (const Json& selector : object.part("spec").items_at("selectors"))
    selectors.push_back(text(selector.part("cel"), "expression"));
  return selectors;
}

StoredTaintRule read_taint_rule(const Json& object) {
  const Json& spec = object.part("spec");
  const Json& selector = spec.part("deviceSelector");
  return {text(selector, "driver"), text(selector, "pool"), text(selector, "device"),
          read_taint(spec.part("taint"))};
}

const StoredPod* StoredState::pod_by_uid(const std::string& uid) const {
  const auto name = pod_of_uid.find(uid);
  return name == pod_of_uid.end() ? nullptr : &pods.at(name->second);
}

bool StoredState::selects(const Json& node_selector, const std::string& node) const {
  const JsonArray& terms = node_selector.items_at("nodeSelectorTerms");
  const auto found = nodes.find(node);
  const StoredNode* of = found == nodes.end() ? nullptr : &found->second;
  return terms.empty() ||
         std::any_of(terms.begin(), terms.end(), [&](const Json& term) { return matches(term, of, node); });
}

std::size_t StoredState::step_of(const StoredRequest& request) const {
  constexpr std::size_t kReserving = 1, kBound = 5;
  const auto told = std::find(kStepNames.begin(), kStepNames.end(), request.step);
  if (told != kStepNames.end() && told != kStepNames.begin())
    return static_cast<std::size_t>(told - kStepNames.begin());
  const StoredPod* pod = pod_by_uid(request.pod_uid);
  if (!pod) return 0;
  if (!pod->node.empty()) return kBound;
  for (const std::string& name : pod->claims)
    if (const auto claim = claims.find(name); claim != claims.end() && claim->second.allocated)
      return kReserving;
  return 0;
}

bool StoredState::has_request(const StoredPod& pod) const {
  const auto names = requests_of_pod.find(pod.uid);
  if (names == requests_of_pod.end())
    return std::any_of(gang_records.begin(), gang_records.end(), [&](const auto& record) {
      return std::find(record.second.begin(), record.second.end(), pod.uid) != record.second.end();
    });
  return std::any_of(names->second.begin(), names->second.end(),
                     [&](const std::string& name) { return !requests.at(name).is_failing(); });
}

bool StoredState::is_entry_of(const StoredClaim& claim, const std::string& uid, const StoredPod& pod) const {
  if (uid == pod.uid) return true;
  const auto group = groups.find(pod.group);
  return group != groups.end() && group->second.uid == uid &&
         std::find(pod.claims.begin(), pod.claims.end(), claim.name) != pod.claims.end();
}

bool StoredState::has_reserved(const StoredClaim& claim, const StoredPod& pod) const {
  return std::any_of(claim.reserved.begin(), claim.reserved.end(),
                     [&](const std::string& uid) { return is_entry_of(claim, uid, pod); });
}

bool StoredState::is_held(const std::string& claim_name, const StoredPod& pod) const {
  const auto found = claims.find(claim_name);
  if (found == claims.end()) return false;
  const StoredClaim& claim = found->second;
  if (!claim.allocated || !has_reserved(claim, pod)) return false;
  for (const StoredResult& result : claim.results) {
    const auto conditions = claim.true_.find(result.device);
    for (const std::string& type : result.binding)
      if (conditions == claim.true_.end() || conditions->second.count(type) == 0) return false;
  }
  return true;
}

bool StoredState::is_prepared(const StoredPod& pod) const {
  // The claim for extended resources is created and reserved by the same steps as the others.
  return has_request(pod) && pod.claims_known &&
         std::all_of(pod.claims.begin(), pod.claims.end(),
                     [&](const std::string& claim) { return is_held(claim, pod); });
}

void StoredState::put_pod(StoredPod pod) {
  erase_pod(pod.name);
  pod_of_uid[pod.uid] = pod.name;
  if (!pod.group.empty()) members[pod.group].insert(pod.name);
  const std::string name = pod.name;
  pods.emplace(name, std::move(pod));
}

void StoredState::erase_pod(const std::string& name) {
  const auto found = pods.find(name);
  if (found == pods.end()) return;
  pod_of_uid.erase(found->second.uid);
  if (!found->second.group.empty()) drop(members, found->second.group, name);
  pods.erase(found);
}

void StoredState::put_claim(StoredClaim claim) {
  erase_claim(claim.name);
  for (const StoredResult& result : claim.results) {
    if (result.admin) continue;
    StoredHold& hold = holders[result.device][claim.name];
    hold.whole |= !result.share;
    for (const auto& [capacity, amount] : result.consumed) hold.consumed[capacity] += amount;
  }
  const std::string name = claim.name;
  claims.emplace(name, std::move(claim));
}

void StoredState::erase_claim(const std::string& name) {
  const auto found = claims.find(name);
  if (found == claims.end()) return;
  for (const StoredResult& result : found->second.results) drop(holders, result.device, name);
  claims.erase(found);
}

void StoredState::put_request(StoredRequest request) {
  erase_request(request.name);
  requests_of_pod[request.pod_uid].insert(request.name);
  const std::string name = request.name;
  requests.emplace(name, std::move(request));
}

void StoredState::erase_request(const std::string& name) {
  const auto found = requests.find(name);
  if (found == requests.end()) return;
  drop(requests_of_pod, found->second.pod_uid, name);
  requests.erase(found);
}

void StoredState::put_slice(const std::string& name, StoredSlice slice) {
  for (const StoredDevice& device : slice.devices) {
    catalog[device.key] = device;
    for (const StoredDraw& draw : device.draws) devices_of_set[draw.set].insert(device.key);
  }
  for (const auto& [counter, amount] : slice.counters) counters[counter] = amount;
  slices[name] = std::move(slice);
}

}  // namespace berth::sim
