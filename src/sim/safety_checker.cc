#include "sim/safety_checker.h"

#include <algorithm>
#include <array>
#include <optional>

#include "sim/naive_allocator.h"
#include "sim/storm_objects.h"

namespace berth::sim {
namespace {

// Excuses: a binder may have counted a member that its user deleted, or whose node was removed, before it
// could know. Watches lag 30 s, a request that its sender gave up arrives up to 40 s later, slow writes
// queue.
constexpr Duration kUnknowing = Duration::seconds(150);

std::string rejoin(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

template <class Map>
const typename Map::mapped_type* find(const Map& map, const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

bool is_refused(const StoredPod* pod) {
  return pod && pod->scheduled == "False" && pod->node.empty();
}

}  // namespace

void SafetyChecker::say(std::string sentence) {
  for (const std::string& prefix : ignored_)
    if (sentence.starts_with(prefix)) return;
  if (broken_.size() < kBrokenMax)
    broken_.push_back(std::move(sentence) + " (" + format_micro_time(now_) + ", version " +
                      std::to_string(revision_) + ")");
}

Json SafetyChecker::document_of(const store::ObjectPtr& object) const {
  return parser_ ? parser_(object) : parse_json(object->bytes).value_or(Json());
}

void SafetyChecker::apply(const store::WatchEvent& event, Time now, const Writer& writer) {
  struct Row {
    std::string_view resource;
    void (SafetyChecker::*handler)(const std::string& name, const Json* object);
  };
  static constexpr std::array kRows = {
      Row{"pods", &SafetyChecker::pod_event},
      Row{"resourceclaims.resource.k8s.io", &SafetyChecker::claim_event},
      Row{"bindrequests.scheduling.berth.dev", &SafetyChecker::request_event},
      Row{"podgroups.scheduling.k8s.io", &SafetyChecker::group_event},
      Row{"compositepodgroups.scheduling.k8s.io", &SafetyChecker::composite_event},
      Row{"leases.coordination.k8s.io", &SafetyChecker::lease_event},
      Row{"nodes", &SafetyChecker::node_event},
      Row{"resourceslices.resource.k8s.io", &SafetyChecker::slice_event},
      Row{"deviceclasses.resource.k8s.io", &SafetyChecker::class_event},
      Row{"devicetaintrules.resource.k8s.io", &SafetyChecker::taint_rule_event},
      Row{"persistentvolumes", &SafetyChecker::volume_event},
      Row{"persistentvolumeclaims", &SafetyChecker::volume_claim_event},
      Row{"storageclasses.storage.k8s.io", &SafetyChecker::volume_class_event},
      Row{"placementpolicies.scheduling.berth.dev", &SafetyChecker::policy_event},
      Row{"topologies.scheduling.berth.dev", &SafetyChecker::topology_event}};
  now_ = now;
  revision_ = event.object->revision;
  writer_ = writer.process;
  const store::Key& key = event.object->key;
  if (!writer.process.empty()) check_writer(key, writer);
  for (const Row& row : kRows) {
    if (row.resource != key.resource) continue;
    check_rate(key);
    const bool gone = event.kind == store::WatchEvent::Kind::Deleted;
    const Json object = gone ? Json() : document_of(event.object);
    return (this->*row.handler)(local_name(key.ns, key.name), gone ? nullptr : &object);
  }
}

namespace {

// The Lease that a process needs for writing; empty: none.
std::string lease_of(const std::string& process) {
  const std::string part = process.substr(0, process.find('-'));
  return part == "scheduler" || part == "binder" ? "berth-" + part : "";
}

bool is_free_of_terms(const std::string& resource) {
  return resource == "leases.coordination.k8s.io" || resource == "events";
}

}  // namespace

// A process must hold its Lease when a write leaves it.
void SafetyChecker::check_writer(const store::Key& key, const Writer& writer) {
  const std::string lease = lease_of(writer.process);
  if (lease.empty() || is_free_of_terms(key.resource)) return;
  std::string holder;
  for (const Holder& one : lease_holders_[lease])
    if (one.since <= writer.left) holder = one.process;
  // Whoever held a Lease that a user deleted learns of it at its next renewal.
  const Time* deleted = find(lease_deleted_, lease);
  if (holder != writer.process && !(deleted && now_ - *deleted < kUnknowing))
    say("I8: " + writer.process + " sent a write of " + key.resource + " " + local_name(key.ns, key.name) +
        " while " + (holder.empty() ? "nobody" : holder) + " held the Lease " + lease);
}

void SafetyChecker::lease_event(const std::string& name, const Json* object) {
  const std::size_t slash = name.find('/');
  if (slash == std::string::npos || !name.substr(slash + 1).starts_with("berth-")) return;
  if (!object) {
    lease_deleted_[name.substr(slash + 1)] = now_;
  } else if (name.substr(slash + 1) == "berth-scheduler") {
    lives_of_lease_.emplace(object->part("metadata").string_at("uid"), lives_of_lease_.size() + 1);
  }
  const std::string identity(object ? object->part("spec").string_at("holderIdentity") : "");
  const std::string process = identity.substr(0, identity.rfind('_'));
  std::vector<Holder>& holders = lease_holders_[name.substr(slash + 1)];
  if (holders.empty() || holders.back().process != process) holders.push_back({process, now_});
}

void SafetyChecker::check_rate(const store::Key& key) {
  Minute& of = minutes_[key];
  const std::int64_t minute = now_.micros() / Duration::minutes(1).micros();
  if (of.minute != minute) of = {minute, 0};
  if (++of.writes == kWritesAMinuteMax)
    say("I15: " + key.resource + " " + local_name(key.ns, key.name) + " was written " +
        std::to_string(of.writes) + " times in a minute");
}

void SafetyChecker::repaired(const std::string& row, const std::string& was, const std::string& is) {
  say("I16: a scheduler's model was wrong in " + row + ": " + was + " instead of " + is);
}

void SafetyChecker::swept(const std::string& entry) {
  say("I10: " + entry + " waited until the sweep and was placed then: no change had woken it");
}

// A decision of an older term that arrives in a newer one is withdrawn before it has any effect.
void SafetyChecker::check_term_of(const StoredPod& pod) {
  const auto names = state_.requests_of_pod.find(pod.uid);
  if (names == state_.requests_of_pod.end()) return;
  for (const std::string& name : names->second)
    if (const Time* landed = find(superseded_, name); landed && now_ - *landed > kUnknowing)
      say("I8: pod " + pod.name + " is bound by request " + name + " of an older term, which landed " +
          std::to_string((now_ - *landed).millis() / 1000) + " s before in a newer one");
}

void SafetyChecker::pod_event(const std::string& name, const Json* object) {
  const StoredPod* known = find(state_.pods, name);
  const std::optional<StoredPod> before = known ? std::optional(*known) : std::nullopt;
  if (object) state_.put_pod(read_pod(*object));
  pod_changed(before ? &*before : nullptr, object ? &state_.pods.at(name) : nullptr);
  if (!object) state_.erase_pod(name);
}

void SafetyChecker::claim_event(const std::string& name, const Json* object) {
  const StoredClaim* known = find(state_.claims, name);
  const std::optional<StoredClaim> before = known ? std::optional(*known) : std::nullopt;
  if (!object) {
    state_.erase_claim(name);
    return claim_changed(before ? &*before : nullptr, nullptr);
  }
  StoredClaim after = read_claim(*object);
  if (before && before->uid == after.uid) keep_attached(*before, after);
  state_.put_claim(std::move(after));
  claim_changed(before ? &*before : nullptr, &state_.claims.at(name));
}

// A device that was ready may report otherwise later: bindings that relied on it remain right.
void SafetyChecker::keep_attached(const StoredClaim& before, StoredClaim& after) {
  for (const StoredResult& result : after.results) {
    const auto told = before.true_.find(result.device);
    if (told == before.true_.end()) continue;
    for (const std::string& type : result.binding)
      if (told->second.contains(type)) after.true_[result.device].insert(type);
  }
}

// Requests in memory, and those of a gang's record, are judged by their results.
void SafetyChecker::request_event(const std::string& name, const Json* object) {
  if (!object) {
    state_.gang_records.erase(name);
    return state_.erase_request(name);
  }
  if (std::vector<std::string> members = members_of_record(*object); !members.empty())
    return void(state_.gang_records[name] = std::move(members));
  const StoredRequest* known = find(state_.requests, name);
  const std::optional<StoredRequest> before = known ? std::optional(*known) : std::nullopt;
  state_.put_request(read_request(*object));
  request_changed(before ? &*before : nullptr, state_.requests.at(name));
}

void SafetyChecker::group_event(const std::string& name, const Json* object) {
  if (!object) {
    if (const StoredGroup* gone = find(state_.groups, name)) trees_.group_gone(*gone);
    return void(state_.groups.erase(name));
  }
  const StoredGroup after = read_group(*object);
  group_changed(find(state_.groups, name), after);
  state_.groups[name] = after;
}

void SafetyChecker::composite_event(const std::string& name, const Json* object) {
  if (!object) return void(state_.composites.erase(name));
  const StoredComposite after = read_composite(*object);
  say_if(trees_.told(find(state_.composites, name), after, tree_excuses()));
  if (after.scheduled != "True")
    say_if(conduct_.told("composite group " + name, {after.scheduled, "", after.scheduled_message}, now_));
  state_.composites[name] = after;
}

TreeChecker::Excuses SafetyChecker::tree_excuses() const {
  return {[this](const StoredGroup& group) { return std::min(min_known_of(group), min_when_begun(group)); },
          [this](const std::string& group) { return lost_members(group); },
          [this](const std::string& node) {
            const Time* relabelled = find(relabelled_, node);
            return relabelled && now_ - *relabelled < kUnknowing;
          }};
}

void SafetyChecker::node_event(const std::string& name, const Json* object) {
  const StoredNode after = object ? read_node(*object) : StoredNode{};
  node_changed(name, find(state_.nodes, name), object ? &after : nullptr);
  if (object)
    state_.nodes[name] = after;
  else
    state_.nodes.erase(name);
}

void SafetyChecker::slice_event(const std::string& name, const Json* object) {
  if (!object) return void(state_.slices.erase(name));
  const StoredSlice after = read_slice(*object);
  slice_changed(name, after);
  state_.put_slice(name, after);
}

void SafetyChecker::class_event(const std::string& name, const Json* object) {
  state_.classes[name] = object ? read_class(*object) : std::vector<std::string>();
}

void SafetyChecker::taint_rule_event(const std::string& name, const Json* object) {
  if (const StoredTaintRule* before = find(state_.taint_rules, name))
    replacements_.taint_rule_ends(*before, now_);
  if (object)
    state_.taint_rules[name] = read_taint_rule(*object);
  else
    state_.taint_rules.erase(name);
}

void SafetyChecker::volume_event(const std::string& name, const Json* object) {
  if (!object) return void(state_.volumes.volumes.erase(name));
  const StoredVolume after = read_volume(*object);
  say_if(state_.volumes.volume_changed(find(state_.volumes.volumes, name), after));
  state_.volumes.volumes[name] = after;
}

void SafetyChecker::volume_claim_event(const std::string& name, const Json* object) {
  if (!object) return void(state_.volumes.claims.erase(name));
  const StoredVolumeClaim after = read_volume_claim(*object);
  say_if(state_.volumes.claim_changed(after));
  state_.volumes.claims[name] = after;
}

void SafetyChecker::volume_class_event(const std::string& name, const Json* object) {
  state_.volumes.classes[name] = object ? read_volume_class(*object) : StoredVolumeClass();
}

void SafetyChecker::pod_changed(const StoredPod* before, const StoredPod* after) {
  const bool same = before && after && before->uid == after->uid;
  refused_ += is_refused(after);
  refused_ -= is_refused(before);
  if (before && (!same || (after->deleting && !before->deleting))) pod_lost(*before);
  if (!after) return;
  if (!same) created_at_[after->uid] = now_;
  if (same && !before->node.empty() && before->node != after->node)
    say("I7: pod " + after->name + " moved from " + before->node + " to " + after->node);
  if (after->node.empty() && after->scheduled == "True")
    say("I17: pod " + after->name + " says that it is scheduled and has no node");
  // The Eviction API replaces the condition that a preemption wrote.
  if (after->preempted) preempted_.insert(after->uid);
  if (same && after->deleting && !before->deleting && !preempted_.contains(after->uid)) pod_leaves(*after);
  if (same && before->cpu_millis != after->cpu_millis)
    old_cpu_[after->uid] = {std::min(before->cpu_millis, after->cpu_millis), now_, now_ + kUnknowing};
  if (after->node.empty())
    say_if(conduct_.told("pod " + after->name,
                         {after->scheduled, after->scheduled_reason, after->scheduled_message}, now_));
  if (same && before->node.empty() && !after->node.empty()) pod_bound(*after);
}

void SafetyChecker::pod_lost(const StoredPod& pod) {
  if (pod.group.empty()) return;
  lost_[pod.group].push_back(now_);
}

// Neither preempted nor gone before.
void SafetyChecker::pod_leaves(const StoredPod& pod) {
  if (!pod.group.empty() && replacements_.is_about(pod.group, now_ - kUnknowing))
    say_if(replacements_.deleted(pod, writer_, now_ - kUnknowing));
  else if (pod.evicted && pod.of_set)
    pod_moved(pod);
}

// The scheduler may not know yet of members that were lost for other reasons.
void SafetyChecker::pod_moved(const StoredPod& pod) {
  moved_.push_back({pod.group, now_});
  const StoredGroup* group = pod.group.empty() ? nullptr : find(state_.groups, pod.group);
  if (!group || group->min == 0) return;
  std::int64_t members = 0;
  for (const std::string& name : state_.members[group->name])
    members += name != pod.name && state_.pods.at(name).runs_or_will() ? 1 : 0;
  for (const Time lost : lost_[group->name]) members += now_ - lost < kUnknowing;
  for (const Moved& one : moved_) members -= one.group == pod.group && now_ - one.at < kUnknowing;
  const std::int64_t min = least_known(old_min_, group->name, group->min);
  if (members < min)
    say("I18: pod " + pod.name + " is moved, and its gang " + group->name + " has " +
        std::to_string(members) + " of " + std::to_string(min) + " members");
}

std::size_t SafetyChecker::moves_since(Time since) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(moved_, [&](const Moved& one) { return one.at >= since; }));
}

void SafetyChecker::pod_bound(const StoredPod& pod) {
  ++bindings_;
  check_claims_of(pod);
  check_volumes_of(pod);
  check_node_of(pod);
  check_term_of(pod);
  say_if(fairness_.bound(pod, now_));
  const StoredGroup* group = pod.group.empty() ? nullptr : find(state_.groups, pod.group);
  if (!group) return;
  if (group->min > 0 && begun_.try_emplace(group->uid, min_behind(pod, *group)).second)
    check_gang_of(pod, *group);
  if (!group->key.empty()) check_domain_of(pod, *group);
  // A decision that no request records is younger than its pod.
  const Time* decided = find(decided_at_, pod.uid);
  if (!decided) decided = find(created_at_, pod.uid);
  if (decided) say_if(policies_.placed(pod, *decided - kUnknowing, tree_excuses().relabelled));
  if (group->parent.empty()) return;
  say_if(trees_.begun(pod, tree_excuses()));
  say_if(trees_.placed(pod, tree_excuses()));
}

void SafetyChecker::check_claims_of(const StoredPod& pod) {
  if (!pod.claims_known) return say("I3: pod " + pod.name + " is bound before all its claims have names");
  for (const std::string& name : pod.claims) {
    const StoredClaim* claim = find(state_.claims, name);
    const std::string who = "I3: pod " + pod.name + " is bound to " + pod.node;
    if (!claim || !claim->allocated) {
      say(who + " and its claim " + name + (claim ? " is not allocated" : " does not exist"));
      continue;
    }
    if (!state_.has_reserved(*claim, pod)) say(who + " and its claim " + name + " is not reserved for it");
    if (!state_.selects(claim->node_selector, pod.node))
      say(who + " where its claim " + name + " cannot be used");
    if (state_.has_reserved(*claim, pod) && !state_.is_held(name, pod))
      say(who + " before the devices of its claim " + name + " are attached");
    for (const StoredResult& result : claim->results)
      if (const auto* told = find(claim->true_, result.device))
        for (const std::string& type : result.failing)
          if (told->count(type) > 0) say(who + " although " + result.device + " says " + type);
  }
}

bool SafetyChecker::all_undone_decided_since(Time since) const {
  return std::ranges::all_of(state_.requests, [&](const auto& one) {
    const StoredRequest& request = one.second;
    const StoredPod* pod = state_.pod_by_uid(request.pod_uid);
    const bool undone = pod && pod->node.empty() && request.phase != "Failed";
    return !undone || decided_at_.at(request.pod_uid) >= since;
  });
}

void SafetyChecker::check_volumes_of(const StoredPod& pod) {
  if (pod.volume_claims.empty() || !find(state_.nodes, pod.node)) return;
  const std::string fault = state_.volumes.fault_of(
      pod.volume_claims, pod.node,
      [this](const Json& selector, const std::string& node) { return state_.selects(selector, node); });
  if (!fault.empty()) say("I3: pod " + pod.name + " is bound to " + pod.node + " and " + fault);
}

void SafetyChecker::check_node_of(const StoredPod& pod) {
  const StoredNode* node = find(state_.nodes, pod.node);
  if (!node) return;  // deleted during the binding
  const Time* decided = find(decided_at_, pod.uid);
  std::int64_t cpu_millis = 0, pods = 0;
  for (const auto& [name, other] : state_.pods) {
    if (other.node != pod.node || other.finished()) continue;
    cpu_millis += least_known(old_cpu_, other.uid, other.cpu_millis, decided);
    ++pods;
  }
  if (cpu_millis > node->cpu_millis || pods > node->pods)
    say("I7: node " + pod.node + " is asked for " + std::to_string(cpu_millis) + "m cpu and " +
        std::to_string(pods) + " pods, which is more than it offers, since pod " + pod.name + " is bound");
  check_gpus_of(pod, *node);
  check_gpu_devices_of(pod);
}

// Each shared GPU is given out at most once, and with the whole ones they are as many as the node has.
void SafetyChecker::check_gpus_of(const StoredPod& pod, const StoredNode& node) {
  if (pod.share_gpus == 0 && pod.node_gpus == 0) return;
  const std::set<std::string> different(pod.gpu_groups.begin(), pod.gpu_groups.end());
  if (static_cast<std::int64_t>(different.size()) != pod.share_gpus)
    say("I7: pod " + pod.name + " is bound with " + std::to_string(different.size()) + " GPU groups, not " +
        std::to_string(pod.share_gpus));
  std::map<std::string, std::int64_t> groups;
  std::int64_t whole = 0;
  for (const auto& [name, other] : state_.pods) {
    if (other.node != pod.node || other.finished()) continue;
    whole += other.node_gpus;
    for (const std::string& group : other.gpu_groups) groups[group] += other.share;
  }
  for (const auto& [group, hundredths] : groups)
    if (hundredths > 100)
      say("I7: " + group + " of node " + pod.node + " is given out " + std::to_string(hundredths) +
          " hundredths, since pod " + pod.name + " is bound");
  if (whole + static_cast<std::int64_t>(groups.size()) > node.gpus)
    say("I7: node " + pod.node + " has " + std::to_string(node.gpus) + " GPUs, and " + std::to_string(whole) +
        " whole and " + std::to_string(groups.size()) + " shared ones are in use, since pod " + pod.name +
        " is bound");
}

// With reservation pods: all users of a GPU group have the device that its reservation pod holds.
void SafetyChecker::check_gpu_devices_of(const StoredPod& pod) {
  for (std::size_t i = 0; i < pod.gpu_devices.size(); ++i) {
    const std::string& group = pod.gpu_groups.at(i);
    bool held = false;
    for (const auto& [name, other] : state_.pods) {
      const auto at = std::find(other.gpu_groups.begin(), other.gpu_groups.end(), group);
      if (other.node != pod.node || other.finished() || at == other.gpu_groups.end()) continue;
      const auto index = static_cast<std::size_t>(at - other.gpu_groups.begin());
      if (index >= other.gpu_devices.size() || other.gpu_devices[index] != pod.gpu_devices[i])
        say("I7: pod " + pod.name + " is bound with device " + pod.gpu_devices[i] + " of " + group +
            " and pod " + name + " has another one");
      held = held || (name.starts_with(kReservationPods) && !other.deleting);
    }
    if (!held) say("I7: pod " + pod.name + " is bound while no reservation pod holds its " + group);
  }
}

// The smallest amount that a scheduler may have used. `decided`: when it decided, if known.
std::int64_t SafetyChecker::least_known(const std::map<std::string, OldAmount>& old, const std::string& key,
                                        std::int64_t now, const Time* decided) const {
  const OldAmount* before = find(old, key);
  const bool excused = before && (now_ < before->until || (decided && *decided <= before->changed));
  return excused ? std::min(now, before->amount) : now;
}

std::int64_t SafetyChecker::min_known_of(const StoredGroup& group) const {
  return least_known(old_min_, group.name, group.min);
}

// The minimum of the pod's group that counts for its binding. A member with a single decision waits for no
// other one, and a gang that is committed is bound: later edits of the group do not affect them, however late
// the binding comes.
std::int64_t SafetyChecker::min_behind(const StoredPod& pod, const StoredGroup& group) const {
  std::int64_t min = min_known_of(group);
  if (const std::int64_t* decided_by = find(min_when_decided_, pod.uid)) min = std::min(min, *decided_by);
  if (const auto names = state_.requests_of_pod.find(pod.uid); names != state_.requests_of_pod.end())
    for (const std::string& name : names->second)
      if (const std::int64_t* committed = find(min_when_committed_, state_.requests.at(name).decision))
        min = std::min(min, *committed);
  return min;
}

void SafetyChecker::check_gang_of(const StoredPod& pod, const StoredGroup& group) {
  const std::int64_t min = min_behind(pod, group);
  std::int64_t ready = 0;
  std::set<std::string> missing;
  for (const std::string& name : state_.members[group.name]) {
    const StoredPod& member = state_.pods.at(name);
    if (!member.node.empty() || state_.is_prepared(member))
      ++ready;
    else
      missing.insert(name);
  }
  for (const Time lost : lost_[group.name]) ready += now_ - lost < kUnknowing;
  if (ready < min)
    say("I4: " + pod.name + " of gang " + group.name + " is bound while " + std::to_string(ready) +
        " of the " + std::to_string(min) +
        " members that it needs are bound or prepared (not: " + rejoin(missing) + ")");
}

// By the nodes' current labels, or by those at the time when members were bound there.
void SafetyChecker::check_domain_of(const StoredPod& pod, const StoredGroup& group) {
  std::set<std::string> now, at_bind;
  for (const std::string& name : state_.members[group.name]) {
    const StoredPod& member = state_.pods.at(name);
    const StoredNode* node = find(state_.nodes, member.node);
    if (!member.runs_or_will() || !node) continue;
    const Time* relabelled = find(relabelled_, member.node);
    if (relabelled && now_ - *relabelled < kUnknowing) return;
    const auto label = node->labels.find(group.key);
    const std::string domain = label == node->labels.end() ? "no domain" : label->second;
    now.insert(domain);
    at_bind.insert(domain_at_bind_.try_emplace(member.uid, domain).first->second);
  }
  if (now.size() > 1 && at_bind.size() > 1)
    say("I5: members of group " + group.name + " are bound in " + rejoin(now) + " since pod " + pod.name +
        " is bound");
}

void SafetyChecker::claim_changed(const StoredClaim* before, const StoredClaim* after) {
  const bool same = before && after && before->uid == after->uid;
  if (before) {
    for (const std::string& uid : before->reserved) {
      if (same && after->reserved.count(uid) > 0) continue;
      for (const auto& [name, pod] : state_.pods)
        if (pod.runs_or_will() && state_.is_entry_of(*before, uid, pod) &&
            !(same && state_.has_reserved(*after, pod)))
          say("I3: claim " + before->name + " is no longer reserved for " + pod.name + ", which is bound");
    }
  }
  if (!after || rivalled_.contains(after->uid)) return;
  std::set<std::string> old;
  if (same)
    for (const StoredResult& result : before->results) old.insert(result.device);
  bool fresh = after->allocated && !(same && before->allocated);
  for (const StoredResult& result : after->results) {
    if (old.contains(result.device)) continue;
    fresh = true;
    if (!result.admin) check_device(result, *after);
  }
  if (!fresh) return;
  check_allocation(*after);
  if (!after->has_finalizer)
    say("I3: claim " + after->name + " is allocated without the finalizer that keeps it");
}

void SafetyChecker::check_device(const StoredResult& result, const StoredClaim& claim) {
  const std::string& device = result.device;
  const auto known = state_.catalog.find(device);
  if (known == state_.catalog.end())
    return say("I1: device " + device + " of claim " + claim.name + " never was");
  StoredAmounts consumed;
  for (const auto& [other, hold] : state_.holders[device]) {
    if (other == claim.name || !is_left_over(other))
      for (const auto& [capacity, amount] : hold.consumed) consumed[capacity] += amount;
    if (other == claim.name || rivalled_.contains(state_.claims.at(other).uid)) continue;
    if (hold.whole || !result.share)
      say("I1: device " + device + " is allocated to claim " + claim.name + " and to claim " + other);
  }
  for (const auto& [capacity, amount] : consumed)
    if (amount > known->second.capacity.at(capacity))
      say("I1: capacity " + capacity + " of device " + device + " is overdrawn since claim " + claim.name +
          " has a share of it");
  check_counters(known->second, claim);
}

void SafetyChecker::check_allocation(const StoredClaim& claim) {
  const std::string fault = fault_of_allocation(state_, claim);
  if (!fault.empty()) say("I2: claim " + claim.name + " is allocated and " + fault);
  for (const auto& alternatives : claim.requests)
    for (const StoredWant& want : alternatives)
      if (want.all) check_all(claim, want);
}

// An All request has every device that it selects, on the node of its devices.
void SafetyChecker::check_all(const StoredClaim& claim, const StoredWant& want) {
  std::set<std::string> has;
  std::string node;
  for (const StoredResult& result : claim.results)
    if (result.request == want.name) {
      has.insert(result.device);
      if (const StoredDevice* device = find(state_.catalog, result.device)) node = device->node;
    }
  if (has.empty()) return;
  for (const StoredDevice* device : usable_devices(state_))
    if (device->node == node && !has.contains(device->key) && was_published(device->key) &&
        is_selected(state_, want, *device))
      say("I2: claim " + claim.name + " is allocated and " + want.name + ", which wants all, is without " +
          device->key);
}

// Only finished pods have it: a scheduler that sees those finish before it sees their claim allocated may
// give its shares and counters away until the claim is deallocated.
bool SafetyChecker::is_left_over(const std::string& name) const {
  const StoredClaim& claim = state_.claims.at(name);
  return !claim.reserved.empty() &&
         std::all_of(claim.reserved.begin(), claim.reserved.end(), [&](const std::string& uid) {
           const StoredPod* pod = state_.pod_by_uid(uid);
           return pod && pod->finished();
         });
}

bool SafetyChecker::is_in_use(const std::string& device) const {
  const auto holders = state_.holders.find(device);
  return holders != state_.holders.end() &&
         std::any_of(holders->second.begin(), holders->second.end(),
                     [&](const auto& holder) { return !is_left_over(holder.first); });
}

void SafetyChecker::check_counters(const StoredDevice& device, const StoredClaim& claim) {
  if (!was_published(device.key)) return;
  for (const StoredDraw& draw : device.draws) {
    std::int64_t drawn = 0;
    std::set<std::string> common = draw.groups;
    for (const std::string& key : state_.devices_of_set[draw.set]) {
      if (!is_in_use(key) || !was_published(key)) continue;
      for (const StoredDraw& other : state_.catalog.at(key).draws) {
        if (other.set != draw.set || other.counter != draw.counter) continue;
        drawn += other.amount;
        std::erase_if(common, [&](const std::string& group) { return other.groups.count(group) == 0; });
      }
    }
    const std::string since = " since " + device.key + " is allocated to claim " + claim.name;
    if (drawn > state_.counters[draw.set + " " + draw.counter])
      say("I1: counter " + draw.counter + " of " + draw.set + " is overdrawn" + since);
    if (!draw.groups.empty() && common.empty())
      say("I1: devices of " + draw.set + " are held without a common compatibility group" + since);
  }
}

void SafetyChecker::request_changed(const StoredRequest* before, const StoredRequest& after) {
  const bool decided = !before || before->decision != after.decision;
  if (decided) {
    superseded_.erase(after.name);
    const std::size_t* life = find(lives_of_lease_, after.lease_uid);
    const std::pair term(life ? *life : 0, after.epoch);
    if (after.epoch > 0 && term < latest_term_) superseded_[after.name] = now_;
    latest_term_ = std::max(latest_term_, term);
    decided_at_[after.pod_uid] = now_;
    note_minimum(after);
    if (const StoredPod* pod = state_.pod_by_uid(after.pod_uid)) fairness_.decided(*pod);
  }
  if (state_.requests_of_pod[after.pod_uid].size() > 1)
    say("I15: pod " + after.pod_name + " has " +
        std::to_string(state_.requests_of_pod[after.pod_uid].size()) + " bind requests");
  if (!decided && (after.failed_attempts < before->failed_attempts || after.failed_attempts < 0))
    say("I17: attempts of request " + after.name + " went from " + std::to_string(before->failed_attempts) +
        " to " + std::to_string(after.failed_attempts));
  if (!decided) say_if(ConductChecker::attempted(*before, after));
  const StoredPod* member = after.step == "WaitingForGang" ? state_.pod_by_uid(after.pod_uid) : nullptr;
  if (const StoredGroup* group = member ? find(state_.groups, member->group) : nullptr;
      group && group->min == 0 && after.root.empty())
    say("I4: request " + after.name + " waits for the other members of a group without a minimum");
  if (after.phase != "Succeeded" || (before && before->phase == "Succeeded")) return;
  const StoredPod* pod = state_.pod_by_uid(after.pod_uid);
  if (pod && pod->node != after.node)
    say("I17: bind request " + after.name + " says that its pod is bound to " + after.node + ", which " +
        (pod->node.empty() ? "is not bound" : "is bound to " + pod->node));
}

void SafetyChecker::note_minimum(const StoredRequest& request) {
  min_when_decided_.erase(request.pod_uid);
  const StoredPod* pod = request.group_size == 1 ? state_.pod_by_uid(request.pod_uid) : nullptr;
  const StoredGroup* group = pod ? find(state_.groups, pod->group) : nullptr;
  if (group) min_when_decided_[request.pod_uid] = min_known_of(*group);
}

void SafetyChecker::group_changed(const StoredGroup* before, const StoredGroup& after) {
  if (!after.committed.empty()) min_when_committed_.try_emplace(after.committed, after.min);
  if (before && before->uid == after.uid && before->min != after.min)
    old_min_[after.name] = {std::min(before->min, after.min), now_, now_ + kUnknowing};
  std::int64_t there = lost_members(after.name);
  for (const std::string& name : state_.members[after.name]) there += !state_.pods.at(name).node.empty();
  StoredGroup told = after;  // the outcome of a tree is on its root
  for (const StoredComposite* above = find(state_.composites, after.parent); above;
       above = find(state_.composites, above->parent))
    if (told.committed.empty()) told.committed = above->committed;
  say_if(ConductChecker::group_told(before, told, there, min_known_of(after)));
  if (after.scheduled != "True")
    say_if(conduct_.told("group " + after.name, {after.scheduled, "", after.scheduled_message}, now_));
}

void SafetyChecker::slice_changed(const std::string& name, const StoredSlice& after) {
  std::set<std::string> published;
  for (const StoredDevice& device : after.devices) {
    published.insert(device.key);
    if (absent_.erase(device.key) > 0) returned_[device.key] = now_;
  }
  const StoredSlice* before = find(state_.slices, name);
  if (!before) return;
  for (const StoredDevice& device : before->devices)
    if (published.count(device.key) == 0) absent_.insert(device.key);
}

// Counters and groups of a device that its driver removed are unknown, also while a claim holds it.
bool SafetyChecker::was_published(const std::string& device) const {
  if (absent_.count(device) > 0) return false;
  const Time* returned = find(returned_, device);
  return !returned || now_ - *returned >= kUnknowing;
}

void SafetyChecker::node_changed(const std::string& name, const StoredNode* before, const StoredNode* after) {
  if (before && after && before->labels != after->labels) relabelled_[name] = now_;
  replacements_.node_changed(name, before, after, now_);
  if (!before || after) return;
  for (const auto& [request_name, request] : state_.requests) {
    if (request.node != name || !request.is_live()) continue;
    const StoredPod* pod = state_.pod_by_uid(request.pod_uid);
    if (pod) pod_lost(*pod);
  }
}

}  // namespace berth::sim
