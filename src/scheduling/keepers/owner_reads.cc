#include "scheduling/keepers/owner_reads.h"

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

client::Write read_of(const api::ObjectKey& key) {
  client::Write write;
  write.request = {client::Verb::Get, key.resource, key.ns, key.name, "", ""};
  write.fine_reasons = {"NotFound"};
  return write;
}

}  // namespace

KnownOwners OwnerReads::known(const std::string& ns, const api::OwnerReference& object) const {
  const auto found = objects_.find(key_of_owner(ns, object));
  if (found == objects_.end()) return {KnownOwners::State::Unread};
  const Known& known = found->second;
  if (known.owners.state != KnownOwners::State::Known || object.uid.empty() || known.uid == object.uid)
    return known.owners;
  // The object of this UID is gone, or was not asked for yet.
  return {known.asked == object.uid ? KnownOwners::State::Known : KnownOwners::State::Unread};
}

KnownOwners OwnerReads::ask(const std::string& ns, const api::OwnerReference& object,
                            const placement::EntityKey& asking, Time now) {
  const api::ObjectKey key = key_of_owner(ns, object);
  if (objects_.size() >= kOwnersKeptMax && !objects_.contains(key)) {
    for (const auto& [other, known] : objects_) reads_.erase(other);
    objects_.clear();
    under_way_ = 0;
  }
  const KnownOwners owners = known(ns, object);
  const bool unread = owners.state == KnownOwners::State::Unread;
  const auto found = objects_.find(key);
  const bool old = object.uid.empty() && found != objects_.end() && found->second.read_at.is_set() &&
                   now - found->second.read_at >= kOwnerReadAgain;
  if (!unread && !old && owners.state == KnownOwners::State::Known) return owners;
  Known& kept = objects_[key];
  const bool waits = !kept.asking.empty();
  kept.asking.insert(asking);
  if (!waits || kept.asked != object.uid) {
    kept.asked = object.uid;
    if (unread) kept.owners = {KnownOwners::State::Unread};
    if (owners.state != KnownOwners::State::Refused) reads_.want(key, now);
  }
  return owners;
}

client::Effects OwnerReads::due(Time now) {
  client::Effects effects;
  while (under_way_ < kOwnerReadsAtOnceMax) {
    const std::optional<api::ObjectKey> key = reads_.next(now);
    if (!key) break;
    ++under_way_;
    effects.chains.push_back({*key, {read_of(*key)}});
  }
  if (!effects.chains.empty()) effects.decision_id = kOwnerReads;
  return effects;
}

std::vector<placement::EntityKey> OwnerReads::read_done(const client::ChainOutcome& outcome, Time now) {
  const bool answered = outcome.ok;
  if (!reads_.write_done(outcome.key, answered, now)) return {};
  if (under_way_ > 0) --under_way_;
  const auto found = objects_.find(outcome.key);
  if (found == objects_.end()) return {};
  Known& known = found->second;
  known.read_at = now;
  if (answered) {
    reads_.erase(outcome.key);
    known.owners = {KnownOwners::State::Known};
    known.uid.clear();
    const Result<Json> object =
        outcome.last.object ? api::parse_object(*outcome.last.object) : Result<Json>(Json());
    if (object && outcome.last.ok()) {
      known.uid = object->part("metadata").string_at("uid");
      known.owners.owners = api::owners_of_document(*object);
    }
  } else {
    known.owners = {KnownOwners::State::Refused};
    known.refusal = outcome.last.message;
  }
  std::vector<placement::EntityKey> asking(known.asking.begin(), known.asking.end());
  if (answered) known.asking.clear();
  return asking;
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
