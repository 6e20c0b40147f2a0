#include "placement/fragmentation/learned_workload.h"

#include <algorithm>

#include "api/types/gpu_share.h"
#include "base/fnv.h"
#include "base/key_bytes.h"
#include "placement/fragmentation/newest_pods.h"
#include "placement/free_resources.h"
#include "placement/plugins/node_inclusion.h"
#include "placement/signature.h"

namespace berth::placement {
namespace {

// A look at every so many pods with GPUs: at least these, and so that it costs little of each.
constexpr std::uint64_t kPodsPerLookMin = 32;
constexpr std::uint64_t kViewPodsPerPod = 16;

class ResourceGpus final : public WorkloadDevices {
 public:
  bool may_ask(const model::PodRow& row) const override { return gpu_demand_of(row).gpus() > 0; }
  GpuDemand demand_of(const SchedulingContext&, const model::PodRow& row) const override {
    return gpu_demand_of(row);
  }
  std::int64_t offered(const SchedulingContext& context, model::NodeId node) const override {
    return std::min(model::amount_in(context.cluster.node(node).allocatable, model::kGpu), kGpusMost);
  }
};

}  // namespace

const WorkloadDevices& resource_gpus() {
  static const ResourceGpus kGpus;
  return kGpus;
}

GpuDemand gpu_demand_of(const model::PodRow& row) {
  GpuDemand demand{std::min(asked_of(row.requests, model::kCpu), kCpuMost),
                   std::min(asked_of(row.requests, model::kGpu), kGpusMost), api::kWholeGpu};
  if (demand.devices > 0) return demand;
  const auto share = api::gpu_share_request(row.live->meta);
  if (!share) return {demand.cpu, 0, 0};
  return {demand.cpu, share->devices, share->hundredths};
}

std::string affinity_key_of(const api::Pod& pod) {
  if (pod.node_selector.empty() && !pod.required_node_affinity) return "";
  PodSignature signature;
  sign_node_affinity(pod, signature);
  return signature.bytes();
}

// The newest pods with GPUs, of equal age by name: what they ask for, and their affinities' bytes.
struct LearnedWorkload::Sample {
  struct Row {
    std::shared_ptr<const api::Pod> pod;
    WorkloadDemand asked;
    std::string affinity;  // empty: none
  };
  std::vector<Row> rows;

  Sample(const SchedulingContext& context, const WorkloadDevices& devices) {
    NewestPods newest(context.cluster, [&](const auto& row) { return devices.may_ask(row); });
    for (const auto* row = newest.take(); row && rows.size() < kWorkloadPodsMax; row = newest.take()) {
      if (api::is_gpu_reservation(*row->live)) continue;
      const GpuDemand demand = devices.demand_of(context, *row);
      if (demand.gpus() > 0) rows.push_back({row->live, {demand}, affinity_key_of(*row->live)});
    }
  }
};

void LearnedWorkload::pod_arrives(const SchedulingContext& context, model::PodId pod,
                                  const WorkloadDevices& devices) {
  if (is_due(context, pod)) look(context, devices);
}

bool LearnedWorkload::is_due(const SchedulingContext& context, model::PodId pod) {
  if (arrivals_.at != context.now || arrivals_.pods.size() == kArrivalsKeptMax) arrivals_.pods.clear();
  arrivals_.at = context.now;
  if (!arrivals_.pods.insert(pod).second) return false;
  if (arrivals_.until_look == 0) return true;
  --arrivals_.until_look;
  return false;
}

void LearnedWorkload::become(LearnedWorkload next) {
  next.arrivals_ = std::move(arrivals_);
  *this = std::move(next);
}

// The most frequent ones, by key.
std::vector<LearnedWorkload::Affinity> LearnedWorkload::affinities_in(const Sample& sample) const {
  std::map<std::string, std::pair<std::int64_t, std::shared_ptr<const api::Pod>>> found;
  for (const Sample::Row& row : sample.rows) {
    if (row.affinity.empty()) continue;
    auto& [count, pod] = found[row.affinity];
    ++count;
    pod = row.pod;
  }
  std::vector<std::pair<std::int64_t, std::string>> by_count;
  for (const auto& [key, counted] : found) by_count.emplace_back(-counted.first, key);
  std::ranges::sort(by_count);
  if (by_count.size() > kWorkloadAffinitiesMax) by_count.resize(kWorkloadAffinitiesMax);
  std::vector<Affinity> affinities;
  for (const auto& [count, key] : by_count) affinities.push_back({key, found[key].second});
  std::ranges::sort(affinities, {}, &Affinity::key);
  return affinities;
}

std::uint64_t LearnedWorkload::match(const api::Node& node) const {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < affinities_.size(); ++i)
    if (plugins::matches_node_affinity(*affinities_[i].pod, node)) bits |= std::uint64_t{1} << i;
  return bits;
}

