#include "health/health_policy.h"

#include <algorithm>
#include <set>

#include "api/serialized.h"
#include "api/types/health_policy.h"
#include "api/types/node_device_health.h"
#include "base/hex.h"
#include "base/stable_hash.h"
#include "health/node_reports.h"

namespace berth::health {
namespace {

using api::DeviceHealthPolicy;
using api::DeviceTaintRule;
using api::Kind;
using client::Effects;
using client::View;

constexpr std::string_view kNoExecute = "NoExecute", kNoSchedule = "NoSchedule";
constexpr std::size_t kCauseBytesMax = 512;
constexpr std::size_t kPolicyEventsPerRunMax = 8;

struct DeviceSeen {
  std::string node;
  DeviceHealth health;
  std::optional<Time> matching_since, healthy_since;
};
using Devices = std::map<DeviceName, DeviceSeen>;
using Snapshots = std::map<std::string, HealthFeed::Snapshot>;  // by node

// What a policy has seen of its driver's devices.
struct Observed {
  Devices devices;
  std::set<DeviceName> matching;
  Snapshots applied;
  std::string asked;  // what made a device match
};

void begin_or_end(std::optional<Time>& begin, bool holds, Time now) {
  if (!holds)
    begin.reset();
  else if (!begin)
    begin = now;
}

const DriverHealth* driver_in(const HealthFeed::Snapshot& snapshot, const std::string& driver) {
  const auto found = snapshot->drivers.find(driver);
  return found == snapshot->drivers.end() ? nullptr : &found->second;
}

// Whether a device that a node reported is in its report no longer.
bool loses_devices(const Snapshots& before, const Snapshots& now, const std::string& driver) {
  for (const auto& [node, snapshot] : before) {
    const auto newer = now.find(node);
    if (newer != now.end() && newer->second == snapshot) continue;
    const DriverHealth* had = driver_in(snapshot, driver);
    if (!had || had->devices.empty()) continue;
    const DriverHealth* has = newer == now.end() ? nullptr : driver_in(newer->second, driver);
    if (!has) return true;
    for (const auto& [name, health] : had->devices)
      if (!has->devices.contains(name)) return true;
  }
  return false;
}

void see_device(Observed& observed, const DeviceHealthPolicy& policy, const std::string& node,
                const DeviceName& name, const DeviceHealth& health, Time now) {
  DeviceSeen& device = observed.devices[name];
  device.node = node;
  device.health = health;
  const bool matches =
      name_of(health.health) == policy.health && api::matches_pattern(policy.message_pattern, health.message);
  begin_or_end(device.matching_since, matches, now);
  begin_or_end(device.healthy_since, health.health == Health::Healthy, now);
  if (matches)
    observed.matching.insert(name);
  else
    observed.matching.erase(name);
}

// Follows what agents say now. Two nodes may report one device: the first by name counts.
void observe(Observed& observed, const DeviceHealthPolicy& policy, Snapshots snapshots, Time now) {
  const std::string asked = policy.driver + "\n" + policy.health + "\n" + policy.message_pattern;
  const bool all = observed.asked != asked || loses_devices(observed.applied, snapshots, policy.driver);
  std::set<DeviceName> seen;
  for (const auto& [node, snapshot] : snapshots) {
    const auto before = observed.applied.find(node);
    if (!all && before != observed.applied.end() && before->second == snapshot) continue;
    const DriverHealth* driver = driver_in(snapshot, policy.driver);
    if (!driver) continue;
    for (const auto& [name, health] : driver->devices) {
      if (all && !seen.insert(name).second) continue;
      const auto known = all ? observed.devices.end() : observed.devices.find(name);
      if (known != observed.devices.end() && known->second.node < node) continue;
      see_device(observed, policy, node, name, health, now);
    }
  }
  if (all) {
    std::erase_if(observed.devices, [&](const auto& entry) { return !seen.contains(entry.first); });
    std::erase_if(observed.matching, [&](const DeviceName& name) { return !seen.contains(name); });
  }
  observed.asked = asked;
  observed.applied = std::move(snapshots);
}

// How many devices of each scope have a NoExecute rule.
class Budgets {
 public:
  Budgets(const View& view, const DeviceHealthPolicy& policy) : view_(view), policy_(policy) {}

