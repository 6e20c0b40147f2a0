#include "scheduling/keepers/owner_reads.h"

#include <algorithm>
#include <utility>

#include "api/serialized.h"
#include "api/type_table.h"
#include "base/ascii.h"

namespace berth::scheduling {
namespace {

using placement::KnownOwners;

// The plural as client-go guesses it where it knows no mapping.
std::string guessed_plural(std::string_view kind) {
  std::string plural = to_lower(kind);
  if (plural.ends_with('s')) return plural + "es";
  if (!plural.ends_with('y')) return plural + "s";
  plural.pop_back();
  return plural + "ies";
}

client::Write read_of(const api::ObjectKey& key) {
  client::Write write;
  write.request = {client::Verb::Get, key.resource, key.ns, key.name, "", ""};
  write.fine_reasons = {"NotFound"};
  return write;
}

}  // namespace

api::ObjectKey key_of_owner(const std::string& ns, const api::OwnerReference& object) {
  if (const api::ResourceInfo* row = api::find_resource_of_kind(object.api_version, object.kind))
    return {api::Kind::Other,
            row->namespaced ? ns : "",
            object.name,
            {std::string(row->group), std::string(row->version), std::string(row->plural)}};
  const std::size_t slash = object.api_version.find('/');
  const bool core = slash == std::string::npos;
  return {api::Kind::Other,
          ns,
          object.name,
          {core ? "" : object.api_version.substr(0, slash),
           core ? object.api_version : object.api_version.substr(slash + 1), guessed_plural(object.kind)}};
}

KnownOwners OwnerReads::known(const std::string& ns, const api::OwnerReference& object) const {
  const auto found = objects_.find(key_of_owner(ns, object));
  if (found == objects_.end()) return {KnownOwners::State::Unread};
  const Known& known = found->second;
  if (known.owners.state != KnownOwners::State::Known || object.uid.empty() || known.uid == object.uid)
    return known.owners;
  // The object of this UID is gone, or was not asked for yet.
  return {known.answered.contains(object.uid) ? KnownOwners::State::Known : KnownOwners::State::Unread};
}

KnownOwners OwnerReads::ask(const std::string& ns, const api::OwnerReference& object,
                            const placement::EntityKey& asking, Time now) {
  const KnownOwners owners = known(ns, object);
  const api::ObjectKey key = key_of_owner(ns, object);
  const auto found = objects_.find(key);
  const bool old = object.uid.empty() && found != objects_.end() && found->second.read_at.is_set() &&
                   now - found->second.read_at >= kOwnerReadAgain;
  if (owners.state == KnownOwners::State::Known && !old) return owners;
  if (found == objects_.end() && objects_.size() >= forget_at_) forget_idle();
  Known& kept = objects_[key];
  if (const auto reading = kept.reading.find(object.uid); reading != kept.reading.end()) {
    reading->second.insert(asking);
    return owners;
  }
  const auto [wanted, is_new] = kept.wanted.try_emplace(object.uid);
  wanted->second.insert(asking);
  // A refused read is repeated as it is.
  if (is_new && owners.state != KnownOwners::State::Refused) reads_.want(key, now);
  return owners;
}

void OwnerReads::forget_idle() {
  std::erase_if(objects_, [&](const auto& object) {
    if (object.second.is_idle()) reads_.erase(object.first);
    return object.second.is_idle();
  });
  forget_at_ = std::max(kOwnersKeptMax, 2 * objects_.size());
}

client::Effects OwnerReads::due(Time now) {
  client::Effects effects;
  while (under_way_ < kOwnerReadsAtOnceMax) {
    const std::optional<api::ObjectKey> key = reads_.next(now);
    if (!key) break;
    ++under_way_;
    Known& known = objects_.at(*key);
    known.reading = std::exchange(known.wanted, {});
    effects.chains.push_back({*key, {read_of(*key)}});
  }
  if (!effects.chains.empty()) effects.decision_id = kOwnerReads;
  return effects;
}

void OwnerReads::keep_answer(Known& known, const client::ChainOutcome& outcome) {
  known.owners = {KnownOwners::State::Known};
  known.uid.clear();
  const Result<Json> object =
      outcome.last.object ? api::parse_object(*outcome.last.object) : Result<Json>(Json());
  if (object && outcome.last.ok()) {
    known.uid = object->part("metadata").string_at("uid");
    known.owners.owners = api::owners_of_document(*object);
  }
  if (known.answered.size() + known.reading.size() > kOwnerUidsMax) known.answered.clear();
  for (const auto& [uid, entries] : known.reading) known.answered.insert(uid);
}

std::vector<placement::EntityKey> OwnerReads::read_done(const client::ChainOutcome& outcome, Time now) {
  const auto found = objects_.find(outcome.key);
  if (!reads_.write_done(outcome.key, outcome.ok, now) || found == objects_.end()) return {};
  --under_way_;
  Known& known = found->second;
  known.read_at = now;
  std::set<placement::EntityKey> asking;
  for (const auto& [uid, entries] : known.reading) asking.insert(entries.begin(), entries.end());
  if (outcome.ok) {
    keep_answer(known, outcome);
    if (known.wanted.empty()) reads_.erase(outcome.key);
  } else {
    known.owners = {KnownOwners::State::Refused};
    known.refusal = outcome.last.message;
    for (auto& [uid, entries] : known.reading) known.wanted[uid].merge(entries);
  }
  known.reading.clear();
  return {asking.begin(), asking.end()};
}

std::string OwnerReads::refused_in(const std::string& ns) const {
  for (const auto& [key, known] : objects_)
    if (key.ns == ns && known.owners.state == KnownOwners::State::Refused)
      return api::to_text(key) + " cannot be read: " + known.refusal;
  return {};
}

std::optional<Time> OwnerReads::next_time() const {
  return under_way_ < kOwnerReadsAtOnceMax ? reads_.next_time() : std::nullopt;
}

}  // namespace berth::scheduling
