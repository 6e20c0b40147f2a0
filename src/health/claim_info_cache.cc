#include "health/claim_info_cache.h"

#include <algorithm>

#include "base/backoff.h"

namespace berth::health {
namespace {

bool is_known(const ClaimDrivers& drivers, const std::string& driver) {
  return drivers.contains(driver);
}

bool is_registered(const ClaimDrivers& drivers, const std::string& driver) {
  const auto found = drivers.find(driver);
  return found != drivers.end() && found->second == Registered::Yes;
}

std::string method_of(ClaimOperation operation) {
  return operation == ClaimOperation::Prepare ? "NodePrepareResources" : "NodeUnprepareResources";
}

// What is wrong with a response as a whole, or with the first of its claims; kubelet's sentences.
std::string problem_of(const DriverCall& call, const Result<ClaimResults>& results) {
  const std::string method = method_of(call.operation);
  if (!results) return method + ": " + results.error().message();
  std::size_t missing = 0;
  for (const ClaimId& claim : call.claims) {
    const auto result = results->find(claim.uid);
    if (result == results->end())
      ++missing;
    else if (!result->second.error.empty())
      return method + " failed for ResourceClaim " + claim.name + ": " + result->second.error;
  }
  for (const auto& [uid, result] : *results)
    if (std::none_of(call.claims.begin(), call.claims.end(), [&](const auto& one) { return one.uid == uid; }))
      return method + " returned result for unknown claim UID " + uid;
  return missing == 0 ? "" : method + " skipped " + std::to_string(missing) + " ResourceClaims";
}

}  // namespace

bool is_prepared_for(const ClaimInfo* info, const NeededClaim& claim, std::string_view pod_uid,
                     const ClaimDrivers& known) {
  for (const auto& [driver, operations] : claim.drivers) {
    if (!is_known(known, driver)) continue;
    if (!info || !info->pods.contains(pod_uid)) return false;
    const auto found = info->drivers.find(driver);
    if (found == info->drivers.end() || !found->second.prepared) return false;
  }
  return true;
}

void ClaimInfoCache::Retry::fail(Time now) {
  at = now + backoff(kPrepareBackoffBase, kPrepareBackoffMax, ++failures);
}

void ClaimInfoCache::restore(ClaimInfos infos, Boot boot) {
  for (auto& [uid, info] : infos) {
    if (boot == Boot::Another)
      for (auto& [driver, state] : info.drivers) state.prepared = false;
    entries_[uid].info = std::move(info);
  }
  ++version_;
}

void ClaimInfoCache::retain(const NodePods& pods) {
  std::set<std::string_view> uids;
  for (const NodePod& pod : pods) uids.insert(pod.uid);
  const auto is_gone = [&](const std::string& uid) { return !uids.contains(uid); };
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    ClaimInfo& info = entry->second.info;
    if (std::erase_if(info.pods, is_gone) > 0) ++version_;
    // From here on an unprepare call may have been carried out, also one that a restart forgot.
    if (info.pods.empty())
      for (auto& [name, driver] : info.drivers) driver.prepared = false;
    entry = forget_if_done(entry);
  }
  if (std::erase_if(failures_, [&](const auto& failure) { return is_gone(failure.first); }) > 0) ++version_;
}

// A claim without a pod goes when no driver has to unprepare it.
ClaimInfoCache::Entries::iterator ClaimInfoCache::forget_if_done(Entries::iterator at) {
  Entry& entry = at->second;
  if (!entry.info.pods.empty()) return std::next(at);
  std::erase_if(entry.info.drivers, [&](const auto& driver) {
    return driver.second.operations == NodeOperations::Prepare && !entry.in_flight.contains(driver.first);
  });
  if (!entry.info.drivers.empty()) return std::next(at);
  ++version_;
  return entries_.erase(at);
}