  void count(const std::string& node) {
    ++cluster_;
    ++nodes_[node];
    ++racks_[rack_of(node)];
  }
  bool allows(const std::string& node) {
    const auto below = [](std::int64_t count, const std::optional<std::int64_t>& limit) {
      return !limit || count < *limit;
    };
    return below(cluster_, policy_.per_cluster) && below(nodes_[node], policy_.per_node) &&
           below(racks_[rack_of(node)], policy_.per_rack);
  }

 private:
  // Nodes without the label are a rack together: the careful reading.
  std::string rack_of(const std::string& node) const {
    const api::Node* found = view_.nodes.find("", node);
    if (!found || policy_.rack_label.empty()) return "";
    const auto label = found->meta.labels.find(policy_.rack_label);
    return label == found->meta.labels.end() ? "" : label->second;
  }
  const View& view_;
  const DeviceHealthPolicy& policy_;
  std::int64_t cluster_ = 0;
  std::map<std::string, std::int64_t> nodes_, racks_;
};

api::ObjectKey key_of_rule(const std::string& name) {
  return {Kind::DeviceTaintRule, "", name, {}};
}

std::string device_text(const DeviceHealthPolicy& policy, const DeviceName& name) {
  return policy.driver + "/" + name.pool + "/" + name.device;
}

std::string rule_name(const DeviceHealthPolicy& policy, const DeviceName& name) {
  return "device-health-" + hex_of(stable_hash(policy.meta.uid + "/" + device_text(policy, name)));
}

client::Write new_rule(const DeviceHealthPolicy& policy, const DeviceName& name, const DeviceSeen& device,
                       std::string_view effect) {
  const api::OwnerReference owner{"scheduling.berth.dev/v1alpha1",
                                  std::string(api::kHealthPolicyKind),
                                  policy.meta.name,
                                  policy.meta.uid,
                                  true,
                                  false};
  std::string cause =
      "DeviceHealthPolicy " + policy.meta.name + ": " + std::string(name_of(device.health.health));
  if (!device.health.message.empty()) cause += ": " + device.health.message;
  Json meta = Json::object({{"name", rule_name(policy, name)},
                            {"labels", Json::object({{kTaintedNodeLabel.data(), device.node}})},
                            {"ownerReferences", Json::array({api::to_json(owner)})}});
  meta["annotations"][kTaintCauseAnnotation] = bounded_message(std::move(cause), kCauseBytesMax);
  const Json selector =
      Json::object({{"driver", policy.driver}, {"pool", name.pool}, {"device", name.device}});
  const Json taint =
      Json::object({{"key", kHealthTaintKey}, {"value", name_of(device.health.health)}, {"effect", effect}});
  client::Write write = client::create(
      Kind::DeviceTaintRule, "",
      Json::object({{"apiVersion", api::ref_of(Kind::DeviceTaintRule).api_version()},
                    {"kind", "DeviceTaintRule"},
                    {"metadata", std::move(meta)},
                    {"spec", Json::object({{"deviceSelector", selector}, {"taint", taint}})}}));
  write.fine_reasons = {"AlreadyExists"};
  return write;
}

bool is_owned_by(const DeviceTaintRule& rule, const std::string& uid) {
  const api::OwnerReference* owner = rule.meta.controller();
  return owner && owner->uid == uid;
}

// One run over one policy.
class PolicyRun {
 public:
  PolicyRun(const View& view, const api::ObjectKey& key, const DeviceHealthPolicy& policy,
            const Observed& observed, Time now)
      : view_(view),
        key_(key),
        policy_(policy),
        devices_(observed.devices),
        matching_(observed.matching),
        now_(now),
        budgets_(view, policy) {}

  Effects effects() {
    read_rules();
    for (const auto& [name, rule] : rules_) keep_or_lift(name, *rule);
    for (const auto& [name, rule] : kept_)
      if (rule->taint.effect == kNoExecute && policy_.effect == kNoExecute) budgets_.count(node_of(*rule));
    for (const auto& [name, rule] : kept_) set_effect(name, *rule);
    taint_due();
    for (client::EventNote& note : effects_.events) note.regarding_uid = policy_.meta.uid;
    return std::move(effects_);
  }
  std::size_t tainted() const { return tainted_; }
  std::size_t over_budget() const { return over_budget_; }

 private:
  void read_rules() {
    for (const auto& [name, rule] : view_.taint_rules.all())
      if (is_owned_by(*rule, policy_.meta.uid) && !rule->meta.deleting())
        rules_[{rule->pool, rule->device}] = rule.get();
  }

