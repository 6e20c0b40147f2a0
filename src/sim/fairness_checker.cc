#include "sim/fairness_checker.h"

#include <algorithm>

#include "sim/rest_checker.h"

namespace berth::sim {
namespace {

constexpr Duration kAskAgain = Duration::seconds(30);

bool waits(const StoredPod& pod) {
  return pod.node.empty() && !pod.deleting && !pod.finished() && pod.claims_known;
}

}  // namespace

// A decision exists that may still bind the pod.
bool FairnessChecker::is_decided(const StoredPod& pod) const {
  const auto names = state_.requests_of_pod.find(pod.uid);
  if (names == state_.requests_of_pod.end()) return false;
  return std::any_of(names->second.begin(), names->second.end(), [&](const std::string& name) {
    const StoredRequest& request = state_.requests.at(name);
    return request.is_live() && !request.is_failing();
  });
}

// None (no members) when several share the highest priority: equals have no order.
FairnessChecker::QueuedWork FairnessChecker::highest_waiting() const {
  QueuedWork highest;
  bool alone = true;
  const auto offer = [&](QueuedWork entry) {
    if (!highest.members.empty() && entry.priority < highest.priority) return;
    alone = highest.members.empty() || entry.priority > highest.priority;
    highest = std::move(entry);
  };
  for (const auto& [name, pod] : state_.pods)
    if (pod.group.empty() && waits(pod) && !is_decided(pod)) offer({"pod " + name, "", pod.priority, {&pod}});
  for (const auto& [name, group] : state_.groups) {
    if (!group.parent.empty()) continue;  // no room is kept for a tree
    const auto names = state_.members.find(name);
    if (names == state_.members.end()) continue;
    QueuedWork entry{"gang " + name, group.key, group.priority, {}};
    bool begun = false;
    for (const std::string& member : names->second) {
      const StoredPod& pod = state_.pods.at(member);
      if (waits(pod)) entry.members.push_back(&pod);
      begun |= !pod.node.empty() || is_decided(pod);
    }
    // A gang that has begun, is decided or is incomplete also waits for something else.
    if (group.min == 0 || begun || static_cast<std::int64_t>(entry.members.size()) < group.min) continue;
    offer(std::move(entry));
  }
  return alone ? highest : QueuedWork{};
}

// A claim that is reserved for a group outlives its pods.
bool FairnessChecker::ends_with_group(const std::string& claim) const {
  const auto found = state_.claims.find(claim);
  return found != state_.claims.end() &&
         std::any_of(state_.groups.begin(), state_.groups.end(),
                     [&](const auto& row) { return found->second.reserved.contains(row.second.uid); });
}

bool FairnessChecker::fits_without_lower(const QueuedWork& entry) const {
  StoredState left = state_;
  for (const auto& [name, pod] : state_.pods) {
    if (pod.priority >= entry.priority || pod.node.empty() || !pod.ends) continue;
    for (const std::string& claim : pod.claims)
      if (!ends_with_group(claim)) left.erase_claim(claim);
    left.erase_pod(name);
  }
  return would_fit(left, entry.members, entry.key);
}

bool FairnessChecker::beside_endless(const QueuedWork& entry) const {
  return std::any_of(state_.pods.begin(), state_.pods.end(), [&](const auto& row) {
    const StoredPod& pod = row.second;
    return pod.priority < entry.priority && !pod.node.empty() && !pod.ends && !pod.finished();
  });
}

void FairnessChecker::decided(const StoredPod& pod) {
  if (overtaken_ == (pod.group.empty() ? "pod " + pod.name : "gang " + pod.group)) overtaken_.clear();
}

std::string FairnessChecker::bound(const StoredPod& pod, Time now) {
  const QueuedWork entry = highest_waiting();
  if (entry.members.empty() || entry.name != overtaken_) {
    overtaken_ = entry.members.empty() ? "" : entry.name;
    since_ = asked_ = now;
    return "";
  }
  if (pod.priority >= entry.priority || now - since_ < kOvertakenMax || now - asked_ < kAskAgain) return "";
  asked_ = now;
  if (now - since_ < kOvertakenBesideEndlessMax && beside_endless(entry)) return "";
  if (!fits_without_lower(entry)) {
    since_ = now;
    return "";
  }
  return "I12: " + entry.name + " has waited for " + std::to_string((now - since_).millis() / 1000) +
         " s at the head of all, would fit if nothing lower ran, and pod " + pod.name +
         " of lower priority is bound";
}

}  // namespace berth::sim