std::vector<DriverCall> ClaimInfoCache::due(const NodePods& pods, const ClaimDrivers& drivers, Time now) {
  std::vector<DriverCall> calls;
  std::set<std::string_view> needed;
  for (const NodePod& pod : pods) {
    if (!pod.claims.empty()) prepare_due(pod, drivers, now, calls);
    for (const NeededClaim& claim : pod.claims) needed.insert(claim.id.uid);
  }
  unprepare_due(needed, drivers, now, calls);
  return calls;
}

// What has begun is completed, also for a pod that needs the claim: it waits.
void ClaimInfoCache::unprepare_due(const std::set<std::string_view>& needed, const ClaimDrivers& drivers,
                                   Time now, std::vector<DriverCall>& calls) {
  std::map<std::string, DriverCall> batches;
  for (auto& [uid, entry] : entries_) {
    if (!entry.info.pods.empty() || entry.retry.waits(now)) continue;
    if (needed.contains(uid) && !entry.unpreparing) continue;
    entry.retry.at.reset();
    for (const auto& [driver, state] : entry.info.drivers) {
      if (entry.in_flight.contains(driver) || !is_registered(drivers, driver)) continue;
      if (calls_in_flight_[driver] >= kClaimCallsPerDriverMax) continue;
      DriverCall& call = batches.try_emplace(driver, driver, ClaimOperation::Unprepare).first->second;
      if (call.claims.size() == kClaimsPerCallMax) continue;
      entry.unpreparing = true;
      call.claims.push_back(entry.info.id);
    }
  }
  for (auto& [driver, call] : batches) begin(std::move(call), calls);
}

void ClaimInfoCache::prepare_due(const NodePod& pod, const ClaimDrivers& drivers, Time now,
                                 std::vector<DriverCall>& calls) {
  const auto failure = failures_.find(pod.uid);
  if (is_prepared(pod, drivers)) {
    if (failure == failures_.end()) return;
    failures_.erase(failure);
    ++version_;
    return;
  }
  if (failure != failures_.end()) {
    if (failure->second.retry.waits(now)) return;
    failure->second.retry.at.reset();
  }
  if (std::string text = refusal(pod, drivers); !text.empty()) return fail(pod.uid, std::move(text), now);
  add_references(pod, drivers);
  for (const auto& [driver, registered] : drivers)
    if (std::optional<DriverCall> call = prepare_call(pod, driver)) begin(std::move(*call), calls);
}

const ClaimInfo* ClaimInfoCache::find(const std::string& uid) const {
  const auto found = entries_.find(uid);
  return found == entries_.end() ? nullptr : &found->second.info;
}

bool ClaimInfoCache::is_prepared(const NodePod& pod, const ClaimDrivers& drivers) const {
  return std::all_of(pod.claims.begin(), pod.claims.end(), [&](const NeededClaim& claim) {
    return is_prepared_for(find(claim.id.uid), claim, pod.uid, drivers);
  });
}

std::string ClaimInfoCache::refusal(const NodePod& pod, const ClaimDrivers& drivers) const {
  for (const NeededClaim& claim : pod.claims) {
    for (const auto& [driver, operations] : claim.drivers)
      if (is_known(drivers, driver) && !is_registered(drivers, driver))
        return "DRA driver " + driver + " is not registered";
    const auto entry = entries_.find(claim.id.uid);
    if (entry != entries_.end() && entry->second.unpreparing)
      return "ResourceClaim " + claim.id.name + " is being unprepared";
  }
  return "";
}

void ClaimInfoCache::add_references(const NodePod& pod, const ClaimDrivers& drivers) {
  for (const NeededClaim& claim : pod.claims)
    for (const auto& [driver, operations] : claim.drivers) {
      if (!is_known(drivers, driver)) continue;
      ClaimInfo& info = entries_[claim.id.uid].info;
      info.id = claim.id;
      const bool is_new_pod = info.pods.insert(pod.uid).second;
      const bool is_new_driver = info.drivers.try_emplace(driver, ClaimDriver{operations, false, {}}).second;
      if (is_new_pod || is_new_driver) ++version_;
    }
}