  static std::string node_of(const DeviceTaintRule& rule) {
    const auto label = rule.meta.labels.find(kTaintedNodeLabel);
    return label == rule.meta.labels.end() ? "" : label->second;
  }

  void wake(Time at) {
    if (!effects_.wake_at || at < *effects_.wake_at) effects_.wake_at = at;
  }
  bool may_write() {
    if (effects_.chains.size() < kRuleWritesPerRunMax) return true;
    wake(now_);
    return false;
  }
  void write(const std::string& rule, client::Write write) {
    effects_.chains.push_back({key_of_rule(rule), {std::move(write)}});
  }
  void note(bool warning, const char* reason, std::string message) {
    if (effects_.events.size() < kPolicyEventsPerRunMax)
      effects_.events.push_back({key_, "", warning, reason, "ApplyPolicy", std::move(message)});
  }

  void keep_or_lift(const DeviceName& name, const DeviceTaintRule& rule) {
    const auto device = devices_.find(name);
    const bool healthy = device != devices_.end() && device->second.healthy_since;
    const bool node_gone = !view_.nodes.find("", node_of(rule));
    if (healthy && now_ < *device->second.healthy_since + policy_.recover_after)
      wake(*device->second.healthy_since + policy_.recover_after);
    const bool lift = rule.driver != policy_.driver || node_gone ||
                      (healthy && now_ >= *device->second.healthy_since + policy_.recover_after);
    if (!lift || !may_write()) {
      kept_[name] = &rule;
      return;
    }
    write(rule.meta.name, client::delete_object(key_of_rule(rule.meta.name), rule.meta.uid));
    effects_.chains.back().writes.back().fine_reasons = {"NotFound"};
    note(false, "DeviceTaintLifted",
         "device " + device_text(policy_, name) +
             (node_gone ? ": its node is gone" : " is healthy for long enough"));
  }

  // The effect that a device may have now; counts it against the budgets.
  std::string_view allowed_effect(const std::string& node, bool counted) {
    if (policy_.effect != kNoExecute || counted) return policy_.effect;
    if (budgets_.allows(node)) {
      budgets_.count(node);
      return kNoExecute;
    }
    ++over_budget_;
    return kNoSchedule;
  }

  void set_effect(const DeviceName& name, const DeviceTaintRule& rule) {
    ++tainted_;
    const bool counted = rule.taint.effect == kNoExecute && policy_.effect == kNoExecute;
    // A device that recovers gets no harsher effect.
    const auto device = devices_.find(name);
    const bool matches = device != devices_.end() && device->second.matching_since;
    if (!counted && policy_.effect == kNoExecute && !matches) return;
    const std::string_view effect = allowed_effect(node_of(rule), counted);
    if (rule.taint.effect == effect || !may_write()) return;
    const Json taint = Json::object({{"effect", effect}, {"timeAdded", Json()}});
    write(rule.meta.name, client::merge_patch(key_of_rule(rule.meta.name),
                                              Json::object({{"spec", Json::object({{"taint", taint}})}}),
                                              rule.meta.uid, rule.meta.resource_version));
    note(effect == kNoExecute, "DeviceTaintChanged",
         "device " + device_text(policy_, name) + " is tainted " + std::string(effect));
  }

  // A rule goes with its node, so none is made while the node is not there, whatever is still reported.
  void taint_due() {
    std::vector<std::pair<Time, const DeviceName*>> due;
    for (const DeviceName& name : matching_) {
      const DeviceSeen& device = devices_.at(name);
      if (rules_.contains(name) || !view_.nodes.find("", device.node)) continue;
      const Time at = *device.matching_since + policy_.hold_for;
      if (at <= now_)
        due.emplace_back(at, &name);
      else
        wake(at);
    }
    std::sort(due.begin(), due.end(), [](const auto& a, const auto& b) {
      return std::tie(a.first, *a.second) < std::tie(b.first, *b.second);
    });
    for (const auto& [at, name] : due) {
      if (!may_write()) return;
      const DeviceSeen& device = devices_.at(*name);
      const std::string_view effect = allowed_effect(device.node, false);
      const bool less = effect != policy_.effect;
      ++tainted_;
      write(rule_name(policy_, *name), new_rule(policy_, *name, device, effect));
      note(true, "DeviceTainted",
           "device " + device_text(policy_, *name) + " is tainted " + std::string(effect) +
               (less ? " and not NoExecute: the budgets are used up" : ""));
    }
  }