std::uint64_t LearnedWorkload::affinities_of(const model::Cluster& cluster, model::NodeId node) const {
  if (affinities_.empty()) return 0;
  const model::NodeRow& row = cluster.node(node);
  if (node.index() < nodes_.size() && nodes_[node.index()].labels_stamp == row.labels_stamp)
    return nodes_[node.index()].bits;
  return match(*row.live);
}

// Which nodes the affinities accept, and how scarce the GPUs of these are.
void LearnedWorkload::read_nodes(const SchedulingContext& context, const WorkloadDevices& devices,
                                 const Sample& sample) {
  const model::Cluster& cluster = context.cluster;
  std::vector<std::int64_t> offered(affinities_.size(), 0), asked(affinities_.size(), 0);
  std::int64_t all_offered = 0, all_asked = 0;
  nodes_.assign(affinities_.empty() ? 0 : cluster.nodes().size(), {});
  cpu_most_ = gpus_most_ = 1;
  for (const auto& [name, id] : cluster.live_nodes()) {
    const model::NodeRow& row = cluster.node(id);
    const std::int64_t gpus = devices.offered(context, id) * api::kWholeGpu;
    if (gpus <= 0) continue;
    cpu_most_ = std::max(cpu_most_, std::min(model::amount_in(row.allocatable, model::kCpu), kCpuMost));
    gpus_most_ = std::max(gpus_most_, gpus);
    all_offered += gpus;
    if (affinities_.empty()) continue;
    const std::uint64_t bits = match(*row.live);
    nodes_[id.index()] = {row.labels_stamp, bits};
    for (std::size_t i = 0; i < offered.size(); ++i) offered[i] += (bits >> i & 1) != 0 ? gpus : 0;
  }
  for (const Sample::Row& row : sample.rows) {
    all_asked += row.asked.demand.gpus();
    if (row.asked.affinity > 0) asked[row.asked.affinity - 1] += row.asked.demand.gpus();
  }
  for (std::size_t i = 0; i < affinities_.size(); ++i) {
    affinities_[i].accepts_all = offered[i] == all_offered;
    if (offered[i] == 0 || affinities_[i].accepts_all) continue;
    const auto demand = static_cast<__int128>(asked[i]) * all_offered * kMixParts;
    affinities_[i].scarcity_millionths = static_cast<std::int64_t>(
        std::min<__int128>(demand / (static_cast<__int128>(offered[i]) * all_asked), kScarcityMillionthsMax));
  }
}

void LearnedWorkload::look(const SchedulingContext& context, const WorkloadDevices& devices) {
  Sample sample(context, devices);
  // The pod that made it due is the first.
  arrivals_.until_look = std::max({kPodsPerLookMin, std::uint64_t{sample.rows.size()} / 2,
                                   std::uint64_t{context.view.pods.size()} / kViewPodsPerPod}) -
                         1;
  if (sample.rows.size() < kWorkloadPodsMin) {
    arrivals_.until_look = kPodsPerLookMin - 1;
    return become({});
  }
  LearnedWorkload next;
  next.affinities_ = affinities_in(sample);
  std::int64_t cpu = 0, gpus = 0;
  std::vector<WorkloadDemand> demands;
  for (Sample::Row& row : sample.rows) {
    const auto known = std::ranges::find(next.affinities_, row.affinity, &Affinity::key);
    if (known != next.affinities_.end())
      row.asked.affinity = static_cast<std::uint32_t>(known - next.affinities_.begin()) + 1;
    cpu += row.asked.demand.cpu;
    gpus += row.asked.demand.gpus();
    ++next.counts_[row.asked];
    demands.push_back(row.asked);
  }
  next.read_nodes(context, devices, sample);
  next.mix_ = DemandMix(std::move(demands));
  next.cpu_per_gpu_ = std::max<std::int64_t>(1, cpu * api::kWholeGpu / gpus);
  if (!differs(next)) return;
  next.digest_ = next.digest_of_points();
  become(std::move(next));
}

