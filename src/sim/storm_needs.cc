#include "sim/storm_needs.h"

#include <array>

#include "api/yaml.h"
#include "base/assert.h"

namespace berth::sim {
namespace {

// Devices of a kind are selected by their attribute `type`; `$type` stands for that attribute, `$of` for the
// attributes, `$holds` for the capacity of the driver.
constexpr std::string_view kNeeds = R"(
mig-1g:
  requests:
  - name: gpu
    exactly:
      deviceClassName: gpu.example.com
      selectors: [{cel: {expression: "$type == 'mig-1g'"}}]
mig-three:   # as much as one GPU gives: whatever a refused candidate had drawn must have been given back
  requests:
  - name: gpu
    exactly:
      deviceClassName: gpu.example.com
      count: 3
      selectors: [{cel: {expression: "$type == 'mig-1g'"}}]
mig-degraded:
  requests:
  - name: gpu
    exactly:
      deviceClassName: gpu.example.com
      selectors: [{cel: {expression: "$type == 'mig-1g'"}}]
      tolerations: [{key: example.com/degraded, operator: Exists}]
vgpu:
  requests:
  - name: gpu
    exactly:
      deviceClassName: gpu.example.com
      selectors: [{cel: {expression: "$type == 'vgpu'"}}]
whole-or-half:
  requests:
  - name: gpu
    firstAvailable:
    - {name: whole, deviceClassName: gpu.example.com, selectors: [{cel: {expression: "$type == 'whole'"}}]}
    - {name: half, deviceClassName: gpu.example.com, selectors: [{cel: {expression: "$type == 'vgpu'"}}]}
one-gpu:
  requests:
  - {name: gpu, exactly: {deviceClassName: whole-gpu.example.com}}
two-gpus:
  requests:
  - {name: gpu, exactly: {deviceClassName: whole-gpu.example.com, count: 2}}
two-or-one:
  requests:
  - name: gpu
    firstAvailable:
    - {name: two, deviceClassName: whole-gpu.example.com, count: 2}
    - {name: one, deviceClassName: whole-gpu.example.com}
model-b:
  requests:
  - name: gpu
    exactly:
      deviceClassName: whole-gpu.example.com
      selectors: [{cel: {expression: "$of.model == 'b'"}}]
large:
  requests:
  - name: gpu
    exactly:
      deviceClassName: whole-gpu.example.com
      selectors: [{cel: {expression: "$holds.memory.compareTo(quantity('60Gi')) >= 0"}}]
new-firmware:
  requests:
  - name: gpu
    exactly:
      deviceClassName: whole-gpu.example.com
      selectors: [{cel: {expression: "$of.firmware.isGreaterThan(semver('1.4.0')) && $of.numa < 2"}}]
numa-pair:
  requests:
  - {name: gpu, exactly: {deviceClassName: whole-gpu.example.com, count: 2}}
  constraints: [{matchAttribute: gpu.example.com/numa}]
linked-pair:   # a list: the devices have a link in common
  requests:
  - {name: any, exactly: {deviceClassName: whole-gpu.example.com}}
  - name: plain
    exactly:
      deviceClassName: whole-gpu.example.com
      selectors: [{cel: {expression: "$of.model == 'a'"}}]
  constraints: [{requests: [any, plain], matchAttribute: gpu.example.com/links}]
linked-three:   # only gpu-1, gpu-3 and gpu-4 have one in common: gpu-2 is tried first, and taken back
  requests:
  - {name: gpu, exactly: {deviceClassName: whole-gpu.example.com, count: 3}}
  constraints: [{matchAttribute: gpu.example.com/links}]
two-boards:
  requests:
  - {name: first, exactly: {deviceClassName: whole-gpu.example.com}}
  - {name: second, exactly: {deviceClassName: whole-gpu.example.com}}
  constraints: [{requests: [first, second], distinctAttribute: gpu.example.com/board}]
all-gpus:
  requests:
  - name: gpu
    exactly:
      deviceClassName: whole-gpu.example.com
      allocationMode: All
      tolerations: [{key: example.com/degraded, operator: Exists}]
all-nics:   # there are nodes without one
  requests:
  - name: nic
    exactly:
      deviceClassName: gpu.example.com
      allocationMode: All
      selectors: [{cel: {expression: "$type == 'nic'"}}]
degraded-gpu:
  requests:
  - name: gpu
    exactly:
      deviceClassName: whole-gpu.example.com
      tolerations: [{key: example.com/degraded, operator: Exists, effect: NoSchedule}]
nic-share:   # shares draw the lanes of their card once, beside the card that is taken whole
  requests:
  - name: nic
    exactly:
      deviceClassName: gpu.example.com
      selectors: [{cel: {expression: "$type == 'shared-nic' && device.allowMultipleAllocations"}}]
      capacity: {requests: {bandwidth: "40"}}
nic:
  requests:
  - name: nic
    exactly:
      deviceClassName: gpu.example.com
      selectors: [{cel: {expression: "$type == 'nic'"}}]
uplink:   # 25 is rounded up to 30 of 100
  requests:
  - {name: link, exactly: {deviceClassName: net.example.com, capacity: {requests: {bandwidth: "25"}}}}
gpu-and-uplink:
  requests:
  - {name: gpu, exactly: {deviceClassName: whole-gpu.example.com}}
  - {name: link, exactly: {deviceClassName: net.example.com, capacity: {requests: {bandwidth: "50"}}}}
fabric-card:
  requests:
  - {name: gpu, exactly: {deviceClassName: fabric.example.com}}
look-at-all:   # takes nothing
  requests:
  - {name: gpu, exactly: {deviceClassName: whole-gpu.example.com, allocationMode: All, adminAccess: true}}
)";

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

std::vector<StormNeed> read_needs() {
  std::string text(kNeeds);
  replace_all(text, "$type", "$of.type");
  replace_all(text, "$of", "device.attributes['gpu.example.com']");
  replace_all(text, "$holds", "device.capacity['gpu.example.com']");
  const auto documents = api::parse_yaml_documents(text, "storm_needs.cc");
  BERTH_ASSERT(documents.ok() && documents->size() == 1, "the table of needs is one YAML document");
  std::vector<StormNeed> needs;
  for (const JsonMember& row : documents->front().value.as_object()) needs.push_back({row.key, row.value});
  return needs;
}

}  // namespace

std::span<const StormNeed> storm_needs() {
  static const std::vector<StormNeed> kRead = read_needs();
  return kRead;
}

const Json* storm_need(std::string_view name) {
  for (const StormNeed& need : storm_needs())
    if (need.name == name) return &need.devices;
  return nullptr;
}

}  // namespace berth::sim
