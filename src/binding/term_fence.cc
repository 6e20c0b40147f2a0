#include "binding/term_fence.h"

#include <algorithm>

#include "api/serialized.h"
#include "api/types/decision_id.h"
#include "base/known_defects.h"

namespace berth::binding {
namespace {

bool has_term(const api::BindRequest& request) {
  return request.epoch > 0 && !request.lease.empty() && !request.status_names_decision;
}

}  // namespace

bool TermFence::names_readable_lease(const api::BindRequest& request) const {
  return request.lease.ns == lease_namespace_ && !request.lease.name.empty();
}

// Null when there is no room. Names without a Lease make room: strangers can name what they like.
TermFence::Lease* TermFence::lease_of(const api::BindRequest& request) {
  const auto found = leases_.find(request.lease.name);
  if (found != leases_.end()) return &found->second;
  if (leases_.size() >= kLeasesMax)
    std::erase_if(leases_, [](const auto& row) {
      const Lease& lease = row.second;
      return lease.present.uid.empty() && !lease.reading && lease.answered > 0;
    });
  return leases_.size() < kLeasesMax ? &leases_[request.lease.name] : nullptr;
}

void TermFence::note(const api::BindRequest& request) {
  if (request.epoch == 0 || request.lease.empty() || !names_readable_lease(request)) return;
  Lease* lease = lease_of(request);
  if (!lease) return;
  const std::uint64_t version = request.meta.resource_version;
  const Term term = term_of(request);
  if (term == lease->present) {
    lease->first_version = lease->first_version == 0 ? version : std::min(lease->first_version, version);
    return;
  }
  // Once its Lease was read, a started request has been judged.
  if (request.status_names_decision && lease->answered > 0) return;
  auto found = lease->claims.find(term);
  if (found == lease->claims.end()) {
    if (lease->claims.size() >= kClaimedTermsMax && !make_room(*lease)) {
      lease->overflowed |= !request.status_names_decision;
      return;
    }
    found = lease->claims.emplace(term, Claim{version, lease->begun, true}).first;
  }
  Claim& claim = found->second;
  claim.first_version = std::min(claim.first_version, version);
  claim.started &= request.status_names_decision;
}

// Forgets one term whose requests have all been started.
bool TermFence::make_room(Lease& lease) {
  const auto started = std::find_if(lease.claims.begin(), lease.claims.end(),
                                    [](const auto& row) { return row.second.started; });
  if (started == lease.claims.end()) return false;
  lease.claims.erase(started);
  return true;
}

std::uint64_t TermFence::reads_begun(const api::BindRequest& request) const {
  const auto found = leases_.find(request.lease.name);
  return found == leases_.end() ? 0 : found->second.begun;
}

bool TermFence::unsettled_before(const Lease& lease, std::uint64_t version) {
  return lease.overflowed || std::any_of(lease.claims.begin(), lease.claims.end(), [&](const auto& row) {
           return !row.second.started && row.second.first_version < version;
         });
}

TermVerdict TermFence::judge(const api::BindRequest& request, std::uint64_t reads_before, Time now) const {
  if (has(KnownDefect::FirstListTrusted)) return {};
  if (api::is_unbegun_of_other(request, process_)) return {TermVerdict::Kind::Late, TermDoubt::Earlier};
  if (!has_term(request)) return {};
  if (!names_readable_lease(request)) return {TermVerdict::Kind::Valid, TermDoubt::OtherNamespace};
  const auto found = leases_.find(request.lease.name);
  if (found == leases_.end()) return {TermVerdict::Kind::Valid, TermDoubt::NoLease};  // no room for it
  const Lease& lease = found->second;
  const std::uint64_t version = request.meta.resource_version;
  const Term term = term_of(request);
  if (term == lease.present && !unsettled_before(lease, version)) return {};
  // A refusal is not asked for again for every request.
  const bool refused = lease.doubt == TermDoubt::Unreadable && (lease.reading || now < lease.next_read);
  if (lease.answered <= reads_before && !refused) return {TermVerdict::Kind::Unknown};
  if (term == lease.present) return {};
  if (lease.doubt) return {TermVerdict::Kind::Valid, lease.doubt};
  if (term.uid == lease.present.uid && term.epoch > lease.present.epoch)
    return {TermVerdict::Kind::Valid, TermDoubt::Beyond};
  const bool late = lease.first_version != 0 && version > lease.first_version;
  return {late ? TermVerdict::Kind::Late : TermVerdict::Kind::Valid, TermDoubt::Earlier};
}

std::optional<client::Write> TermFence::read(const api::BindRequest& request, Time now) {
  Lease* lease = lease_of(request);
  if (!lease || lease->reading || (lease->next_read.is_set() && now < lease->next_read)) return std::nullopt;
  lease->reading = true;
  lease->next_read = now + kLeaseReadInterval;
  ++lease->begun;
  client::Write write;
  write.request = {
      client::Verb::Get, api::ref_of(api::Kind::Lease), lease_namespace_, request.lease.name, "", ""};
  write.fine_reasons = {"NotFound", "Forbidden"};
  write.answer_to_decider = true;
  return write;
}

// Claims that were seen after the read began stay: they may be later than its answer.
void TermFence::take(Lease& lease, Term read) {
  const bool believed = !has(KnownDefect::LeaseLifeIgnored) || read.epoch >= lease.present.epoch;
  if (believed && read != lease.present) {
    const auto claim = lease.claims.find(read);
    lease.first_version = claim == lease.claims.end() ? 0 : claim->second.first_version;
    lease.present = std::move(read);
  }
  std::erase_if(lease.claims, [&](const auto& row) {
    return row.first == lease.present || row.second.reads_begun < lease.begun;
  });
  lease.overflowed = false;
}

void TermFence::read_answered(const std::string& name, const client::ApiReply& reply, Time now) {
  const auto found = leases_.find(name);
  if (found == leases_.end()) return;
  Lease& lease = found->second;
  lease.reading = false;
  const bool refused = reply.delivery == client::Delivery::Answered && reply.code >= 400 &&
                       reply.code < 429 && !reply.reason.empty();
  Result<Json> object = reply.ok() && reply.object ? api::parse_object(*reply.object) : Result<Json>(Json());
  const bool read = object && object->is_object();
  if (!read && !refused) {
    lease.next_read = now + kLeaseReadRetry;
    return;
  }
  lease.answered = lease.begun;
  lease.doubt.reset();
  if (!read) lease.doubt = reply.code == 404 ? TermDoubt::NoLease : TermDoubt::Unreadable;
  if (lease.doubt == TermDoubt::Unreadable) lease.next_read = now + kRefusedLeaseRead;
  Term term;
  if (read)
    term = {std::string(object->part("metadata").string_at("uid")),
            static_cast<std::uint64_t>(
                std::max<std::int64_t>(object->part("spec").int_at("leaseTransitions"), 0)) +
                1};
  take(lease, std::move(term));
}

}  // namespace berth::binding