// Whether the nodes or the affinities are others, or many pods ask for something else.
bool LearnedWorkload::differs(const LearnedWorkload& next) const {
  const auto equal_affinity = [](const Affinity& a, const Affinity& b) { return a.key == b.key; };
  if (!known() || cpu_most_ != next.cpu_most_ || gpus_most_ != next.gpus_most_ ||
      nodes_.size() != next.nodes_.size() ||
      !std::ranges::equal(affinities_, next.affinities_, equal_affinity))
    return true;
  std::int64_t here = 0, there = 0;
  for (const auto& [demand, count] : counts_) here += count;
  for (const auto& [demand, count] : next.counts_) there += count;
  // Half the sum of all differences between the shares of the demands.
  std::int64_t differing = 0;
  const auto share = [](const Counts& counts, const WorkloadDemand& demand, std::int64_t total) {
    const auto found = counts.find(demand);
    return found == counts.end() ? 0 : found->second * kMixParts / total;
  };
  for (const auto& [demand, count] : next.counts_)
    differing += std::max<std::int64_t>(0, count * kMixParts / there - share(counts_, demand, here));
  return differing * 100 > kMixChangePercent * kMixParts;
}

std::uint64_t LearnedWorkload::digest_of_points() const {
  std::string bytes;
  for (const std::uint64_t number :
       {mix_.digest(), static_cast<std::uint64_t>(cpu_per_gpu_), static_cast<std::uint64_t>(cpu_most_),
        static_cast<std::uint64_t>(gpus_most_)})
    append_key(bytes, number);
  for (const Affinity& affinity : affinities_) {
    append_key(bytes, affinity.key);
    append_key(bytes, static_cast<std::uint64_t>(affinity.scarcity_millionths));
  }
  return fnv1a(bytes);
}

bool LearnedWorkload::accepts_any_model(const api::Pod& pod) const {
  const std::string key = affinity_key_of(pod);
  if (key.empty()) return true;
  const auto known = std::ranges::find(affinities_, key, &Affinity::key);
  return known != affinities_.end() && known->accepts_all;
}

std::int64_t LearnedWorkload::packing_points(const GpuRoom& after) const {
  return packing_points(after.cpu(), after.hundredths());
}

std::int64_t LearnedWorkload::packing_points(std::int64_t cpu, std::int64_t hundredths) const {
  const std::int64_t of_cpu = kPackingPoints / 2 * std::max<std::int64_t>(0, cpu) / cpu_most_;
  return kPackingPoints - of_cpu - kPackingPoints / 2 * hundredths / gpus_most_;
}

std::int64_t LearnedWorkload::points_on(const GpuRoom& room, std::uint64_t affinities,
                                        const ScoredDemand& scored) const {
  GpuRoom after = room;
  after.take(scored.demand);
  return points_of({mix_.unusable(room, affinities), room.cpu(), room.hundredths()},
                   {mix_.unusable(after, affinities), after.cpu(), after.hundredths()}, affinities,
                   scored.demand.gpus(), scored.any_model);
}

std::int64_t LearnedWorkload::points_on(const dra::UnitsOfChoice& units, std::int64_t cpu,
                                        std::uint64_t affinities, const ScoredDemand& scored) const {
  constexpr std::int64_t kMillionths = kMixParts / api::kWholeGpu;  // of a hundredth
  const auto rest = [&](const dra::DeviceUnits& of, std::int64_t cpu_left) {
    return Rest{mix_.unusable(of, cpu_left, affinities) / kMillionths, cpu_left, of.free() / kMillionths};
  };
  return points_of(rest(units.before, cpu), rest(units.after, cpu - scored.demand.cpu), affinities,
                   scored.demand.gpus(), scored.any_model);
}

std::int64_t LearnedWorkload::points_of(const Rest& before, const Rest& after, std::uint64_t affinities,
                                        std::int64_t gpus, bool any_model) const {
  // Millionths of a hundredth to points.
  constexpr std::int64_t kUnusablePerPoint = kMixParts * api::kWholeGpu / kPointsPerGpu;
  std::int64_t points = (before.unusable - after.unusable) / kUnusablePerPoint;
  points += packing_points(after.cpu, after.hundredths);
  const auto stranded = [this](const Rest& of) {
    return std::max<std::int64_t>(0, of.hundredths - of.cpu * api::kWholeGpu / cpu_per_gpu_);
  };
  points += (stranded(before) - stranded(after)) * kStrandedPoints / api::kWholeGpu;
  if (!any_model) return points;
  std::int64_t scarcity = 0;
  for (std::size_t i = 0; i < affinities_.size(); ++i)
    if ((affinities >> i & 1) != 0) scarcity += affinities_[i].scarcity_millionths;
  return points - scarcity * gpus / (kMixParts * api::kWholeGpu / kScarcityPoints);
}

}  // namespace berth::placement
