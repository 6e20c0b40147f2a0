// The binder and the gang barrier on the real engine over an API server in memory: faults, crashes, and
// answers and watches in any order that the test likes.
//
// One thread, virtual time. Events are answered at once and stand in `events`.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "binding/binder.h"
#include "binding/gang_barrier.h"
#include "binding/memory_requests.h"
#include "engine/engine.h"
#include "engine/testing/fake_api.h"

namespace berth::binding::testing {

using engine::testing::InjectedFault;

struct SeenEvent {
  std::string reason, action, message;
};

inline constexpr const char* kNodeN1 = R"({"metadata":{"name":"n1"}})";

// Of objects in namespace "d".
inline api::ObjectKey request_key(const std::string& name) {
  return {api::Kind::BindRequest, "d", name, {}};
}
inline api::ObjectKey pod_key(const std::string& name) {
  return {api::Kind::Pod, "d", name, {}};
}
inline api::ObjectKey claim_key(const std::string& name) {
  return {api::Kind::ResourceClaim, "d", name, {}};
}

// InMemory: the binder works through MemoryRequests, as beside its scheduler.
enum class Requests { Objects, InMemory };

class BinderFixture {
 public:
  explicit BinderFixture(BinderOptions options = {}, Requests requests = Requests::Objects);

  // What somebody else does; seen by the binder after deliver(). UID and version are given when absent.
  void put(api::Kind kind, std::string_view object);
  void change(const api::ObjectKey& key, std::string_view merge_patch);
  void remove(const api::ObjectKey& key);
  // Everything that was stored is seen, and the keys that it wakes run.
  void deliver();

  const Json* find(const api::ObjectKey& key) const;
  std::vector<const Json*> all(api::Kind kind) const { return api_.all(api::ref_of(kind)); }
  const client::View& view() const { return engine_->view(); }
  Binder& binder() { return *binder_; }
  // What a binder that has just seen the stored objects would do for one key. Carries out nothing.
  client::Effects decide(const api::ObjectKey& key) const;

  // What the scheduler of this process writes; deliver() shows it. Only with Requests::InMemory.
  void decide(std::string_view bind_request);
  std::size_t kept_in_memory() const { return memory_->kept(); }
  // A term of the process that keeps them.
  void lead_in_memory(client::Leadership leadership) { memory_->lead(leadership); }
  // The watch of BindRequests begins anew.
  void relist_requests();

  // Requests that wait to be carried out, reads included.
  std::size_t in_flight() const { return api_.requests_waiting(); }
  // Carries out and answers the n-th of them (modulo their number); keys that it wakes run. A ServerError or
  // Refused stands for the engine's repeats of the write as well.
  void answer(std::size_t nth, InjectedFault fault = InjectedFault::None);
  // The one of this line of the log; there is one.
  void answer(std::string_view line, InjectedFault fault = InjectedFault::None);
  // A new process: what was sent before may still be carried out.
  void crash() { crash(requests_); }
  void crash(Requests next);
  // Carries on without faults until nothing moves before `until`; time jumps to what is waited for.
  void run_until_idle(Time until);

  Time now() const { return clock_.now(); }
  void advance_to(Time time) { clock_.advance_to(time); }

  std::vector<std::string> log;  // "patch resourceclaims c/status": accepted writes of the binder but events
  std::vector<SeenEvent> events;
  // Called after each accepted write that is no event.
  std::function<void(const client::ApiRequest&)> on_write;

 private:
  void accepted(const client::ApiRequest& request);
  void run_keys();
  void answer_events();

  ManualClock clock_{Time::from_seconds(1'000'000)};
  const BinderOptions options_;
  Requests requests_;
  engine::testing::FakeApi api_{clock_};
  std::unique_ptr<MemoryRequests> memory_;
  std::unique_ptr<engine::SharedInformers> informers_;
  std::unique_ptr<engine::Engine> engine_;
  Binder* binder_ = nullptr;  // the engine's
};

// With UID "u-NAME"; `rest` goes on behind the metadata: ,"status":{…}.
void add_claim(BinderFixture& cluster, const std::string& name, const std::string& rest = "");

}  // namespace berth::binding::testing
