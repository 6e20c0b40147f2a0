#include "placement/plugins/device_facts.h"

#include "api/types/taint_rule.h"
#include "dra/allocator.h"
#include "placement/plugins/extended_resources.h"

namespace berth::placement::plugins {
namespace {

constexpr std::string_view kAnyDriver = "*";
constexpr std::uint32_t kEventsOfDevices = kEventSliceChanged | kEventClaimChanged;

FactId devices_of(std::string_view driver) {
  return fact_id({"devices of", driver});
}
FactId class_changed(std::string_view name) {
  return fact_id({"device class", name});
}
FactId class_serves(std::string_view resource) {
  return fact_id({"class serves", resource});
}
FactId node_of_devices() {
  return fact_id({"node of devices"});
}

void add_request(const SchedulingContext& context, const api::DeviceSubRequest& request, PodHints& hints) {
  hints.add(kEventClassChanged, {{class_changed(request.device_class)}});
  const auto found = context.cluster.classes().find(request.device_class);
  const std::optional<std::string> driver = found == context.cluster.classes().end()
                                                ? std::nullopt
                                                : context.allocator.driver_of(*found->second, request);
  hints.add(kEventsOfDevices, {{devices_of(driver ? *driver : kAnyDriver)}});
}

template <class Visit>
void for_each_served(const api::Pod& pod, Visit visit) {
  for (const auto* containers : {&pod.containers, &pod.init_containers})
    for (const api::Container& container : *containers)
      for (const auto& [resource, amount] : container.requests)
        if (resource.find('/') != std::string::npos) visit(resource);
}

// Of devices that changed or came free, whoever waits for those of any driver is helped, too.
void add_devices(std::string_view driver, ChangeFacts& facts) {
  facts.add(devices_of(driver));
  facts.add(devices_of(kAnyDriver));
}

void add_class(const api::DeviceClass& device_class, ChangeFacts& facts) {
  facts.add(class_changed(device_class.meta.name));
  facts.add(class_serves(implicit_resource(device_class.meta.name)));
  if (!device_class.extended_resource.empty()) facts.add(class_serves(device_class.extended_resource));
}

// visit(object) for both sides of a change of T's kind.
template <class T, class Visit>
void for_both(const client::Delta& delta, Visit visit) {
  for (const auto* side : {&delta.before, &delta.after})
    if (const T* object = client::object_of<T>(*side)) visit(*object);
}

}  // namespace

void add_class_hints(const api::Pod& pod, PodHints& hints) {
  for_each_served(
      pod, [&](const std::string& resource) { hints.add(kEventClassChanged, {{class_serves(resource)}}); });
}

void add_node_hints(PodHints& hints) {
  hints.add(kEventNodeAdded | kEventNodeChanged, {{node_of_devices()}});
}

void add_device_hints(const SchedulingContext& context, const api::Pod& pod, PodHints& hints) {
  const model::Cluster& cluster = context.cluster;
  add_class_hints(pod, hints);
  for_each_served(pod, [&](const std::string& resource) {
    const auto served_by = class_of(cluster, resource);
    if (!served_by) return;
    api::DeviceSubRequest request;
    request.device_class = served_by->meta.name;
    add_request(context, request, hints);
  });
  for (const api::PodClaim& named : pod.claims) {
    const api::ResourceClaim* claim =
        context.view.claims.find(pod.meta.ns, api::claim_object_name(pod, named));
    if (!claim) continue;  // its pods are tried when it appears
    // Another claim may have the same device.
    if (claim->allocation)
      for (const api::DeviceResult& result : claim->allocation->results)
        hints.add(kEventsOfDevices, {{devices_of(result.driver)}});
    for (const api::DeviceRequest& request : claim->requests)
      for (const api::DeviceSubRequest& one : request.alternatives) add_request(context, one, hints);
  }
}

void add_device_facts(const ClusterChange& change, ChangeFacts& facts) {
  const api::Node *before = change.node_before, *after = change.node_after;
  if (after && (!before || change.labels_changed() || before->declared_features != after->declared_features))
    facts.add(node_of_devices());
  if (change.given_up)
    for (const api::DeviceResult& result : change.given_up->results) add_devices(result.driver, facts);
  if (!change.object) return;
  const client::Delta& delta = *change.object;
  if (delta.key.kind == api::Kind::ResourceSlice)
    for_both<api::ResourceSlice>(delta, [&](const auto& slice) { add_devices(slice.driver, facts); });
  if (delta.key.kind == api::Kind::DeviceClass)
    for_both<api::DeviceClass>(delta, [&](const auto& one) { add_class(one, facts); });
  if (delta.key.kind != api::Kind::DeviceTaintRule) return;
  for_both<api::DeviceTaintRule>(delta,
                                 [&](const api::DeviceTaintRule& rule) { add_devices(rule.driver, facts); });
}

}  // namespace berth::placement::plugins