  const View& view_;
  const api::ObjectKey& key_;
  const DeviceHealthPolicy& policy_;
  const Devices& devices_;
  const std::set<DeviceName>& matching_;
  const Time now_;
  Budgets budgets_;
  std::map<DeviceName, const DeviceTaintRule*> rules_, kept_;
  std::size_t tainted_ = 0, over_budget_ = 0;
  Effects effects_;
};

class HealthPolicies final : public client::Reconciler {
 public:
  explicit HealthPolicies(HealthFeed* feed) : feed_(feed) {}

  std::string_view name() const override { return kHealthPolicyName; }

  std::vector<client::Interest> interests() const override {
    const auto of_node = [](const View& view, const client::Delta& delta, std::vector<api::ObjectKey>& keys) {
      if (!delta.after || !delta.before) add_all(view, keys);
    };
    const auto of_rule = [](const View& view, const client::Delta&, std::vector<api::ObjectKey>& keys) {
      add_all(view, keys);
    };
    const auto itself = [](const View&, const client::Delta& delta, std::vector<api::ObjectKey>& keys) {
      keys.push_back(delta.key);
    };
    const auto of_report = [this](const View& view, const client::Delta& delta,
                                  std::vector<api::ObjectKey>& keys) {
      reports_.note(delta);
      add_all(view, keys);
    };
    return {{Kind::Other, api::health_policy_resource(), itself},
            {Kind::Other, api::node_device_health_resource(), of_report},
            {Kind::DeviceTaintRule, {}, of_rule},
            {Kind::Node, {}, of_node}};
  }

  void signalled(const View& view, const api::ObjectKey&, std::vector<api::ObjectKey>& keys) const override {
    add_all(view, keys);
  }

  Effects reconcile(const View& view, const api::ObjectKey& key, Time now) override {
    const auto others = view.others.find(api::health_policy_resource());
    const api::AnyObject* found = others == view.others.end() ? nullptr : others->second.find("", key.name);
    const Result<Json> object = found ? api::parse_object(*found->raw) : Result<Json>(Json());
    // The rules of a policy that goes are collected with it.
    if (!found || !object || found->meta.deleting()) {
      memories_.erase(key.name);
      return Effects::nothing();
    }
    const DeviceHealthPolicy policy = api::decode_health_policy(*object);
    Memory& memory = memories_[key.name];
    if (memory.uid != policy.meta.uid) memory = {policy.meta.uid, {}};
    observe(memory.observed, policy, snapshots(view, now), now);
    PolicyRun run(view, key, policy, memory.observed, now);
    Effects effects = run.effects();
    const Json status =
        Json::object({{"matchingDevices", static_cast<std::int64_t>(memory.observed.matching.size())},
                      {"taintedDevices", static_cast<std::int64_t>(run.tainted())},
                      {"devicesOverBudget", static_cast<std::int64_t>(run.over_budget())}});
    add_status(effects, key, policy, object->part("status"), status);
    if (const auto silence = reports_.next_wake();
        silence && (!effects.wake_at || *silence < *effects.wake_at))
      effects.wake_at = silence;
    return effects;
  }

 private:
  struct Memory {
    std::string uid;
    Observed observed;
  };

  static void add_all(const View& view, std::vector<api::ObjectKey>& keys) {
    for (api::ObjectKey& key : view.keys(Kind::Other, api::health_policy_resource()))
      keys.push_back(std::move(key));
  }

  // Of the nodes that exist. What an agent here says of a node stands above an object.
  Snapshots snapshots(const View& view, Time now) {
    reports_.refresh(now);
    Snapshots all = feed_ ? feed_->all() : Snapshots();
    for (const auto& [node, snapshot] : reports_.all())
      if (view.nodes.find("", node)) all.try_emplace(node, snapshot);
    return all;
  }

  static void add_status(Effects& effects, const api::ObjectKey& key, const DeviceHealthPolicy& policy,
                         const Json& told, const Json& status) {
    for (const JsonMember& member : status.as_object())
      if (told.int_at(member.key) != member.value.as_int()) {
        effects.chains.push_back(
            {key,
             {client::merge_patch(key, Json::object({{"status", status}}), policy.meta.uid, 0, "status")}});
        return;
      }
  }

  HealthFeed* feed_;
  mutable NodeReports reports_;
  std::map<std::string, Memory> memories_;  // by policy
};

}  // namespace

std::unique_ptr<client::Reconciler> make_health_policies(HealthFeed* feed) {
  return std::make_unique<HealthPolicies>(feed);
}

}  // namespace berth::health
