#include "placement/fragmentation/driver_devices.h"

#include <algorithm>
#include <map>

#include "api/types/gpu_share.h"
#include "base/fnv.h"
#include "base/key_bytes.h"
#include "placement/fragmentation/newest_pods.h"
#include "placement/free_resources.h"

namespace berth::placement {
namespace {

struct AskedKind {
  std::string driver;
  const api::DeviceSubRequest* one = nullptr;
  std::int64_t count = 0;
};
using AskedKinds = std::map<std::string, AskedKind>;  // by key

enum class ClaimsRead : std::uint8_t { All, Unallocated };

bool counts_as_kind(const api::ResourceClaim& claim, const api::DeviceRequest& request) {
  if (request.prioritized || request.alternatives.size() != 1 || !claim.constraints.empty()) return false;
  const api::DeviceSubRequest& one = request.alternatives.front();
  return one.mode == api::AllocationMode::ExactCount && !one.admin_access && one.derived_attributes.empty();
}

std::string key_of_kind(const api::DeviceSubRequest& one) {
  std::string key;
  append_key(key, one.device_class);
  append_key(key, std::uint64_t{one.selectors.size()});
  for (const std::string& selector : one.selectors) append_key(key, selector);
  append_key(key, std::uint64_t{one.capacity.size()});
  for (const auto& [name, amount] : one.capacity) {
    append_key(key, name);
    append_key(key, amount.text());
  }
  for (const api::Toleration& toleration : one.tolerations)
    for (const std::string* text : {&toleration.key, &toleration.op, &toleration.value, &toleration.effect})
      append_key(key, *text);
  return key;
}

// Of drivers whose devices can be divided; nothing if a request does not count.
AskedKinds asked_kinds(const SchedulingContext& context, const api::Pod& pod, ClaimsRead read) {
  AskedKinds asked;
  for (const api::PodClaim& named : pod.claims) {
    const api::ResourceClaim* claim =
        context.view.claims.find(pod.meta.ns, api::claim_object_name(pod, named));
    if (!claim || (claim->allocation && read == ClaimsRead::Unallocated)) continue;
    for (const api::DeviceRequest& request : claim->requests) {
      if (!counts_as_kind(*claim, request)) return {};
      const api::DeviceSubRequest& one = request.alternatives.front();
      const auto known = context.cluster.classes().find(one.device_class);
      if (known == context.cluster.classes().end()) return {};
      const auto driver = context.allocator.driver_of(*known->second, one);
      if (!driver || !context.cluster.slice_traits().have_parts(*driver)) continue;
      AskedKind& kind = asked[key_of_kind(one)];
      kind.driver = *driver;
      kind.one = &one;
      kind.count = std::min(kind.count + std::clamp<std::int64_t>(one.count, 0, kGpusMost), kGpusMost);
    }
  }
  return asked;
}

// The kind of the driver of which most are asked for, then the first by key; end(): none.
AskedKinds::const_iterator most_asked(const AskedKinds& asked, const std::string& driver) {
  auto most = asked.end();
  for (auto it = asked.begin(); it != asked.end(); ++it)
    if (it->second.driver == driver && it->second.count > (most == asked.end() ? 0 : most->second.count))
      most = it;
  return most;
}

// What the newest pods ask for, by key.
struct KindUse {
  std::int64_t pods = 0, count_most = 0;
  const api::DeviceSubRequest* one = nullptr;
};

std::map<std::string, KindUse> kinds_in_use(const SchedulingContext& context, const std::string& driver) {
  std::map<std::string, KindUse> uses;
  NewestPods newest(context.cluster, [](const auto& row) { return !row.live->claims.empty(); });
  std::size_t pods = 0;
  for (const auto* row = newest.take(); row && pods < kWorkloadPodsMax; row = newest.take()) {
    const AskedKinds asked = asked_kinds(context, *row->live, ClaimsRead::All);
    const auto most = most_asked(asked, driver);
    if (most == asked.end()) continue;
    ++pods;
    KindUse& use = uses[most->first];
    ++use.pods;
    use.count_most = std::max(use.count_most, most->second.count);
    use.one = most->second.one;
  }
  return uses;
}

}  // namespace

std::string divided_driver_of(const SchedulingContext& context, const api::Pod& pod) {
  std::map<std::string, std::int64_t> devices;
  for (const auto& [key, kind] : asked_kinds(context, pod, ClaimsRead::Unallocated))
    devices[kind.driver] += kind.count;
  std::string most;
  for (const auto& [driver, count] : devices)
    if (count > (most.empty() ? 0 : devices[most])) most = driver;
  return most;
}

std::shared_ptr<const DriverDevices> DriverDevices::of(const SchedulingContext& context,
                                                       const std::string& driver) {
  const std::map<std::string, KindUse> uses = kinds_in_use(context, driver);
  std::vector<std::pair<std::int64_t, std::string>> by_pods;
  for (const auto& [key, use] : uses) by_pods.emplace_back(-use.pods, key);
  std::ranges::sort(by_pods);
  if (by_pods.size() > dra::kUnitKindsMax) by_pods.resize(dra::kUnitKindsMax);
  const std::shared_ptr<DriverDevices> made(new DriverDevices(driver));
  for (const auto& [pods, key] : by_pods) {
    auto claim = std::make_shared<api::ResourceClaim>();
    api::DeviceSubRequest one = *uses.at(key).one;
    one.name = "devices";
    one.count = uses.at(key).count_most;
    claim->requests.push_back({"devices", false, {std::move(one)}});
    made->kinds_.push_back({key, std::move(claim), api::kWholeGpu});
  }
  std::ranges::sort(made->kinds_, {}, &Kind::key);
  made->read_sizes(context);
  std::string bytes;
  for (const Kind& kind : made->kinds_) {
    append_key(bytes, kind.key);
    append_key(bytes, static_cast<std::uint64_t>(kind.claim->requests.front().alternatives.front().count));
    append_key(bytes, static_cast<std::uint64_t>(kind.hundredths));
  }
  made->digest_ = fnv1a(bytes);
  return made;
}

void DriverDevices::read_sizes(const SchedulingContext& context) {
  first_kinds_ = kinds(context);
  if (!first_kinds_) return;
  std::array<std::int64_t, dra::kUnitKindsMax> least{};
  std::size_t nodes = 0;
  for (const auto& [name, node] : context.cluster.live_nodes()) {
    if (nodes == kSizedNodesMax) break;
    const auto sizes = context.allocator.unit_sizes(*first_kinds_, node);
    if (!sizes || sizes->wholes == 0) continue;
    ++nodes;
    for (std::size_t k = 0; k < kinds_.size(); ++k)
      if (sizes->kinds[k] > 0)
        least[k] = least[k] == 0 ? sizes->kinds[k] : std::min(least[k], sizes->kinds[k]);
  }
  constexpr std::int64_t kMillionths = kMixParts / api::kWholeGpu;  // of a hundredth
  for (std::size_t k = 0; k < kinds_.size(); ++k)
    if (least[k] > 0)
      kinds_[k].hundredths = static_cast<std::int32_t>((least[k] + kMillionths - 1) / kMillionths);
}

std::shared_ptr<const dra::AllocationRequest> DriverDevices::kinds(const SchedulingContext& context) const {
  std::vector<dra::ClaimPtr> claims;
  for (const Kind& kind : kinds_) claims.push_back(kind.claim);
  auto compiled = context.allocator.prepare(claims);
  return compiled ? *std::move(compiled) : nullptr;
}

GpuDemand DriverDevices::demand_of(const SchedulingContext& context, const model::PodRow& row) const {
  GpuDemand demand{std::min(asked_of(row.requests, model::kCpu), kCpuMost), 0, api::kWholeGpu};
  if (row.live->claims.empty()) return demand;
  const AskedKinds asked = asked_kinds(context, *row.live, ClaimsRead::All);
  const auto most = most_asked(asked, driver_);
  if (most == asked.end()) return demand;
  const auto kind = std::ranges::lower_bound(kinds_, most->first, {}, &Kind::key);
  if (kind == kinds_.end() || kind->key != most->first) return demand;
  return {demand.cpu, most->second.count, kind->hundredths,
          static_cast<std::uint32_t>(kind - kinds_.begin()) + 1};
}

std::int64_t DriverDevices::offered(const SchedulingContext& context, model::NodeId node) const {
  if (!first_kinds_) return 0;
  const auto sizes = context.allocator.unit_sizes(*first_kinds_, node);
  return sizes ? std::min(sizes->wholes, kGpusMost) : 0;
}

void DriverWorkload::pod_arrives(const SchedulingContext& context, model::PodId pod,
                                 const std::string& driver) {
  if (!learned.is_due(context, pod)) return;
  std::shared_ptr<const DriverDevices> now = DriverDevices::of(context, driver);
  if (!devices || devices->digest() != now->digest()) learned.forget();
  devices = std::move(now);
  learned.look(context, *devices);
}

}  // namespace berth::placement
