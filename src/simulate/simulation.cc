#include "simulate/simulation.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <tuple>

#include "api/types/gpu_share.h"
#include "base/assert.h"
#include "base/fnv.h"
#include "base/hex.h"
#include "base/name_list.h"
#include "dra/cel_selectors.h"
#include "placement/expected_duration.h"
#include "placement/plugins/gpu_fragmentation.h"
#include "simulate/fragmentation_meter.h"
#include "simulate/lost_nodes.h"
#include "simulate/stored_objects.h"

namespace berth::simulate {
namespace {

using client::NamedKey;
using placement::EntityKey;
using placement::EntityKind;
using planning::Document;

constexpr std::size_t kCurveStepPercent = 5;
constexpr std::size_t kCurvePointsMax = 61;  // to 300 %

struct SimulatedPod {
  NamedKey key;
  std::size_t unit = 0;               // in units
  std::vector<StoredObject> objects;  // itself and the claims made for it, as they arrive
  std::int64_t asked = 0;             // hundredths of GPUs
  std::int64_t held = 0;              // the same, while it runs
  std::string node;                   // empty: it waits
  Duration started;
  std::uint32_t starts = 0;
};

// What is decided as one.
struct Unit {
  const Arrival* arrival = nullptr;
  EntityKey key;
  std::vector<StoredObject> shared;  // groups and claims of all its pods
  std::vector<std::size_t> pods;
  placement::QueuedEntity queued;
  std::size_t waiting = 0, ended = 0;  // pods
  bool spans_counted = false;
};

// A node that has failed, until the last of its failures ends.
struct AwayNode {
  std::vector<StoredObject> objects;
  std::size_t failures = 0;
};

// FirstEnd: of a pod that runs at the start.
enum class EventKind : std::uint8_t { End, FirstEnd, Repair, Failure, Arrival };
struct SimulatedEvent {
  Duration at;
  EventKind kind;
  std::size_t subject;       // a pod, one that runs at the start, a failure or a unit
  std::uint32_t starts = 0;  // of the pod that ends: another start has its own end
  friend bool operator>(const SimulatedEvent& a, const SimulatedEvent& b) {
    return std::tie(a.at, a.kind, a.subject, a.starts) > std::tie(b.at, b.kind, b.subject, b.starts);
  }
};

// Nearest rank.
Duration percentile(const std::vector<Duration>& sorted, std::size_t percent) {
  if (sorted.empty()) return {};
  const std::size_t rank = (sorted.size() * percent + 99) / 100;
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

class Simulation {
 public:
  Simulation(const Script& script, const planning::PlanOptions& options)
      : script_(script), options_(options) {}

  Status load();
  RunResult run();
  // Instead of run().
  Result<StartAnswer> start_of(const std::string& name);

 private:
  Status take_out(const Arrival& arrival);
  Status take_pod_out(const NamedKey& key, Unit& unit);
  planning::Turn turn_of(const EntityKey& key) const {
    return planning::turn_of(offline_->view(), offline_->cluster(), key);
  }
  std::vector<StoredObject> take(const api::ObjectKey& key) { return take_stored(*offline_, key); }
  void put(const StoredObject& stored) { put_stored(*offline_, stored, start_ + now_); }
  void adopt_start();
  void adopt(const EntityKey& key);
  std::vector<NamedKey> waiting_of(const EntityKey& key);
  Result<std::size_t> unit_named(const std::string& name) const;
  bool has_started(const Unit& unit) const;
  void explain_start(const Unit& unit, StartAnswer& answer) const;
  void explain_wait(const Unit& unit, StartAnswer& answer);
  void step();
  void arrive(std::size_t unit);
  void fail(std::size_t failure);
  void clear_node(const std::string& name);
  void repair(std::size_t failure);
  void end(const SimulatedEvent& event);
  void end_first(const NamedKey& key);
  void note_end(const NamedKey& key, const std::string& node);
  void lose(const NamedKey& evicted);
  void leave(Unit& unit);
  void release(SimulatedPod& pod);
  void decide_due();
  void note(const planning::Plan& plan);
  void start(SimulatedPod& pod, const std::string& node);
  void count_racks(Unit& unit);
  void record(std::string_view what, const SimulatedPod& pod);
  std::int64_t allocated() const;
  void measure();
  RunResult result();

  struct QueueOrder {
    const std::vector<Unit>* units;
    bool operator()(std::size_t a, std::size_t b) const {
      return placement::queue_sort_less((*units)[a].queued, (*units)[b].queued);
    }
  };
  using UnitQueue = std::set<std::size_t, QueueOrder>;

  const Script& script_;
  const Arrival at_start_ = {};  // of what waits at the start
  Time start_;
  planning::PlanOptions options_;
  dra::CelSelectors selectors_;
  std::unique_ptr<planning::OfflineCluster> offline_;
  std::unique_ptr<planning::Planner> planner_;
  std::vector<Unit> units_;
  std::vector<SimulatedPod> pods_;
  std::map<NamedKey, std::size_t> pod_index_;
  std::vector<NamedKey> first_ends_;  // pods that run at the start and have an end
  std::vector<EndedPod> ended_;       // while somebody asks
  bool keeps_ends_ = false;
  std::size_t decisions_ = 0;
  std::map<std::string, AwayNode> away_;
  std::priority_queue<SimulatedEvent, std::vector<SimulatedEvent>, std::greater<>> events_;
  UnitQueue waiting_{QueueOrder{&units_}}, due_{QueueOrder{&units_}};
  Duration now_;
  bool freed_ = false;                   // at this instant
  std::int64_t gpus_ = 0, arrived_ = 0;  // hundredths
  std::map<std::string, std::int64_t> rack_gpus_;
  FragmentationMeter meter_;
  std::vector<Duration> waits_;
  double lost_seconds_ = 0, racks_ = 0, racks_minimum_ = 0;
  std::size_t arrivals_left_ = 0;
  bool measured_ = false;  // after the last arrival
  std::uint64_t digest_ = kFnvStart;
  RunResult result_;
};

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

// Pods that run at the start end as they are expected to; what waits there is decided whenever something
// ends.
void Simulation::adopt_start() {
  const client::View& view = offline_->view();
  for (const auto& [key, pod] : view.pods.all()) {
    if (!pod->bound() || pod->finished()) continue;
    const std::optional<Duration> runs = placement::expected_duration(view, *pod);
    if (!runs) continue;
    const Time began = pod->started.is_set() ? pod->started : start_;
    events_.push({std::max(Duration(), began + *runs - start_), EventKind::FirstEnd, first_ends_.size()});
    first_ends_.push_back(key);
  }
  for (const planning::Turn& turn :
       planning::turns_of(view, offline_->cluster(), planning::trees_of(options_)))
    adopt(turn.entry.key);
}

void Simulation::adopt(const EntityKey& key) {
  Unit unit{&at_start_, key};
  for (const NamedKey& pod : waiting_of(key)) {
    const model::PodRow& row = offline_->cluster().pod(offline_->cluster().find_pod(pod.ns, pod.name));
    unit.pods.push_back(pods_.size());
    pod_index_[pod] = pods_.size();
    pods_.push_back({pod, units_.size(), stored_of(*offline_, {api::Kind::Pod, pod.ns, pod.name, {}}),
                     placement::gpu_demand_of(row).gpus()});
  }
  unit.waiting = unit.pods.size();
  unit.queued = turn_of(key).entry;
  units_.push_back(std::move(unit));
  waiting_.insert(units_.size() - 1);
  due_.insert(units_.size() - 1);
}

std::vector<NamedKey> Simulation::waiting_of(const EntityKey& key) {
  const client::View& view = offline_->view();
  std::vector<NamedKey> pods;
  const auto add = [&pods](const placement::GroupMembers& members) {
    for (const api::Pod* pod : members.waiting) pods.push_back({pod->meta.ns, pod->meta.name});
  };
  if (key.kind == EntityKind::Pod) pods.push_back({key.ns, key.name});
  if (key.kind == EntityKind::Group) add(planning::members_of(view, offline_->cluster(), key));
  if (key.kind == EntityKind::CompositeGroup) {
    const placement::TreeMembers tree = planning::tree_of(view, offline_->cluster(), key);
    for (const placement::TreeMember& node : tree.nodes) add(node.members);
  }
  std::ranges::sort(pods);
  return pods;
}

// By its own name, else by that of one of its pods or of their groups.
Result<std::size_t> Simulation::unit_named(const std::string& name) const {
  const std::size_t slash = name.find('/');
  const std::string ns = slash == std::string::npos ? "" : name.substr(0, slash);
  const std::string bare = slash == std::string::npos ? name : name.substr(slash + 1);
  std::set<std::size_t> found;
  for (std::size_t i = 0; i < units_.size(); ++i)
    if (units_[i].key.name == bare && (ns.empty() || units_[i].key.ns == ns)) found.insert(i);
  if (found.empty())
    for (const SimulatedPod& pod : pods_) {
      const auto& object = *std::get<std::shared_ptr<const api::Pod>>(pod.objects.front().object);
      if ((pod.key.name == bare || object.group == bare) && (ns.empty() || pod.key.ns == ns))
        found.insert(pod.unit);
    }
  if (found.size() == 1) return *found.begin();
  const std::string flag = "--eta " + name;
  if (found.empty())
    return Error(ErrorCode::Invalid, flag,
                 "the input has no pod or group of this name that waits or arrives");
  std::vector<std::string> names;
  for (const std::size_t unit : found) names.push_back(units_[unit].key.ns + "/" + units_[unit].key.name);
  std::ranges::sort(names);
  return Error(ErrorCode::Invalid, flag,
               "means several: " + first_names(names, kEndingsNamedMax) + "; write NAMESPACE/NAME");
}

bool Simulation::has_started(const Unit& unit) const {
  return std::ranges::any_of(unit.pods, [this](std::size_t pod) { return pods_[pod].starts > 0; });
}

Result<StartAnswer> Simulation::start_of(const std::string& name) {
  keeps_ends_ = true;
  adopt_start();
  const std::size_t asked = TRY(unit_named(name));
  StartAnswer answer{.key = units_[asked].key, .arrives = units_[asked].arrival->at};
  decide_due();
  while (!has_started(units_[asked]) && !events_.empty() && decisions_ < kStartQuestionDecisionsMax) step();
  if (has_started(units_[asked]))
    explain_start(units_[asked], answer);
  else if (events_.empty())
    explain_wait(units_[asked], answer);
  else
    answer.result = StartResult::OutOfBudget;
  return answer;
}

// The ends on its nodes count; if there are none, all of them.
void Simulation::explain_start(const Unit& unit, StartAnswer& answer) const {
  answer.result = StartResult::Starts;
  answer.at = now_;
  std::set<std::string> nodes;
  for (const std::size_t pod : unit.pods)
    if (!pods_[pod].node.empty()) nodes.insert(pods_[pod].node);
  answer.nodes.assign(nodes.begin(), nodes.end());
  answer.ended = ended_.size();
  const auto is_there = [&nodes](const EndedPod& one) { return nodes.contains(one.node); };
  const bool any_there = std::ranges::any_of(ended_, is_there);
  for (auto one = ended_.rbegin(); one != ended_.rend() && answer.after.size() < kEndingsNamedMax; ++one)
    if (!any_there || is_there(*one)) answer.after.push_back(*one);
}

// Nothing happens any more. What still runs has no end: would it fit if all of that ended?
void Simulation::explain_wait(const Unit& unit, StartAnswer& answer) {
  std::map<NamedKey, std::string> endless;
  for (const auto& [key, pod] : offline_->view().pods.all())
    if (pod->bound() && !pod->finished()) endless[key] = pod->node_name;
  for (const auto& [key, node] : endless) offline_->end(key);
  answer.plan = planner_->decide(turn_of(unit.key));
  std::set<std::string> nodes;
  for (const planning::Decision& decision : answer.plan.decisions)
    for (const planning::PlannedPod& pod : decision.pods)
      if (!pod.node.empty()) nodes.insert(pod.node);
  if (nodes.empty()) return;
  answer.result = StartResult::Unknown;
  answer.nodes.assign(nodes.begin(), nodes.end());
  answer.plan = {};
  for (const auto& [key, node] : endless) {
    if (!nodes.contains(node)) continue;
    ++answer.endless;
    if (answer.endless_pods.size() < kEndingsNamedMax) answer.endless_pods.push_back(key.text());
  }
  answer.on_nodes =
      answer.endless + static_cast<std::size_t>(std::ranges::count_if(
                           ended_, [&](const EndedPod& one) { return nodes.contains(one.node); }));
}

}  // namespace

Result<RunResult> simulate(const Script& script, const planning::PlanOptions& options) {
  Simulation simulation(script, options);
  if (Status loaded = simulation.load(); !loaded) return loaded.error();
  return simulation.run();
}

Result<StartAnswer> expected_start(const Script& script, const std::string& name,
                                   const planning::PlanOptions& options) {
  Simulation simulation(script, options);
  if (Status loaded = simulation.load(); !loaded) return loaded.error();
  return simulation.start_of(name);
}

}  // namespace berth::simulate
