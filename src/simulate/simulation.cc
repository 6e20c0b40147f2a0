#include "simulate/simulation_run.h"

#include <algorithm>

#include "api/types/gpu_share.h"
#include "base/assert.h"
#include "base/hex.h"
#include "placement/expected_duration.h"
#include "placement/plugins/gpu_fragmentation.h"
#include "simulate/lost_nodes.h"

namespace berth::simulate {
namespace {

using planning::Document;

constexpr std::size_t kCurveStepPercent = 5;
constexpr std::size_t kCurvePointsMax = 61;  // to 300 %

// Nearest rank.
Duration percentile(const std::vector<Duration>& sorted, std::size_t percent) {
  if (sorted.empty()) return {};
  const std::size_t rank = (sorted.size() * percent + 99) / 100;
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

}  // namespace

// All objects are completed and decoded together, as a plan's; what arrives later is taken out again.
Status Simulation::load() {
  std::vector<Document> documents = script_.objects;
  for (const Arrival& arrival : script_.arrivals)
    documents.insert(documents.end(), arrival.objects.begin(), arrival.objects.end());
  if (documents.size() > kScriptObjectsMax)
    return Error(ErrorCode::TooLarge, "",
                 "the simulation has " + std::to_string(documents.size()) + " objects: at most " +
                     std::to_string(kScriptObjectsMax));
  start_ = options_.now = planning::now_of(script_.objects, {});
  options_.objects = false;
  options_.verdicts = planning::Verdicts::None;
  offline_ = TRY(planning::OfflineCluster::make(std::move(documents), options_));
  units_.reserve(script_.arrivals.size());
  arrivals_left_ = script_.arrivals.size();
  for (const Arrival& arrival : script_.arrivals) TRY(take_out(arrival));
  meter_.finish();
  for (std::size_t i = 0; i < script_.failures.size(); ++i) {
    for (const std::string& node : script_.failures[i].nodes)
      if (!offline_->view().nodes.find("", node))
        return Error(ErrorCode::NotFound, "spec.failures[" + std::to_string(i) + "]",
                     "there is no node \"" + node + "\"");
    events_.push({script_.failures[i].at, EventKind::Failure, i});
  }
  lose_nodes(*offline_, script_.lost_nodes);
  for (const auto& [name, id] : offline_->cluster().live_nodes()) {
    const model::NodeRow& row = offline_->cluster().node(id);
    const std::int64_t gpus = model::amount_in(row.allocatable, model::kGpu) * api::kWholeGpu;
    gpus_ += gpus;
    const auto rack = row.live->meta.labels.find(script_.rack_label);
    if (rack != row.live->meta.labels.end()) rack_gpus_[rack->second] += gpus;
  }
  planner_ = std::make_unique<planning::Planner>(*offline_, options_, selectors_,
                                                 planning::ProofBounds{.group_nodes_max = 0});
  return {};
}

Status Simulation::take_out(const Arrival& arrival) {
  Unit unit{&arrival};
  for (const Document& document : arrival.objects) {
    const api::ObjectKey key = key_of_document(document);
    if (document.kind == api::Kind::Pod) {
      TRY(take_pod_out({key.ns, key.name}, unit));
      continue;
    }
    if (document.kind == api::Kind::CompositePodGroup)
      unit.key = {key.ns, key.name, EntityKind::CompositeGroup};
    else if (document.kind == api::Kind::PodGroup && unit.key.kind != EntityKind::CompositeGroup)
      unit.key = {key.ns, key.name, EntityKind::Group};
    std::ranges::move(take(key), std::back_inserter(unit.shared));
  }
  events_.push({arrival.at, EventKind::Arrival, units_.size()});
  units_.push_back(std::move(unit));
  return {};
}

// `unit` is the next one of units_.
Status Simulation::take_pod_out(const NamedKey& key, Unit& unit) {
  if (const std::string& trouble = offline_->trouble_of(key); !trouble.empty())
    return Error(ErrorCode::Invalid, "Pod " + key.text(), trouble);
  if (unit.key.name.empty()) unit.key = {key.ns, key.name, EntityKind::Pod};
  const model::PodRow& row = offline_->cluster().pod(offline_->cluster().find_pod(key.ns, key.name));
  const placement::GpuDemand demand = placement::gpu_demand_of(row);
  meter_.add(demand, row.live);
  unit.pods.push_back(pods_.size());
  pod_index_[key] = pods_.size();
  pods_.push_back({key, units_.size(), take({api::Kind::Pod, key.ns, key.name, {}}), demand.gpus()});
  return {};
}

RunResult Simulation::run() {
  planner_->run();  // pods that wait from the start
  while (!events_.empty()) step();
  return result();
}

// All events of one instant, and the decisions that they make possible.
void Simulation::step() {
  now_ = events_.top().at;
  freed_ = false;
  for (; !events_.empty() && events_.top().at == now_; events_.pop()) {
    const SimulatedEvent event = events_.top();
    switch (event.kind) {
      case EventKind::End:
        end(event);
        break;
      case EventKind::FirstEnd:
        end_first(first_ends_[event.subject]);
        break;
      case EventKind::Repair:
        repair(event.subject);
        break;
      case EventKind::Failure:
        fail(event.subject);
        break;
      case EventKind::Arrival:
        arrive(event.subject);
        break;
    }
  }
  if (freed_) due_ = waiting_;
  decide_due();
  measure();
}

void Simulation::arrive(std::size_t index) {
  Unit& unit = units_[index];
  --arrivals_left_;
  for (const StoredObject& stored : unit.shared) put(stored);
  for (const std::size_t pod : unit.pods) {
    for (const StoredObject& stored : pods_[pod].objects) put(stored);
    arrived_ += pods_[pod].asked;
  }
  unit.waiting = unit.pods.size();
  if (unit.pods.empty()) return;
  unit.queued = turn_of(unit.key).entry;
  unit.queued.arrival = index + 1;  // of one second: in the order of the script
  waiting_.insert(index);
  due_.insert(index);
}

void Simulation::decide_due() {
  std::set<std::string_view> refused;
  while (!due_.empty()) {
    Unit& unit = units_[*due_.begin()];
    due_.erase(due_.begin());
    // A group that waits for a part of its pods is bound to the places of the others: it is like no other.
    const bool whole = unit.waiting == unit.pods.size();
    const std::string_view alike = whole ? unit.arrival->alike : std::string_view();
    if (unit.waiting == 0 || refused.contains(alike)) continue;
    ++decisions_;
    note(planner_->decide(turn_of(unit.key)));
    if (unit.waiting > 0 && !alike.empty()) refused.insert(alike);
  }
}

// Pods that exist from the start are in no unit: their places are not counted, and they do not return.
void Simulation::note(const planning::Plan& plan) {
  for (const planning::Decision& decision : plan.decisions)
    for (const planning::PlannedVictim& victim : decision.victims) lose({victim.ns, victim.name});
  for (const planning::Decision& decision : plan.decisions)
    for (const planning::PlannedPod& placed : decision.pods)
      if (const auto known = pod_index_.find({placed.ns, placed.name});
          known != pod_index_.end() && !placed.node.empty())
        start(pods_[known->second], placed.node);
}

void Simulation::start(SimulatedPod& pod, const std::string& node) {
  if (!pod.node.empty()) return;  // a tree names it in its own decision and in its group's
  const model::Cluster& cluster = offline_->cluster();
  const api::GpuSharePtr& share = cluster.pod(cluster.find_pod(pod.key.ns, pod.key.name)).gpu_share;
  pod.held = share ? static_cast<std::int64_t>(share->groups.size()) * share->hundredths : pod.asked;
  pod.node = node;
  pod.started = now_;
  Unit& unit = units_[pod.unit];
  if (pod.starts++ == 0) waits_.push_back(now_ - unit.arrival->at);
  std::optional<Duration> runs = unit.arrival->runs;
  if (!runs)
    runs =
        placement::expected_duration(offline_->view(), *offline_->view().pods.find(pod.key.ns, pod.key.name));
  if (runs)
    events_.push({now_ + *runs, EventKind::End, static_cast<std::size_t>(&pod - pods_.data()), pod.starts});
  record("start", pod);
  if (--unit.waiting > 0) return;
  waiting_.erase(static_cast<std::size_t>(&unit - units_.data()));
  count_racks(unit);
}

// Of a group that has started for the first time.
void Simulation::count_racks(Unit& unit) {
  if (unit.pods.size() < 2 || rack_gpus_.empty() || std::exchange(unit.spans_counted, true)) return;
  std::set<std::string> racks;
  std::int64_t gpus = 0;
  for (const std::size_t pod : unit.pods) {
    gpus += pods_[pod].held;
    const api::Node* node = offline_->view().nodes.find("", pods_[pod].node);
    const auto rack = node->meta.labels.find(script_.rack_label);
    if (rack != node->meta.labels.end()) racks.insert(rack->second);
  }
  std::vector<std::int64_t> largest;
  for (const auto& [name, offered] : rack_gpus_) largest.push_back(offered);
  std::ranges::sort(largest, std::ranges::greater());
  std::size_t least = 0;
  for (std::int64_t room = 0; least < largest.size() && (least == 0 || room < gpus);)
    room += largest[least++];
  ++result_.gangs;
  racks_ += static_cast<double>(racks.size());
  racks_minimum_ += static_cast<double>(least);
}

// The pod holds nothing any more; its objects are gone.
void Simulation::release(SimulatedPod& pod) {
  pod.held = 0;
  pod.node.clear();
  freed_ = true;
  const api::ObjectMeta& meta = std::get<std::shared_ptr<const api::Pod>>(pod.objects.front().object)->meta;
  for (const api::ResourceClaim* claim : offline_->view().claims_owned_by(meta.uid))
    offline_->erase(api::Kind::ResourceClaim, std::string(claim->meta.ns), std::string(claim->meta.name));
}

void Simulation::end(const SimulatedEvent& event) {
  SimulatedPod& pod = pods_[event.subject];
  if (pod.node.empty() || pod.starts != event.starts) return;  // it was evicted
  note_end(pod.key, pod.node);
  offline_->end(pod.key);
  record("end", pod);
  release(pod);
  leave(units_[pod.unit]);
}

// It may have been evicted before.
void Simulation::end_first(const NamedKey& key) {
  const auto pod = offline_->view().pods.find_shared(key.ns, key.name);
  if (!pod || !pod->bound()) return;
  note_end(key, pod->node_name);
  offline_->end(key);
  freed_ = true;
}

void Simulation::note_end(const NamedKey& key, const std::string& node) {
  if (keeps_ends_) ended_.push_back({key, now_, node});
}

// One pod of the unit does not come back. Its groups go with the last one.
void Simulation::leave(Unit& unit) {
  if (++unit.ended < unit.pods.size()) return;
  for (const StoredObject& stored : unit.shared)
    offline_->erase(stored.key.kind, stored.key.ns, stored.key.name);
}

// A pod that is evicted, which the view has no more.
void Simulation::lose(const NamedKey& evicted) {
  ++result_.evictions;
  const auto known = pod_index_.find(evicted);
  if (known == pod_index_.end()) return;
  SimulatedPod& pod = pods_[known->second];
  lost_seconds_ += static_cast<double>(pod.held) / api::kWholeGpu * (now_ - pod.started).seconds_f();
  record("evict", pod);
  release(pod);
  Unit& unit = units_[pod.unit];
  if (!script_.restarts_lost) return leave(unit);
  for (const StoredObject& stored : pod.objects) put(stored);
  ++unit.waiting;
  waiting_.insert(pod.unit);
  due_.insert(pod.unit);
}

void Simulation::fail(std::size_t failure) {
  for (const std::string& name : script_.failures[failure].nodes) {
    AwayNode& away = away_[name];
    if (away.failures++ > 0) continue;
    clear_node(name);
    away.objects = take({api::Kind::Node, "", name, {}});
  }
  if (const auto& lasts = script_.failures[failure].lasts)
    events_.push({now_ + *lasts, EventKind::Repair, failure});
}

void Simulation::clear_node(const std::string& name) {
  std::vector<NamedKey> pods;
  for (const api::Pod* pod : offline_->view().pods_on_node(name))
    pods.push_back({pod->meta.ns, pod->meta.name});
  for (const NamedKey& key : pods) {
    offline_->evict(key);
    lose(key);
  }
}

void Simulation::repair(std::size_t failure) {
  for (const std::string& name : script_.failures[failure].nodes) {
    AwayNode& away = away_.at(name);
    if (--away.failures > 0) continue;
    for (const StoredObject& stored : std::exchange(away.objects, {})) put(stored);
    freed_ = true;
  }
}

void Simulation::record(std::string_view what, const SimulatedPod& pod) {
  digest_ = fnv1a(
      std::to_string(now_.micros()) + " " + std::string(what) + " " + pod.key.text() + " " + pod.node + "\n",
      digest_);
}

// In hundredths of GPUs, as the ledger has it.
std::int64_t Simulation::allocated() const {
  const model::Cluster& cluster = offline_->cluster();
  std::int64_t sum = 0;
  for (const auto& [name, id] : cluster.live_nodes()) {
    const std::int64_t offered = model::amount_in(cluster.node(id).allocatable, model::kGpu);
    sum += offered * api::kWholeGpu - placement::plugins::gpu_room_of(cluster, id).hundredths();
  }
  return sum;
}

// After the decisions of one instant.
void Simulation::measure() {
  const auto percent = [this](std::int64_t hundredths) {
    return gpus_ == 0 ? 0 : 100 * static_cast<double>(hundredths) / static_cast<double>(gpus_);
  };
  const std::size_t reached =
      gpus_ == 0 ? 0 : static_cast<std::size_t>(arrived_ * 100 / gpus_ / kCurveStepPercent);
  while (result_.curve.size() <= std::min(reached, kCurvePointsMax - 1)) {
    const double arrived = static_cast<double>(result_.curve.size() * kCurveStepPercent);
    result_.curve.push_back({arrived, percent(allocated()), meter_.percent(offline_->cluster())});
  }
  if (arrivals_left_ > 0 || std::exchange(measured_, true)) return;
  result_.allocated_gpu_percent = percent(allocated());
  result_.fragmentation_percent = meter_.percent(offline_->cluster());
}

RunResult Simulation::result() {
  std::ranges::sort(waits_);
  result_.placed = static_cast<std::int64_t>(waits_.size());
  result_.refused = static_cast<std::int64_t>(pods_.size()) - result_.placed;
  result_.wait_p50 = percentile(waits_, 50);
  result_.wait_p99 = percentile(waits_, 99);
  result_.lost_chip_seconds = static_cast<std::int64_t>(lost_seconds_);
  const double gangs = static_cast<double>(std::max<std::int64_t>(1, result_.gangs));
  result_.racks_mean = racks_ / gangs;
  result_.racks_minimum = racks_minimum_ / gangs;
  result_.digest = hex_of(digest_);
  return std::move(result_);
}

Result<RunResult> simulate(const Script& script, const planning::PlanOptions& options) {
  Simulation simulation(script, options);
  if (Status loaded = simulation.load(); !loaded) return loaded.error();
  return simulation.run();
}

}  // namespace berth::simulate