// Nothing while another pod's call for one of the claims is in flight: its answer counts for this pod too.
std::optional<DriverCall> ClaimInfoCache::prepare_call(const NodePod& pod, const std::string& driver) {
  if (calls_in_flight_[driver] >= kClaimCallsPerDriverMax) return std::nullopt;
  DriverCall call{driver, ClaimOperation::Prepare, {}, pod.uid};
  for (const NeededClaim& claim : pod.claims) {
    if (!claim.drivers.contains(driver)) continue;
    const Entry& entry = entries_.at(claim.id.uid);
    if (entry.info.drivers.find(driver)->second.prepared) continue;
    if (entry.in_flight.contains(driver)) return std::nullopt;
    call.claims.push_back(claim.id);
  }
  if (call.claims.empty()) return std::nullopt;
  return call;
}

void ClaimInfoCache::begin(DriverCall call, std::vector<DriverCall>& calls) {
  ++calls_in_flight_[call.driver];
  for (const ClaimId& claim : call.claims) entries_.at(claim.uid).in_flight.insert(call.driver);
  calls.push_back(std::move(call));
}

std::string ClaimInfoCache::answered(const DriverCall& call, const Result<ClaimResults>& results, Time now) {
  --calls_in_flight_[call.driver];
  for (const ClaimId& claim : call.claims) entries_.at(claim.uid).in_flight.erase(call.driver);
  if (results) take(call, *results);
  const std::string problem = problem_of(call, results);
  const ClaimInfo& first = entries_.at(call.claims.front().uid).info;
  if (!problem.empty() && first.pods.contains(call.pod_uid)) fail(call.pod_uid, problem, now);
  for (const ClaimId& claim : call.claims) {
    const auto entry = entries_.find(claim.uid);
    if (call.operation == ClaimOperation::Unprepare && entry->second.info.drivers.contains(call.driver))
      entry->second.retry.fail(now);
    forget_if_done(entry);
  }
  return problem;
}

void ClaimInfoCache::take(const DriverCall& call, const ClaimResults& results) {
  for (const ClaimId& claim : call.claims) {
    const auto result = results.find(claim.uid);
    if (result == results.end() || !result->second.error.empty()) continue;
    ClaimInfo& info = entries_.at(claim.uid).info;
    ++version_;
    if (call.operation == ClaimOperation::Unprepare) {
      info.drivers.erase(call.driver);
      continue;
    }
    ClaimDriver& driver = info.drivers.at(call.driver);
    driver.prepared = true;
    driver.devices = result->second.devices;
  }
}

void ClaimInfoCache::fail(const std::string& pod_uid, std::string text, Time now) {
  PodFailure& failure = failures_[pod_uid];
  failure.retry.fail(now);
  if (failure.text == text) return;
  failure.text = std::move(text);
  ++version_;
}

void ClaimInfoCache::retry_now() {
  for (auto& [uid, failure] : failures_) failure.retry.at.reset();
  for (auto& [uid, entry] : entries_) entry.retry.at.reset();
}

std::optional<Time> ClaimInfoCache::next_wake() const {
  std::optional<Time> next;
  const auto earlier = [&next](const Retry& retry) {
    if (retry.at && (!next || *retry.at < *next)) next = retry.at;
  };
  for (const auto& [uid, failure] : failures_) earlier(failure.retry);
  for (const auto& [uid, entry] : entries_) earlier(entry.retry);
  return next;
}

ClaimInfos ClaimInfoCache::infos() const {
  ClaimInfos infos;
  for (const auto& [uid, entry] : entries_) infos.emplace(uid, entry.info);
  return infos;
}

std::map<std::string, std::string> ClaimInfoCache::failures() const {
  std::map<std::string, std::string> texts;
  for (const auto& [uid, failure] : failures_) texts.emplace(uid, failure.text);
  return texts;
}

}  // namespace berth::health
