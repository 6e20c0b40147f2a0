#include "sim/storm.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/fnv.h"
#include "sim/hostile_world.h"
#include "sim/memory_checker.h"
#include "sim/reported_health.h"
#include "sim/rest_checker.h"
#include "sim/storm_objects.h"

namespace berth::sim {
namespace {

using api::Kind;
using client::Verb;

constexpr Duration kSlice = Duration::seconds(5);            // between two checks for violations
constexpr Duration kVolumeTimeout = Duration::seconds(60);   // shorter than the product's: storms are short
constexpr std::int64_t kHealthTimeoutS = 24 * 3600;          // reports do not become stale by themselves
constexpr Duration kBindingTimeout = Duration::seconds(60);  // of devices that never become ready
constexpr Duration kRestsAgain = Duration::seconds(60);      // until the next check: longer than any grace
constexpr int kLooksBesideKeptRoom = 6;                      // longer than room stays reserved without use
constexpr Duration kRepublishGap = Duration::millis(700);    // between the two slices of a pool
constexpr std::uint64_t kEventsKeptOneIn = 8;                // seeds
constexpr std::uint64_t kReservationPodsOneIn = 6;           // seeds, from the third on
constexpr std::int64_t kOwnersAreFaster = 5;                 // than nodes that failed come back
constexpr Duration kOwnerLooks = Duration::seconds(5);       // at the pod that it makes again
constexpr Duration kOwnersEnd = Duration::seconds(120);      // after the heal
const scheduling::DefragmentationSettings kStormMoves = {
    scheduling::DefragmentationMode::Evict, "example.com/rack", Duration::seconds(20), 6, 10'000, 1};
constexpr Duration kMovesEnd = Duration::seconds(100);   // without a move: no further set follows
constexpr int kLooksAtMoves = 10;                        // each kMovesEnd later
constexpr Duration kSettleFirst = Duration::seconds(5);  // before the first step

// Receives the schedulers' repairs of their models, and what they placed after no change.
class DefectsHeard final : public scheduling::DecisionLog {
 public:
  explicit DefectsHeard(SafetyChecker& checker) : checker_(checker) {}
  void append(scheduling::DecisionRecord record) override {
    if (record.swept && record.result == scheduling::DecisionResult::Placed) checker_.swept(record.name);
  }
  void repaired(const scheduling::RepairRecord& record) override {
    checker_.repaired(record.row, record.was, record.is);
  }

 private:
  SafetyChecker& checker_;
};

class Storm {
 public:
  Storm(const StormPlan& plan, const StormOptions& options)
      : plan_(plan), options_(options), checker_(options.ignored, [this](const store::ObjectPtr& object) {
          return world_->document_of(object);
        }) {
    cluster_.racks = plan.racks;
    cluster_.nodes_per_rack = plan.nodes_per_rack;
    cluster_.gpus_per_node = plan.gpus_per_node;
    cluster_.cpus_per_node = plan.cpus_per_node;
    world_ = HostileWorld::make({plan.seed, ""}).value();
    heard_ = world_->history().listen("", [this](const store::WatchEvent& event) { on_write(event); });
    world_->network().keeps_events = plan.seed % kEventsKeptOneIn == 0;
    world_->network().note = [this](FaultClass fault) { note(fault); };
    world_->network().departed = [this] { look_at_aimed(); };
    make_cluster();
    make_processes();
  }

  Result<StormResult> run() {
    const Time start = world_->now();
    const Time begin = start + kSettleFirst;
    world_->run_until(begin);
    for (const Json& step : plan_.steps) {
      const Handler handler = handler_of(step.string_at("do"));
      if (!handler)
        return Error(ErrorCode::Invalid, "steps", "no step \"" + std::string(step.string_at("do")) + "\"");
      const std::string_view when = step.string_at("when");
      if (!when.empty() && std::find(kStormStates.begin(), kStormStates.end(), when) == kStormStates.end())
        return Error(ErrorCode::Invalid, "steps", "no state \"" + std::string(when) + "\"");
      world_->events().at(begin + Duration::millis(step.int_at("atMs")),
                          [this, handler, &step] { this->begin(step, handler); });
    }
    if (advance(begin + kStormHeals)) {
      heal();
      if (advance(begin + kStormHeals + kStormRests)) judge_rest(begin + kStormHeals + kStormRestsMax);
    }
    if (!checker_.broken().empty()) result_.broken = checker_.broken();
    result_.virtual_time = world_->now() - start;
    result_.bindings = checker_.bindings();
    for (const auto& [name, pod] : checker_.state().pods)
      if (pod.finished() || pod.phase == "Running") result_.done.insert(name);
    result_.digest = fnv1a(world_->text());
    return std::move(result_);
  }

 private:
  using Handler = void (Storm::*)(const Json&);
  struct Row {
    std::string_view name;
    Handler handler;
  };
  struct Aimed {
    std::size_t state;  // of kStormStates
    Handler handler;
    const Json* step;  // of the plan
  };
  static Handler handler_of(std::string_view name);

  // False as soon as a write broke an invariant.
  bool advance(Time end) {
    while (world_->now() < end && checker_.broken().empty())
      world_->run_until(std::min(end, world_->now() + kSlice));
    return checker_.broken().empty();
  }

  // A pod that has just ended leaves a claim that is given back after a grace, and gives its room to one that
  // is being bound now. Other sentences get no time: the queue's sweep would come within it, and hide whom
  // nobody woke.
  bool is_in_grace(const std::vector<std::string>& broken) const {
    const bool binds = checker_.all_undone_decided_since(world_->now() - kRestsAgain);
    return !broken.empty() && std::all_of(broken.begin(), broken.end(), [&](const std::string& sentence) {
      return sentence.starts_with("I6: claim ") || (binds && sentence.starts_with("I6: bind request "));
    });
  }

  // Room that is reserved for another entry may be idle for a while: unplaced pods that fit count as a
  // violation when no pod was bound for longer than room stays reserved without use.
  void judge_rest(Time end) {
    result_.at_rest = true;
    result_.broken = broken_at_rest(checker_, KeptRoom::Possible);
    if (is_in_grace(result_.broken) && advance(world_->now() + kRestsAgain))
      result_.broken = broken_at_rest(checker_, KeptRoom::Possible);
    std::uint64_t bindings = checker_.bindings();
    for (int looks = 1; result_.broken.empty(); ++looks) {
      std::vector<std::string> beside_kept_room = broken_at_rest(checker_);
      if (beside_kept_room.empty()) {
        result_.broken = broken_memories(*world_, checker_);
        if (result_.broken.empty()) judge_moves();
        break;
      }
      if (checker_.bindings() != bindings) looks = 1;
      bindings = checker_.bindings();
      if (looks == kLooksBesideKeptRoom || world_->now() >= end || !advance(world_->now() + kRestsAgain))
        result_.broken = std::move(beside_kept_room);
    }
    for (const std::string& prefix : options_.ignored)
      std::erase_if(result_.broken,
                    [&](const std::string& sentence) { return sentence.starts_with(prefix); });
  }

  // Sets of moves follow one another, each makes a domain whole: they come to an end.
  void judge_moves() {
    for (int looks = 0; checker_.moves_since(world_->now() - kMovesEnd) > 0; ++looks) {
      if (looks == kLooksAtMoves) {
        result_.broken.emplace_back("I18: pods are moved without end");
        return;
      }
      if (!advance(world_->now() + kMovesEnd)) {
        result_.broken = checker_.broken();
        return;
      }
    }
  }

  void on_write(const store::WatchEvent& event) {
    ++result_.writes;
    if (options_.trace)
      options_.trace(format_micro_time(world_->now()) + " " + std::to_string(static_cast<int>(event.kind)) +
                     " " + event.object->key.resource + "/" + event.object->key.name + " " +
                     event.object->bytes);
    const SharedNetwork& network = world_->network();
    int interruptions = 0;
    for (const auto& process : world_->processes()) interruptions += process->scheduler_interruptions();
    if (std::exchange(interruptions_, interruptions) != interruptions) checker_.scheduler_interrupted();
    checker_.apply(event, world_->now(), {network.landing_of, network.landing_left});
    look_at_aimed();
  }

  using States = std::array<bool, kStormStates.size()>;
  States states() const {
    constexpr std::size_t kBinding = 4;
    static_assert(kStormStates[kBinding] == "Binding");
    const StoredState& state = checker_.state();
    const SharedNetwork& network = world_->network();
    States now{};
    for (const auto& [name, request] : state.requests)
      if (request.phase != "Succeeded") now[state.step_of(request)] = true;
    now[kBinding] = now[kBinding] || network.bindings_under_way > 0;
    now[kStepNames.size()] = network.creates_under_way > 0;
    now[kStepNames.size() + 1] = checker_.refused_pods() > 0;
    now.back() = std::none_of(now.begin(), now.end(), [](bool is) { return is; });
    return now;
  }

  void note(FaultClass fault) {
    const auto column = static_cast<std::size_t>(fault);
    ++result_.faults[column];
    if (options_.trace)
      options_.trace(format_micro_time(world_->now()) + " fault " + std::string(name_of(fault)));
    const States now = states();
    for (std::size_t row = 0; row < now.size(); ++row) result_.coverage[row][column] += now[row];
  }

  // --- steps that wait for a state ---

  // Carries a step out, or keeps it until its state is reached.
  void begin(const Json& step, Handler handler) {
    const std::string_view wanted = step.string_at("when");
    if (wanted.empty()) return (this->*handler)(step);
    const auto* row = std::find(kStormStates.begin(), kStormStates.end(), wanted);
    aimed_.push_back({static_cast<std::size_t>(row - kStormStates.begin()), handler, &step});
    look_at_aimed();
  }
  // It runs inside a write, so due steps are queued behind it, in the same moment.
  void look_at_aimed() {
    if (aimed_.empty() || healed_) return;
    const States now = states();
    for (const Aimed& aimed : aimed_)
      if (now[aimed.state])
        world_->events().after(Duration(), [this, aimed] {
          const Json step = aimed_at(*aimed.step, aimed.state);
          (this->*aimed.handler)(step);
        });
    std::erase_if(aimed_, [&](const Aimed& aimed) { return now[aimed.state]; });
  }
  // The step with the pod whose request is in this state, its group and its node, where it names none.
  Json aimed_at(const Json& step, std::size_t row) const {
    const StoredState& state = checker_.state();
    Json aimed = step;
    for (const auto& [name, request] : state.requests) {
      if (row >= kStepNames.size() || request.phase == "Succeeded" || state.step_of(request) != row) continue;
      const StoredPod* pod = state.pod_by_uid(request.pod_uid);
      if (!pod) continue;
      const bool of_group = step.string_at("do").ends_with("-group");
      const std::string& about = of_group ? pod->group : pod->name;
      if (!step.find("name")) aimed["name"] = about;
      const std::size_t dash = request.node.rfind('-');
      if (!step.find("node") && dash != std::string::npos)
        aimed["node"] = std::int64_t{std::stoi(request.node.substr(dash + 1))};
      break;
    }
    return aimed;
  }

  void make_cluster() {
    for (const Json& object : storm_basics(cluster_)) create(object);
    for (int node = 1; node <= cluster_.racks * cluster_.nodes_per_rack; ++node) {
      create(storm_node(cluster_, node));
      for (const Json& slice : storm_slices(cluster_, node, 1, {})) create(slice);
      create(standing_lease(storm_node_name(node)));
    }
  }

  // A node's lease that needs no renewal: heartbeats are many and not under test.
  static Json standing_lease(const std::string& node) {
    Json lease = Json::object({{"apiVersion", "coordination.k8s.io/v1"}, {"kind", "Lease"}});
    lease["metadata"] = Json::object({{"name", node}, {"namespace", "kube-node-lease"}});
    lease["spec"] = Json::object({{"holderIdentity", node},
                                  {"leaseDurationSeconds", 1'000'000},
                                  {"renewTime", "2099-01-01T00:00:00.000000Z"}});
    return lease;
  }

  ProcessOptions process_options(const std::string& name) {
    ProcessOptions options;
    options.name = name;
    options.parts.scheduler = options.parts.binder = false;
    options.parts.controllers = options.parts.simulated_nodes = false;
    options.parts.binding.binding_timeout = kBindingTimeout;
    options.parts.binding.volume_timeout = kVolumeTimeout;
    options.parts.binding.gpu_sharing = true;
    if (plan_.seed % kReservationPodsOneIn == 3)
      options.parts.binding.gpu_reservations = binding::GpuReservations::Pods;
    options.parts.decisions = &defects_;
    if (plan_.moves) options.parts.scheduling.defragmentation = kStormMoves;
    if (plan_.in_memory) options.parts.bind_requests = plane::BindRequests::WhenWaiting;
    const auto skew = static_cast<std::int64_t>(chance_of(plan_.seed, name + "/clock", 0) % 20'001);
    options.clock_ahead = Duration::millis(skew - 10'000);
    return options;
  }

  // Only plans with a health policy have reports: they change when containers start.
  void watch_health(ProcessOptions& options) {
    const bool reports = std::any_of(plan_.steps.begin(), plan_.steps.end(), [](const Json& step) {
      return step.string_at("do") == "health-policy" || step.string_at("do") == "flap-health";
    });
    if (reports) options.parts.health = &health_.feed();
  }

  void make_processes() {
    if (plan_.schedulers == 0) {
      ProcessOptions all = process_options("all");
      all.parts.scheduler = all.parts.binder = all.parts.controllers = all.parts.simulated_nodes = true;
      watch_health(all);
      world_->add(std::move(all)).start();
      return;
    }
    ProcessOptions controllers = process_options("controllers");
    controllers.parts.controllers = controllers.parts.simulated_nodes = true;
    watch_health(controllers);
    world_->add(std::move(controllers)).start();
    for (int i = 1; i <= plan_.schedulers; ++i) {
      ProcessOptions scheduler = process_options("scheduler-" + std::to_string(i));
      scheduler.parts.scheduler = true;
      scheduler.parts.binder = plan_.in_memory;
      scheduler.lease = "berth-scheduler";
      world_->add(std::move(scheduler)).start();
    }
    for (int i = 1; i <= plan_.binders; ++i) {
      ProcessOptions binder = process_options("binder-" + std::to_string(i));
      binder.parts.binder = true;
      binder.lease = "berth-binder";
      world_->add(std::move(binder)).start();
    }
  }

  void create(const Json& object) { world_->create(object); }
  // Names may begin with a namespace: "team-b/pod-3".
  static client::ApiRequest about(Verb verb, Kind kind, const std::string& name,
                                  const char* subresource = "") {
    const bool cluster_scoped = kind == Kind::Node || kind == Kind::ResourceSlice ||
                                kind == Kind::DeviceTaintRule || kind == Kind::Topology;
    const std::size_t slash = name.find('/');
    const std::string ns = slash == std::string::npos ? "default" : name.substr(0, slash);
    return {verb, api::ref_of(kind), cluster_scoped ? "" : ns, name.substr(slash + 1), subresource, ""};
  }
  client::ApiReply patch(Kind kind, const std::string& name, const Json& body, const char* subresource = "") {
    client::ApiRequest request = about(Verb::MergePatch, kind, name, subresource);
    request.body = to_string(body);
    return world_->call(std::move(request));
  }
  bool remove(Kind kind, const std::string& name, bool now = false) {
    client::ApiRequest request = about(Verb::Delete, kind, name);
    if (now) request.body = R"({"gracePeriodSeconds":0})";
    return world_->call(std::move(request)).ok();
  }
  static std::string name_in(const Json& step) { return std::string(step.string_at("name")); }
  static Duration lasting(const Json& step) { return Duration::millis(step.int_at("forMs")); }
  void later(const Json& step, EventQueue::Action action) {
    world_->events().after(lasting(step), std::move(action));
  }

  // --- workload and users ---

  void do_pod(const Json& step) {
    if (healed_) return;
    made_[name_in(step)] = step;
    if (world_->create(storm_pod(step)).ok()) ++result_.pods;
    if (step.bool_at("again")) keep_making(name_in(step));
  }
  void keep_making(const std::string& name) {
    world_->events().after(kOwnerLooks, [this, name] {
      if (!checker_.state().pods.contains(name)) create(storm_pod(made_.at(name)));
      if (!healed_ || world_->now() < healed_at_ + kOwnersEnd) keep_making(name);
    });
  }
  void do_budget(const Json& step) { create(storm_budget(step)); }
  void do_replicas(const Json& step) { create(storm_replicas(step)); }
  void do_scale(const Json& step) {
    if (healed_) return;
    client::ApiRequest request{
        Verb::MergePatch, {"apps", "v1", "replicasets"}, "default", name_in(step), "", ""};
    request.body = to_string(Json::object({{"spec", Json::object({{"replicas", step.int_at("count")}})}}));
    world_->call(std::move(request));
  }
  void do_group(const Json& step) { create(storm_group(step)); }
  void do_composite(const Json& step) { create(storm_composite(step)); }
  void do_claim(const Json& step) { create(storm_claim(step)); }
  // Made, or changed where it is there.
  void put(Kind kind, const Json& object) {
    if (world_->create(object).ok()) return;
    const Json& metadata = object.part("metadata");
    const std::string ns(metadata.string_at("namespace"));
    patch(kind, (ns.empty() ? "" : ns + "/") + std::string(metadata.string_at("name")),
          Json::object({{"spec", object.part("spec")}}));
  }
  void do_topology(const Json& step) {
    if (!healed_) put(Kind::Topology, storm_topology(step));
  }
  void do_lose_topology(const Json& step) {
    const Json lost = world_->read(Kind::Topology, "", std::string(api::kDefaultTopology));
    if (lost.is_null() || !remove(Kind::Topology, std::string(api::kDefaultTopology))) return;
    later(step, [this, spec = lost.part("spec")] {
      Json topology = storm_topology(Json::object({{"levels", ""}}));
      topology["spec"] = spec;
      create(topology);
    });
  }
  void do_policy(const Json& step) {
    if (healed_) return;
    const Json policy = storm_policy(step);
    const std::string ns(policy.part("metadata").string_at("namespace"));
    if (!step.bool_at("stays")) policies_.insert((ns.empty() ? "" : ns + "/") + name_in(step));
    put(Kind::PlacementPolicy, policy);
  }
  void do_delete_policy(const Json& step) {
    for (const std::string ns : {"", "team-b/"}) remove(Kind::PlacementPolicy, ns + name_in(step));
  }
  // Policies that hold groups are gone when all must come to rest.
  void delete_policies() {
    for (const std::string& name : policies_) remove(Kind::PlacementPolicy, name);
  }
  void do_volume_classes(const Json&) {
    for (const Json& object : storm_volume_classes()) create(object);
  }
  void do_volume(const Json& step) { create(storm_volume(step)); }
  void do_volume_claim(const Json& step) {
    if (step.string_at("class") == "flaky") flaky_.insert(name_in(step));
    create(storm_volume_claim(step));
  }
  // Where only nodes have room on which the provisioner gives up, the binding is tried for ever.
  bool is_flaky(const Json& pod) const {
    const std::string volumes = "+" + std::string(pod.string_at("volumes")) + "+";
    return std::any_of(flaky_.begin(), flaky_.end(), [&](const std::string& claim) {
      return volumes.find("+" + claim + "+") != std::string::npos;
    });
  }
  void do_delete_pod(const Json& step) {
    if (remove(Kind::Pod, name_in(step))) note(FaultClass::PodDeleted);
  }
  void do_force_delete_pod(const Json& step) {
    if (remove(Kind::Pod, name_in(step), true)) note(FaultClass::PodForceDeleted);
  }
  void do_recreate_pod(const Json& step) {
    const auto words = made_.find(name_in(step));
    if (words == made_.end() || !remove(Kind::Pod, name_in(step), true)) return;
    note(FaultClass::PodRecreated);
    create(storm_pod(words->second));
  }
  void do_resize_pod(const Json& step) {
    const Json amounts = Json::object({{"cpu", std::to_string(step.int_at("cpuMillis")) + "m"}});
    const Json resources = Json::object({{"requests", amounts}});
    Json body = Json::object();
    body["spec"]["containers"] = Json::array({Json::object({{"name", "work"}, {"resources", resources}})});
    client::ApiRequest request = about(Verb::StrategicPatch, Kind::Pod, name_in(step), "resize");
    request.body = to_string(body);
    if (world_->call(std::move(request)).ok()) note(FaultClass::PodResized);
  }
  void do_delete_group(const Json& step) {
    const std::set<std::string>* members = members_of(name_in(step));
    if (!members) return;
    for (const std::string& name : std::set<std::string>(*members))
      if (remove(Kind::Pod, name)) note(FaultClass::PodDeleted);
    remove(Kind::PodGroup, name_in(step));
  }
  const std::set<std::string>* members_of(const std::string& group) const {
    const auto found = checker_.state().members.find(group);
    return found == checker_.state().members.end() ? nullptr : &found->second;
  }
  void do_edit_group(const Json& step) {
    const auto group = checker_.state().groups.find(name_in(step));
    if (group == checker_.state().groups.end() || group->second.min == 0) return;
    Json body = Json::object();
    body["spec"]["schedulingPolicy"]["gang"]["minCount"] = step.int_at("min");
    if (patch(Kind::PodGroup, name_in(step), body).ok()) note(FaultClass::GroupEdited);
  }

  // Another scheduler that takes one free GPU for a claim of its own, and releases it later.
  void do_rival(const Json& step) {
    const StoredState& state = checker_.state();
    for (const auto& [slice_name, slice] : state.slices)
      for (const StoredDevice& device : slice.devices) {
        if (device.type != "gpu" || device.tainted() || state.holders.count(device.key) > 0) continue;
        rival_takes(step, device);
        return;
      }
  }
  void rival_takes(const Json& step, const StoredDevice& device) {
    const std::string name = name_in(step);
    if (!world_->create(storm_claim(Json::object({{"name", name}}))).ok()) return;
    checker_.excuse_claim(checker_.state().claims.at(name).uid);
    const std::size_t first = device.key.find('/'), last = device.key.rfind('/');
    const Json result = Json::object({{"request", "gpu"},
                                      {"driver", device.key.substr(0, first)},
                                      {"pool", device.key.substr(first + 1, last - first - 1)},
                                      {"device", device.key.substr(last + 1)}});
    Json body = Json::object();
    body["status"]["allocation"]["devices"]["results"] = Json::array({result});
    const Json user = Json::object(
        {{"apiGroup", "example.com"}, {"resource", "jobs"}, {"name", name}, {"uid", "rival-" + name}});
    body["status"]["reservedFor"] = Json::array({user});
    if (patch(Kind::ResourceClaim, name, body, "status").ok()) note(FaultClass::ClaimRivalled);
    later(step, [this, name] { end_rival(name); });
  }
  void end_rival(const std::string& name) {
    Json body = Json::object();
    body["status"] = Json::object({{"allocation", nullptr}, {"reservedFor", nullptr}});
    patch(Kind::ResourceClaim, name, body, "status");
    remove(Kind::ResourceClaim, name);
  }

  // An attached device is briefly reported as detached; the fabric corrects it.
  void do_flap_fabric(const Json&) {
    const auto claims = checker_.state().claims;
    for (const auto& [name, claim] : claims) {
      if (claim.true_.empty()) continue;
      const Json object = world_->read(Kind::ResourceClaim, "default", name);
      JsonArray devices = object.part("status").items_at("devices");
      for (Json& device : devices)
        for (Json& condition : device["conditions"].as_array()) condition["status"] = "False";
      Json body = Json::object();
      body["status"]["devices"] = std::move(devices);
      patch(Kind::ResourceClaim, name, body, "status");
    }
  }

  // --- nodes and drivers ---

  static int node_in(const Json& step) { return static_cast<int>(step.int_at("node", 1)); }
  static std::string node_name_in(const Json& step) { return storm_node_name(node_in(step)); }

  void do_lose_node(const Json& step) {
    if (!remove(Kind::Node, node_name_in(step))) return;
    note(FaultClass::NodeLost);
    later(step, [this, number = node_in(step)] {
      create(storm_node(cluster_, number));
      create(standing_lease(storm_node_name(number)));
    });
  }
  // Changes a node for the given time.
  void change_node(const Json& step, const Json& body, const Json& back) {
    if (!patch(Kind::Node, node_name_in(step), body).ok()) return;
    note(FaultClass::NodeChanged);
    later(step, [this, name = node_name_in(step), back] { patch(Kind::Node, name, back); });
  }
  void do_taint_node(const Json& step) {
    Json body = Json::object(), back = Json::object();
    body["spec"]["taints"] =
        Json::array({Json::object({{"key", "example.com/broken"}, {"effect", "NoSchedule"}})});
    back["spec"]["taints"] = nullptr;
    change_node(step, body, back);
  }
  // The node of the first member of the group that runs; empty: none does.
  std::string node_of_member(const std::string& group) const {
    if (const std::set<std::string>* members = members_of(group))
      for (const std::string& name : *members)
        if (const StoredPod& pod = checker_.state().pods.at(name); pod.runs_or_will()) return pod.node;
    return "";
  }
  // Its pods are evicted. Long before it comes back, their owner makes those again that are gone.
  void do_fail_node(const Json& step) {
    if (step.find("of")) return fail_node_of(step);
    Json body = Json::object(), back = Json::object();
    body["spec"]["taints"] =
        Json::array({Json::object({{"key", "example.com/broken"}, {"effect", "NoExecute"}})});
    back["spec"]["taints"] = nullptr;
    std::vector<std::string> lost;
    for (const auto& [name, pod] : checker_.state().pods)
      if (pod.node == node_name_in(step) && pod.runs_or_will() && made_.contains(name)) lost.push_back(name);
    change_node(step, body, back);
    world_->events().after(Duration::millis(step.int_at("forMs") / kOwnersAreFaster), [this, lost] {
      for (const std::string& name : lost)
        if (!healed_ && !checker_.state().pods.contains(name)) create(storm_pod(made_.at(name)));
    });
  }
  // With `of` that of a member of this group; without `forMs` it stays failed, whatever heals.
  void fail_node_of(const Json& step) {
    const std::string node = node_of_member(std::string(step.string_at("of")));
    if (healed_ || node.empty()) return;
    Json failed = step;
    failed.as_object().erase("of");
    failed["node"] = std::int64_t{std::stoi(node.substr(node.rfind('-') + 1))};
    if (!step.find("forMs")) {
      failed_for_good_.insert(node);
      failed["forMs"] = kStormRestsMax.millis() * 2;
    }
    do_fail_node(failed);
  }
  void do_cordon_node(const Json& step) {
    Json body = Json::object(), back = Json::object();
    body["spec"]["unschedulable"] = true;
    back["spec"]["unschedulable"] = nullptr;
    change_node(step, body, back);
  }
  void do_relabel_node(const Json& step) {
    Json body = Json::object(), back = Json::object();
    body["metadata"]["labels"]["example.com/rack"] = "rack-moved";
    back["metadata"]["labels"]["example.com/rack"] =
        storm_node(cluster_, node_in(step)).part("metadata").part("labels").string_at("example.com/rack");
    change_node(step, body, back);
  }

  // A driver publishes its pool again in a new generation, one slice after the other.
  void publish(int node, const std::vector<std::string>& without) {
    const std::int64_t generation = ++generations_[node] + 1;
    std::vector<Json> slices = storm_slices(cluster_, node, generation, without);
    Duration delay = {};
    for (Json& slice : slices) {
      world_->events().after(delay, [this, slice = std::move(slice)] {
        Json body = Json::object({{"spec", slice.part("spec")}});
        patch(Kind::ResourceSlice, std::string(slice.part("metadata").string_at("name")), body);
      });
      delay = delay + kRepublishGap;
    }
  }
  void do_republish(const Json& step) {
    note(FaultClass::SliceRepublished);
    publish(node_in(step), {});
  }
  void do_lose_device(const Json& step) {
    note(FaultClass::DeviceLost);
    publish(node_in(step), {"gpu-1", "gpu-2", "gpu-0-mig-1g-0"});
    later(step, [this, node = node_in(step)] { publish(node, {}); });
  }
  void do_taint_devices(const Json& step) {
    const std::string name = "broken-" + node_name_in(step);
    const Json selector = Json::object({{"driver", "gpu.example.com"}, {"pool", node_name_in(step)}});
    const Json taint = Json::object({{"key", "example.com/broken"}, {"effect", "NoExecute"}});
    const Json rule =
        Json::object({{"apiVersion", api::ref_of(Kind::DeviceTaintRule).api_version()},
                      {"kind", "DeviceTaintRule"},
                      {"metadata", Json::object({{"name", name}})},
                      {"spec", Json::object({{"deviceSelector", selector}, {"taint", taint}})}});
    if (world_->create(rule).ok()) note(FaultClass::DeviceTainted);
    later(step, [this, name] { remove(Kind::DeviceTaintRule, name); });
  }

  void do_health_policy(const Json&) { create(storm_health_policy()); }
  void do_flap_health(const Json& step) {
    if (healed_) return;
    const std::string node = node_name_in(step), device(step.string_at("device"));
    ill_.insert({node, device});
    note(FaultClass::DeviceIll);
    report(node, device,
           step.string_at("health") == "Unknown" ? health::Health::Unknown : health::Health::Unhealthy);
    later(step, [this, node, device] { report(node, device, health::Health::Healthy); });
  }
  void report(const std::string& node, const std::string& device, health::Health is) {
    constexpr const char* kGpuDriver = "gpu.example.com";
    health_.note_stream(node, kGpuDriver, health::StreamState::Up, world_->now());
    health_.report(node, kGpuDriver, {{{node, device}, {is, "xid 79"}, kHealthTimeoutS}}, world_->now());
  }

  // --- processes and their network ---

  Process* process_in(const Json& step) {
    return healed_ ? nullptr : world_->find(step.string_at("process"));
  }

  void do_kill(const Json& step) {
    Process* process = process_in(step);
    if (!process || !process->runs()) return;
    note(FaultClass::Killed);
    process->kill();
    later(step, [process] { process->start(); });
  }
  void do_kill_at_write(const Json& step) {
    Process* process = process_in(step);
    if (!process) return;
    ProcessNetwork& network = process->network();
    network.writes_to_live = static_cast<std::uint64_t>(step.int_at("nth"));
    network.deadly_resource = step.string_at("resource");
    network.on_death = [this, process, back = lasting(step)] {
      process->kill();
      world_->events().after(back, [process] { process->start(); });
    };
  }
  // With `stopped`, while every process that could hold it is down: as by an uninstall, or an older backup.
  void do_delete_lease(const Json& step) {
    const std::string name(step.string_at("name"));
    const std::string prefix = name.substr(name.find('-') + 1) + "-";
    if (step.bool_at("stopped"))
      for (const auto& process : world_->processes()) {
        if (!process->name().starts_with(prefix)) continue;
        process->kill();
        later(step, [started = process.get()] { started->start(); });
      }
    if (world_->call({Verb::Delete, api::ref_of(Kind::Lease), "kube-system", name, "", ""}).ok())
      note(FaultClass::LeaseDeleted);
  }
  void do_stop(const Json& step) {
    Process* process = process_in(step);
    if (!process || !process->runs() || process->paused()) return;
    note(FaultClass::Stopped);
    process->stop();
    later(step, [process] { process->start(); });
  }
  void do_pause(const Json& step) {
    Process* process = process_in(step);
    if (!process || !process->runs() || process->paused()) return;
    note(FaultClass::Paused);
    process->pause();
    later(step, [process] { process->resume(); });
  }
  void do_jump_clock(const Json& step) {
    Process* process = process_in(step);
    if (!process) return;
    note(FaultClass::ClockJump);
    process->jump_clock(Duration::millis(step.int_at("byMs")));
  }
  void do_trouble(const Json& step) {
    Process* process = process_in(step);
    const std::optional<FaultClass> fault = fault_named(step.string_at("fault"));
    if (!process || !fault) return;
    auto& rate = process->network().rates[static_cast<std::size_t>(*fault)];
    const auto more = static_cast<std::uint32_t>(step.int_at("per1000"));
    rate += more;
    later(step, [this, &rate, more] {
      if (!healed_) rate -= more;
    });
  }
  void do_watch_trouble(const Json& step) {
    Process* process = process_in(step);
    if (!process) return;
    ProcessNetwork& network = process->network();
    const auto rate = static_cast<std::uint32_t>(step.int_at("per1000"));
    network.watch_lag_max = std::max(network.watch_lag_max, Duration::millis(step.int_at("lagMs")));
    const auto set = [&network](FaultClass fault, std::uint32_t to) {
      network.rates[static_cast<std::size_t>(fault)] = to;
    };
    set(FaultClass::WatchLag, rate);
    set(FaultClass::WatchBatch, rate);
    set(FaultClass::WatchBroken, rate / 20);
    set(FaultClass::WatchGone, rate / 20);
    set(FaultClass::ListOld, 700);
    set(FaultClass::EventRepeated, rate / 4);
    later(step, [&network] { calm_watches(network); });
  }
  static void calm_watches(ProcessNetwork& network) {
    network.watch_lag_max = {};
    for (const FaultClass fault : {FaultClass::WatchLag, FaultClass::WatchBatch, FaultClass::WatchBroken,
                                   FaultClass::WatchGone, FaultClass::ListOld, FaultClass::EventRepeated})
      network.rates[static_cast<std::size_t>(fault)] = 0;
  }
  void do_slow_writes(const Json& step) {
    Process* process = process_in(step);
    if (!process) return;
    process->network().writes_per_second = static_cast<std::uint32_t>(step.int_at("perSecond"));
    later(step, [process] { process->network().writes_per_second = 0; });
  }
  void do_outage(const Json& step) {
    if (healed_) return;
    note(FaultClass::Outage);
    world_->network().outage_until = world_->now() + lasting(step);
  }

  // Ends all faults: what was broken is repaired, what was removed returns, and clocks agree again. Steps
  // that last longer end by themselves, and have nothing left to do.
  void heal() {
    healed_ = true;
    healed_at_ = world_->now();
    world_->network().outage_until = world_->now();
    for (const auto& process : world_->processes()) {
      ProcessNetwork& network = process->network();
      network.rates = {};
      network.writes_per_second = 0;
      network.writes_to_live = 0;
      calm_watches(network);
      process->correct_clock();
      process->resume();
      process->start();
    }
    for (int node = 1; node <= cluster_.racks * cluster_.nodes_per_rack; ++node) {
      create(storm_node(cluster_, node));
      remove(Kind::DeviceTaintRule, "broken-" + storm_node_name(node));
      Json back = Json::object();
      back["spec"] = Json::object({{"unschedulable", nullptr}});
      if (!failed_for_good_.contains(storm_node_name(node))) back["spec"]["taints"] = nullptr;
      back["metadata"]["labels"] = storm_node(cluster_, node).part("metadata").part("labels");
      patch(Kind::Node, storm_node_name(node), back);
    }
    for (const auto& [node, device] : ill_) report(node, device, health::Health::Healthy);
    delete_policies();
    // Devices that never become ready keep their pods waiting for ever, and block others.
    for (const auto& [name, words] : made_) {
      const std::string_view fabric = words.string_at("fabric");
      const bool never_ready = fabric == "never" || fabric.starts_with("fail") || fabric == kReadyTooLate;
      if (never_ready || is_flaky(words)) remove(Kind::Pod, name);
    }
  }

  const StormPlan& plan_;
  const StormOptions options_;
  StormCluster cluster_;
  ReportedHealth health_;                              // outlives the processes
  std::set<std::pair<std::string, std::string>> ill_;  // node, device: that were
  std::unique_ptr<HostileWorld> world_;
  SafetyChecker checker_;
  DefectsHeard defects_{checker_};
  StormResult result_;
  std::shared_ptr<void> heard_;
  std::map<std::string, Json> made_;  // pods, by name: their short forms
  std::set<std::string> flaky_;       // volume claims
  std::set<std::string> policies_;    // with their namespaces
  std::map<int, std::int64_t> generations_;
  std::vector<Aimed> aimed_;
  std::set<std::string> failed_for_good_;  // nodes
  bool healed_ = false;
  Time healed_at_;
  int interruptions_ = 0;  // of schedulers
};

Storm::Handler Storm::handler_of(std::string_view name) {
  static constexpr std::array kRows = {Row{"pod", &Storm::do_pod},
                                       Row{"replicas", &Storm::do_replicas},
                                       Row{"scale", &Storm::do_scale},
                                       Row{"group", &Storm::do_group},
                                       Row{"composite", &Storm::do_composite},
                                       Row{"claim", &Storm::do_claim},
                                       Row{"topology", &Storm::do_topology},
                                       Row{"lose-topology", &Storm::do_lose_topology},
                                       Row{"policy", &Storm::do_policy},
                                       Row{"delete-policy", &Storm::do_delete_policy},
                                       Row{"budget", &Storm::do_budget},
                                       Row{"volume-classes", &Storm::do_volume_classes},
                                       Row{"volume", &Storm::do_volume},
                                       Row{"volume-claim", &Storm::do_volume_claim},
                                       Row{"health-policy", &Storm::do_health_policy},
                                       Row{"flap-health", &Storm::do_flap_health},
                                       Row{"delete-pod", &Storm::do_delete_pod},
                                       Row{"force-delete-pod", &Storm::do_force_delete_pod},
                                       Row{"recreate-pod", &Storm::do_recreate_pod},
                                       Row{"resize-pod", &Storm::do_resize_pod},
                                       Row{"delete-group", &Storm::do_delete_group},
                                       Row{"edit-group", &Storm::do_edit_group},
                                       Row{"rival", &Storm::do_rival},
                                       Row{"flap-fabric", &Storm::do_flap_fabric},
                                       Row{"lose-node", &Storm::do_lose_node},
                                       Row{"taint-node", &Storm::do_taint_node},
                                       Row{"fail-node", &Storm::do_fail_node},
                                       Row{"cordon-node", &Storm::do_cordon_node},
                                       Row{"relabel-node", &Storm::do_relabel_node},
                                       Row{"republish", &Storm::do_republish},
                                       Row{"lose-device", &Storm::do_lose_device},
                                       Row{"taint-devices", &Storm::do_taint_devices},
                                       Row{"kill", &Storm::do_kill},
                                       Row{"kill-at-write", &Storm::do_kill_at_write},
                                       Row{"delete-lease", &Storm::do_delete_lease},
                                       Row{"stop", &Storm::do_stop},
                                       Row{"pause", &Storm::do_pause},
                                       Row{"jump-clock", &Storm::do_jump_clock},
                                       Row{"trouble", &Storm::do_trouble},
                                       Row{"watch-trouble", &Storm::do_watch_trouble},
                                       Row{"slow-writes", &Storm::do_slow_writes},
                                       Row{"outage", &Storm::do_outage}};
  for (const Row& row : kRows)
    if (row.name == name) return row.handler;
  return nullptr;
}

}  // namespace

StormPlan without_process_faults(StormPlan plan) {
  static constexpr std::array<std::string_view, 6> kOfProcesses = {"kill",  "kill-at-write", "stop",
                                                                   "pause", "jump-clock",    "delete-lease"};
  std::erase_if(plan.steps, [](const Json& step) {
    return std::find(kOfProcesses.begin(), kOfProcesses.end(), step.string_at("do")) != kOfProcesses.end();
  });
  return plan;
}

Result<StormResult> run_storm(const StormPlan& plan, const StormOptions& options) {
  return Storm(plan, options).run();
}

}  // namespace berth::sim
