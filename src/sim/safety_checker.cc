#include "sim/safety_checker.h"

#include <algorithm>

namespace berth::sim {
namespace {

// Excuses: a member that its user deleted, or whose node went, may have been counted by a binder that could
// not know yet. Watches lag 30 s, a request that is called lost lands up to 40 s later, slow writes queue.
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

void SafetyChecker::apply(const store::Event& event, Time now) {
  now_ = now;
  revision_ = event.object->revision;
  const std::string& resource = event.object->key.resource;
  const std::string& name = event.object->key.name;
  const bool gone = event.kind == store::Event::Kind::Deleted;
  const auto json = [&] { return parse_json(event.object->bytes).value_or(Json()); };
  if (resource == "pods") {
    const auto found = state_.pods.find(name);
    const std::optional<StoredPod> before =
        found == state_.pods.end() ? std::nullopt : std::optional(found->second);
    if (!gone) state_.put_pod(read_pod(json()));
    if (gone) pod_changed(before ? &*before : nullptr, nullptr);
    if (gone) return state_.erase_pod(name);
    pod_changed(before ? &*before : nullptr, &state_.pods.at(name));
  } else if (resource == "resourceclaims.resource.k8s.io") {
    const auto found = state_.claims.find(name);
    const std::optional<StoredClaim> before =
        found == state_.claims.end() ? std::nullopt : std::optional(found->second);
    gone ? state_.erase_claim(name) : state_.put_claim(read_claim(json()));
    claim_changed(before ? &*before : nullptr, gone ? nullptr : &state_.claims.at(name));
  } else if (resource == "bindrequests.scheduling.berth.dev") {
    if (gone) return state_.erase_request(name);
    const auto found = state_.requests.find(name);
    const std::optional<StoredRequest> before =
        found == state_.requests.end() ? std::nullopt : std::optional(found->second);
    state_.put_request(read_request(json()));
    request_changed(before ? &*before : nullptr, state_.requests.at(name));
  } else if (resource == "podgroups.scheduling.k8s.io") {
    if (gone) {
      state_.groups.erase(name);
      return;
    }
    const StoredGroup after = read_group(json());
    group_changed(find(state_.groups, name), after);
    state_.groups[name] = after;
  } else if (resource == "nodes") {
    const StoredNode after = gone ? StoredNode{} : read_node(json());
    node_changed(name, find(state_.nodes, name), gone ? nullptr : &after);
    gone ? void(state_.nodes.erase(name)) : void(state_.nodes[name] = after);
  } else if (resource == "resourceslices.resource.k8s.io") {
    if (gone) {
      state_.slices.erase(name);
      return;
    }
    const StoredSlice after = read_slice(json());
    slice_changed(name, after);
    state_.put_slice(name, after);
  }
}

void SafetyChecker::pod_changed(const StoredPod* before, const StoredPod* after) {
  const bool same = before && after && before->uid == after->uid;
  refused_ += is_refused(after);
  refused_ -= is_refused(before);
  if (before && (!same || (after->deleting && !before->deleting))) pod_lost(*before);
  if (!after) return;
  if (same && !before->node.empty() && before->node != after->node)
    say("I7: pod " + after->name + " moved from " + before->node + " to " + after->node);
  if (after->node.empty() && after->scheduled == "True")
    say("I17: pod " + after->name + " says that it is scheduled and has no node");
  if (same && before->node.empty() && !after->node.empty()) pod_bound(*after);
}

void SafetyChecker::pod_lost(const StoredPod& pod) {
  if (pod.group.empty()) return;
  losers_.insert(pod.group);
  lost_[pod.group].push_back(now_);
}

void SafetyChecker::pod_bound(const StoredPod& pod) {
  ++bindings_;
  check_claims_of(pod);
  check_node_of(pod);
  const StoredGroup* group = pod.group.empty() ? nullptr : find(state_.groups, pod.group);
  if (!group) return;
  if (group->min > 0 && begun_.try_emplace(group->uid, min_known_of(*group)).second)
    check_gang_of(pod, *group);
  if (!group->key.empty()) check_domain_of(pod, *group);
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
    if (claim->reserved.count(pod.uid) == 0) say(who + " and its claim " + name + " is not reserved for it");
    if (!state_.selects(claim->node_selector, pod.node))
      say(who + " where its claim " + name + " cannot be used");
    if (claim->reserved.count(pod.uid) > 0 && !state_.is_held(name, pod))
      say(who + " before the devices of its claim " + name + " are attached");
    for (const StoredResult& result : claim->results)
      if (const auto* told = find(claim->true_, result.device))
        for (const std::string& type : result.failing)
          if (told->count(type) > 0) say(who + " although " + result.device + " says " + type);
  }
}

void SafetyChecker::check_node_of(const StoredPod& pod) {
  const StoredNode* node = find(state_.nodes, pod.node);
  if (!node) return;  // gone while the binding was under way
  std::int64_t cpu_millis = 0, pods = 0;
  for (const auto& [name, other] : state_.pods) {
    if (other.node != pod.node || other.finished()) continue;
    cpu_millis += other.cpu_millis;
    ++pods;
  }
  if (cpu_millis > node->cpu_millis || pods > node->pods)
    say("I7: node " + pod.node + " is asked for " + std::to_string(cpu_millis) + "m cpu and " +
        std::to_string(pods) + " pods, which is more than it offers, since pod " + pod.name + " is bound");
}

// The least that a scheduler may have decided by.
std::int64_t SafetyChecker::min_known_of(const StoredGroup& group) const {
  const OldMin* old = find(old_min_, group.name);
  return old && now_ < old->until ? std::min(group.min, old->min) : group.min;
}

void SafetyChecker::check_gang_of(const StoredPod& pod, const StoredGroup& group) {
  const std::int64_t min = min_known_of(group);
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

void SafetyChecker::check_domain_of(const StoredPod& pod, const StoredGroup& group) {
  std::set<std::string> domains;
  for (const std::string& name : state_.members[group.name]) {
    const StoredPod& member = state_.pods.at(name);
    if (!member.runs_or_will()) continue;
    const StoredNode* node = find(state_.nodes, member.node);
    if (!node || relabelled_.count(member.node) > 0) continue;
    const auto label = node->labels.find(group.key);
    domains.insert(label == node->labels.end() ? "no domain" : label->second);
  }
  if (domains.size() > 1)
    say("I5: members of group " + group.name + " are bound in " + rejoin(domains) + " since pod " + pod.name +
        " is bound");
}

void SafetyChecker::claim_changed(const StoredClaim* before, const StoredClaim* after) {
  const bool same = before && after && before->uid == after->uid;
  if (before) {
    for (const std::string& uid : before->reserved) {
      if (same && after->reserved.count(uid) > 0) continue;
      const StoredPod* pod = state_.pod_by_uid(uid);
      if (pod && pod->runs_or_will())
        say("I3: claim " + before->name + " is no longer reserved for " + pod->name + ", which is bound");
    }
  }
  if (!after) return;
  std::set<std::string> old;
  if (same)
    for (const StoredResult& result : before->results) old.insert(result.device);
  for (const StoredResult& result : after->results)
    if (old.count(result.device) == 0) check_device(result.device, *after);
}

void SafetyChecker::check_device(const std::string& device, const StoredClaim& claim) {
  if (rivalled_.count(claim.uid) > 0) return;
  for (const std::string& other : state_.holders[device]) {
    if (other == claim.name || rivalled_.count(state_.claims.at(other).uid) > 0) continue;
    say("I1: device " + device + " is allocated to claim " + claim.name + " and to claim " + other);
  }
  const auto known = state_.catalog.find(device);
  if (known == state_.catalog.end())
    return say("I1: device " + device + " of claim " + claim.name + " never was");
  check_counters(known->second, claim);
}

void SafetyChecker::check_counters(const StoredDevice& device, const StoredClaim& claim) {
  for (const StoredDraw& draw : device.draws) {
    std::int64_t drawn = 0;
    std::set<std::string> common = draw.groups;
    for (const std::string& key : state_.devices_of_set[draw.set]) {
      if (state_.holders.find(key) == state_.holders.end() || !was_published(key)) continue;
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
  if (after.phase != "Succeeded" || (before && before->phase == "Succeeded")) return;
  const StoredPod* pod = state_.pod_by_uid(after.pod_uid);
  if (pod && pod->node != after.node)
    say("I17: bind request " + after.name + " says that its pod is bound to " + after.node + ", which " +
        (pod->node.empty() ? "is not bound" : "is bound to " + pod->node));
}

void SafetyChecker::group_changed(const StoredGroup* before, const StoredGroup& after) {
  if (before && before->uid == after.uid && before->min != after.min)
    old_min_[after.name] = {std::min(before->min, after.min), now_ + kUnknowing};
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

// Counters and groups of a device that its driver took back are unknown, also while a claim holds it.
bool SafetyChecker::was_published(const std::string& device) const {
  if (absent_.count(device) > 0) return false;
  const Time* returned = find(returned_, device);
  return !returned || now_ - *returned >= kUnknowing;
}

void SafetyChecker::node_changed(const std::string& name, const StoredNode* before, const StoredNode* after) {
  if (before && after && before->labels != after->labels) relabelled_.insert(name);
  if (!before || after) return;
  for (const auto& [request_name, request] : state_.requests) {
    if (request.node != name || !request.is_live()) continue;
    const StoredPod* pod = state_.pod_by_uid(request.pod_uid);
    if (pod) pod_lost(*pod);
  }
}

}  // namespace berth::sim
