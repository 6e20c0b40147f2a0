// The owners of objects that own groups, read one object at a time: only while a PlacementPolicy of the
// namespace is about an owner.
//
// Reads are bounded in number, and repeated with backoff until they are answered. One read answers for every
// UID that was asked for before it: the object has that UID, or none of that UID exists any more. Owner: the
// scheduler, one thread. Cost: O(log n) a call, amortized. Memory: kOwnersKeptMax objects, or twice as many
// as entries wait for; then the others are forgotten.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "client/decider.h"
#include "placement/entity.h"
#include "placement/wishes/policy_wishes.h"
#include "scheduling/keepers/retried_writes.h"

namespace berth::scheduling {

inline constexpr std::string_view kOwnerReads = "owner-reads";  // Effects::decision_id
inline constexpr std::size_t kOwnersKeptMax = 16384;
inline constexpr std::size_t kOwnerReadsAtOnceMax = 16;
// UIDs without an object that are known of one name; beyond, those of earlier reads are asked for again.
inline constexpr std::size_t kOwnerUidsMax = 256;
// A reference without a UID is read again after this time: another object may have the name.
inline constexpr Duration kOwnerReadAgain = Duration::seconds(30);

// The object in this namespace, or without one. The plural of a kind that is not built in is guessed as
// client-go does.
api::ObjectKey key_of_owner(const std::string& ns, const api::OwnerReference& object);

class OwnerReads {
 public:
  // What is known of the object's owners.
  placement::KnownOwners known(const std::string& ns, const api::OwnerReference& object) const;
  placement::OwnersOf questions() const {
    return [this](const std::string& ns, const api::OwnerReference& object) { return known(ns, object); };
  }
  // The same; what is not known is read, and read_done() then returns `asking`.
  placement::KnownOwners ask(const std::string& ns, const api::OwnerReference& object,
                             const placement::EntityKey& asking, Time now);
  // Reads that are due, at most kOwnerReadsAtOnceMax under way.
  client::Effects due(Time now);
  // The entries that asked for the object.
  std::vector<placement::EntityKey> read_done(const client::ChainOutcome& outcome, Time now);
  std::optional<Time> next_time() const;
  // "Job.batch/train cannot be read: …": the first one of the namespace; empty: all could be read.
  std::string refused_in(const std::string& ns) const;

 private:
  using Asking = std::map<std::string, std::set<placement::EntityKey>>;  // entries, by the UID they ask for
  struct Known {
    placement::KnownOwners owners{placement::KnownOwners::State::Unread};
    std::string uid;  // of the object that was read; empty: there is none
    Time read_at;
    std::string refusal;             // the API server's words
    Asking wanted;                   // of the next read
    Asking reading;                  // of the read under way
    std::set<std::string> answered;  // UIDs that earlier reads were for

    // No entry waits for it: what cannot be read holds none.
    bool is_idle() const {
      return reading.empty() && (wanted.empty() || owners.state == placement::KnownOwners::State::Refused);
    }
  };
  void forget_idle();
  void keep_answer(Known& known, const client::ChainOutcome& outcome);

  std::map<api::ObjectKey, Known> objects_;
  std::size_t forget_at_ = kOwnersKeptMax;  // objects
  RetriedWrites reads_;
  std::size_t under_way_ = 0;
};

}  // namespace berth::scheduling
