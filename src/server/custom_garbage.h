// Garbage collection where custom objects are owners or dependents: the engine's collector sees built-in
// kinds only.
//
// A run reads what was written since the run before from the store's window, and acts on what is stored, so
// no view is behind. The engine's collector asks for the end of a built-in owner's foreground deletion when
// the built-in dependents are gone; with custom ones left it is held (ForegroundHold), and ended here.
//
// Owner: ApiServer. tick() on one thread; runs on the executor, one at a time. Cost: nothing without
// definitions; with them a search of each written object for the names of their groups, and a parse of those
// that have one. Source: pkg/controller/garbagecollector of Kubernetes 1.37.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "server/registry.h"
#include "server/served.h"

namespace berth::server {

inline constexpr std::size_t kCollectedPerRunMax = 500;  // objects; the next run continues
inline constexpr std::size_t kGarbageEventsPerReadMax = 1000;
// A write that failed is tried again after so long, twice as long after each further failure.
inline constexpr Duration kGarbageRetryFirst = Duration::millis(200),
                          kGarbageRetryMax = Duration::seconds(60);

class CustomGarbage final : public ForegroundHold {
 public:
  // Both outlive it.
  CustomGarbage(Registry& registry, const ServedResources& served);

  // About every 200 ms.
  void tick(Time monotonic_now);

  bool holds(const ObjectTarget& target, const store::Object& owner) override;

 private:
  struct Owners;
  struct Retry {
    Duration delay;
    Time at;
    bool is_waiting = false;
  };

  void run(Time now);
  void make_retries_due();
  void end_holds();
  void learn_kinds();
  void read(const std::string& resource);
  void read_all(const std::string& resource);
  void note(const store::Object& object, bool is_deleted);
  void forget(const store::Object& object);
  bool may_matter(const store::Object& object) const;
  const api::ResourceInfo* kind_of(const Json& reference) const;
  void wake_dependents(const std::string& owner_uid);
  void block(std::string_view owner_uid, const store::Key& dependent);
  void unblock(const std::string& owner_uid, const store::Key& dependent);

  void act(const store::Key& key);
  // A dependent of this owner waits for its own dependents.
  bool has_waiting_dependent(const std::string& owner_uid) const;
  void collect(const store::Object& object, const Json& document);
  Owners owners_of(const store::Object& object, const Json& document) const;
  void orphan(const store::Object& owner);
  void finish_foreground(const store::Object& owner);
  void modify(const store::Object& object, Registry::Change change);
  void remove(const store::Object& object, std::string_view propagation);
  ObjectTarget target_of(const store::Key& key) const;
  Done noted(const store::Key& key);

  Registry& registry_;
  const ServedResources& served_;
  std::atomic<bool> running_{false};

  // Only of the run under way.
  Time now_;
  bool reads_anew_ = false;                               // the window had lost something
  ServedPtr kinds_of_;                                    // what the next three were made from
  std::map<std::string, const api::ResourceInfo*> rows_;  // stored rows by their store's name
  std::map<std::pair<std::string, std::string>, const api::ResourceInfo*> by_kind_;  // by group and kind
  std::vector<std::string> marks_;                          // texts of references to custom kinds
  std::map<std::string, store::Revision> read_to_;          // by the store's name
  std::map<store::Key, std::vector<std::string>> owners_;   // UIDs, of the dependents that matter
  std::map<std::string, std::set<store::Key>> dependents_;  // by the owner's UID
  std::map<std::string, store::Key> closing_;  // custom owners that wait for their dependents, by UID
  std::set<store::Key> due_;
  std::map<store::Key, Retry> retries_;  // of writes that failed the last time
  struct Held {
    std::string uid;
    ObjectTarget target;
  };
  std::map<store::Key, Held> released_;  // built-in owners that are to lose their finalizer

  std::mutex mutex_;
  struct Outcome {
    bool is_done = false;
    Time begun;
  };
  std::map<store::Key, Outcome> outcomes_;                // of writes, by callbacks of the store
  bool knows_all_ = false;                                // everything stored has been read
  std::map<std::string, std::set<store::Key>> blocking_;  // custom dependents with blockOwnerDeletion, by UID
  std::map<store::Key, Held> held_;                       // built-in owners whose end was asked for
};

}  // namespace berth::server
