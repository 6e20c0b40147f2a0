// The binder and the gang barrier on the real engine and an API server in memory, with faults, crashes, and
// answers and watches in any order.
//
// One thread, virtual time. Events are answered at once and collected in `events`.
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

// Keys in namespace "d".
inline api::ObjectKey request_key(const std::string& name) {
  return {api::Kind::BindRequest, "d", name, {}};
}
inline api::ObjectKey pod_key(const std::string& name) {
  return {api::Kind::Pod, "d", name, {}};
}
inline api::ObjectKey claim_key(const std::string& name) {
  return {api::Kind::ResourceClaim, "d", name, {}};
}

// InMemory: the binder's client is MemoryRequests, as in one process with the scheduler.
enum class Requests { Objects, InMemory };

class BinderFixture {
 public:
  explicit BinderFixture(BinderOptions options = {}, Requests requests = Requests::Objects);

  // Changes by other clients; the binder sees them after deliver(). Absent UIDs and versions are added.
  void put(api::Kind kind, std::string_view object);
  void change(const api::ObjectKey& key, std::string_view merge_patch);
  void remove(const api::ObjectKey& key);
  // Delivers all watch events and runs the keys that they wake.
  void deliver();
  // The events of one kind only: other watches lag.
  void deliver(api::Kind kind);

  const Json* find(const api::ObjectKey& key) const;
  std::vector<const Json*> all(api::Kind kind) const { return api_.all(api::ref_of(kind)); }
  const client::View& view() const { return engine_->view(); }
  Binder& binder() { return *binder_; }
  // The effects of a new binder that sees the stored objects, for one key. Carries out nothing.
  client::Effects decide(const api::ObjectKey& key) const;

  // Submits a BindRequest as the scheduler of this process; deliver() shows it. Only with
  // Requests::InMemory.
  void decide(std::string_view bind_request);
  std::size_t kept_in_memory() const { return memory_->kept(); }
  // Starts a term of the process that keeps them.
  void lead_in_memory(client::Leadership leadership) { memory_->lead(leadership); }
  // Restarts the watch of BindRequests with a list.
  void relist_requests();

  // The number of requests that wait for an answer, reads included.
  std::size_t in_flight() const { return api_.requests_waiting(); }
  // Carries out and answers the n-th of them (modulo their number), then runs the keys that it wakes. A
  // ServerError also answers the engine's repeats of the write.
  void answer(std::size_t nth, InjectedFault fault = InjectedFault::None);
  // The same for the request with this log line, which must exist.
  void answer(std::string_view line, InjectedFault fault = InjectedFault::None);
  // The same for the oldest create of the kind, without a fault.
  void answer_create(api::Kind kind);
  // Starts a new process; earlier requests may still be carried out.
  void crash() { crash(requests_); }
  void crash(Requests next);
  // Runs without faults until nothing happens before `until`; time jumps to the next deadline.
  void run_until_idle(Time until);

  Time now() const { return clock_.now(); }
  void advance_to(Time time) { clock_.advance_to(time); }

  std::vector<std::string> log;  // accepted writes except events: "patch resourceclaims c/status"
  std::vector<SeenEvent> events;
  std::size_t repeated_events = 0;  // writes that only raise the count of one of them
  // Called after each accepted write except events.
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

// The plugin "Telling": PostBind annotates the pod with its node.
inline constexpr std::string_view kTold = "told";
BinderOptions with_telling_plugin(BinderOptions options = {});

// Adds a claim with UID "u-NAME"; `rest` follows the metadata: ,"status":{…}.
void add_claim(BinderFixture& cluster, const std::string& name, const std::string& rest = "");

}  // namespace berth::binding::testing
