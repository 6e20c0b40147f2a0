// An API server and an engine in miniature, for tests of the binder and of the gang barrier: objects,
// versions, preconditions, bindings, faults, crashes; and the rules of control/engine.h, one write at a time,
// in any order the test likes.
//
// One thread. The server knows no schema. The view learns the answers of the binder's own writes at once,
// what others do when the test delivers it.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "binding/binder.h"
#include "binding/gang_barrier.h"

namespace berth::binding::testing {

enum class InjectedFault {
  None,
  LostDone,     // carried out, the answer is lost
  LostNotDone,  // not carried out, the answer is lost
  ServerError,  // 500, the engine's own repeats included
  Refused,      // 422
};

class FakeCluster {
 public:
  explicit FakeCluster(BinderOptions options = {});

  // What somebody else does; seen by the binder after deliver(). UID and version are given when absent.
  void put(api::Kind kind, std::string_view object);
  void change(const api::ObjectKey& key, std::string_view merge_patch);
  void remove(const api::ObjectKey& key);
  void deliver();
  bool undelivered() const { return !unseen_.empty(); }

  const Json* find(const api::ObjectKey& key) const;
  const client::View& view() const { return view_; }
  Binder& binder() { return *binder_; }

  // The binder's answer for one key, nothing carried out.
  client::Effects decide(const api::ObjectKey& key) { return reconciler_of(key).reconcile(view_, key, now); }

  // --- the engine ---
  std::size_t runnable() const;
  void run(std::size_t nth);  // starts a waiting key that is not in flight
  std::size_t in_flight() const;
  void step(std::size_t nth, InjectedFault fault);  // carries out the next write of one chain
  void crash();                                     // forgets everything but the objects
  // Runs without faults until nothing moves before `until`, in order of arrival; time jumps to what is waited
  // for.
  void run_until_idle(Time until);

  Time now = Time::from_seconds(1'000'000);
  std::vector<std::string> log;  // "merge-patch resourceclaims d/c/status", accepted writes of the binder
  std::vector<client::EventNote> events;
  // Called before and after each accepted write of the binder.
  std::function<void(const client::ApiRequest&)> on_write;

 private:
  struct Flight;
  struct ChainRun;
  client::ApiReply carry_out(const client::ApiRequest& request);
  client::ApiReply store(const api::ObjectKey& key, Json next);
  void learn(const api::ObjectKey& key);
  void publish(const std::optional<client::Delta>& delta);
  void finish(std::size_t flight);
  client::Reconciler& reconciler_of(const api::ObjectKey& key) {
    if (key.kind == api::Kind::PodGroup) return *barrier_;
    return *binder_;
  }

  BinderOptions options_;
  std::unique_ptr<Binder> binder_;
  std::unique_ptr<client::Reconciler> barrier_;
  std::map<api::ObjectKey, Json> objects_;
  std::uint64_t version_ = 100;
  std::uint64_t uids_ = 0;
  std::vector<api::ObjectKey> unseen_;
  client::View view_;
  std::deque<api::ObjectKey> queue_;
  std::map<api::ObjectKey, Time> parked_;
  std::vector<std::shared_ptr<Flight>> flights_;
};

}  // namespace berth::binding::testing
