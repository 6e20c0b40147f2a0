#include "client/leader_election.h"
#include "api/serialized.h"

#include <algorithm>

namespace berth::client {
namespace {

const Json& spec_of(const Json& lease) {
  static const Json kNone = Json::object();
  const Json* spec = lease.find("spec");
  return spec ? *spec : kNone;
}

std::string uid_of(const Json& lease) {
  return std::string(lease.part("metadata").string_at("uid"));
}

}  // namespace

Leadership LeaderElection::term() const {
  if (!renewed_at_.is_set()) return {};
  return {epoch_, {options_.ns, options_.name, uid_}};
}

ApiRequest LeaderElection::request(Verb verb, std::string body) const {
  return {verb, api::ref_of(api::Kind::Lease), options_.ns, options_.name, "", std::move(body)};
}

// The Lease with this candidate as its holder. Unknown fields stay.
Json LeaderElection::claimed(Time wall) const {
  Json lease =
      lease_
          ? *lease_
          : Json::object({{"apiVersion", "coordination.k8s.io/v1"},
                          {"kind", "Lease"},
                          {"metadata", Json::object({{"name", options_.name}, {"namespace", options_.ns}})}});
  Json& spec = lease["spec"];
  const bool ours = holder_ == options_.identity;
  const std::int64_t seen = transitions_seen_.value_or(0);
  const bool follows_another = lease_ ? !ours : transitions_seen_.has_value();
  spec["holderIdentity"] = options_.identity;
  spec["leaseDurationSeconds"] = options_.lease.whole_seconds();
  if (!ours) spec["acquireTime"] = format_micro_time(wall);
  spec["renewTime"] = format_micro_time(wall);
  spec["leaseTransitions"] = std::max(spec.int_at("leaseTransitions"), seen) + (follows_another ? 1 : 0);
  return lease;
}

std::optional<ApiRequest> LeaderElection::next_request(Time wall, Time monotonic) {
  if (awaiting_ || (next_at_.is_set() && monotonic < next_at_)) return std::nullopt;
  awaiting_ = true;
  sent_at_ = monotonic;
  if (step_ == Step::Read) return request(Verb::Get, "");
  return request(step_ == Step::Make ? Verb::Create : Verb::Update, to_string(claimed(wall)));
}

void LeaderElection::answered(const ApiReply& reply, Time monotonic) {
  awaiting_ = false;
  if (step_ == Step::Read) return read_answered(reply, monotonic);
  next_at_ = monotonic + options_.retry;
  if (!reply.ok()) {
    step_ = Step::Read;  // another candidate was first, or the outcome is unknown
    return;
  }
  observe(reply, monotonic);
  renewed_at_ = sent_at_;
  epoch_ = static_cast<std::uint64_t>(transitions_seen_.value_or(0)) + 1;
  uid_ = lease_ ? uid_of(*lease_) : "";
  step_ = lease_ ? Step::Take : Step::Read;
}

void LeaderElection::read_answered(const ApiReply& reply, Time monotonic) {
  next_at_ = monotonic + options_.retry;
  if (reply.code == 404 && reply.reason == "NotFound") {  // another 404 comes from a proxy
    renewed_at_ = Time();
    lease_.reset();
    holder_.clear();
    record_.clear();
    step_ = Step::Make;
    next_at_ = monotonic;
    return;
  }
  if (!reply.ok()) return;
  observe(reply, monotonic);
  if (!lease_ || held_by_another(monotonic)) return;
  step_ = Step::Take;
  next_at_ = monotonic;
}

void LeaderElection::observe(const ApiReply& reply, Time monotonic) {
  lease_.reset();
  if (!reply.object) return;
  Result<Json> lease = api::parse_object(*reply.object);
  if (!lease || !lease->is_object()) return;
  const Json& spec = spec_of(*lease);
  std::string record = to_string(spec);
  if (record != record_ || !changed_at_.is_set()) changed_at_ = monotonic;
  record_ = std::move(record);
  holder_ = spec.string_at("holderIdentity");
  transitions_seen_ = std::max(transitions_seen_.value_or(0), spec.int_at("leaseTransitions"));
  const bool taken = !holder_.empty() && holder_ != options_.identity;
  if (taken || uid_of(*lease) != uid_) renewed_at_ = Time();
  held_for_ = Duration::seconds(spec.int_at("leaseDurationSeconds"));
  lease_ = std::move(lease).value();
}

bool LeaderElection::held_by_another(Time monotonic) const {
  return !holder_.empty() && holder_ != options_.identity && monotonic < changed_at_ + held_for_;
}

bool LeaderElection::leads(Time monotonic) const {
  return renewed_at_.is_set() && monotonic < renewed_at_ + options_.renew_deadline;
}

std::optional<ApiRequest> LeaderElection::release(Time wall, Time monotonic) {
  const bool led = leads(monotonic);
  renewed_at_ = Time();
  if (!led || !lease_) return std::nullopt;
  Json lease = *lease_;
  Json& spec = lease["spec"];
  spec.as_object().erase("holderIdentity");  // an empty one is refused
  spec["leaseDurationSeconds"] = 1;
  spec["acquireTime"] = format_micro_time(wall);
  spec["renewTime"] = format_micro_time(wall);
  awaiting_ = true;
  step_ = Step::Read;
  return request(Verb::Update, to_string(lease));
}

}  // namespace berth::client
