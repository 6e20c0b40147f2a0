// A small cluster for the tests of this room: objects as JSON, a view, the scheduler, and a server that
// carries out its writes.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "placement/fake_selectors.h"
#include "scheduling/scheduler.h"

namespace berth::scheduling {

using placement::FakeSelectors;

// Keeps every decision.
class DecisionList final : public DecisionCounts {
 public:
  void append(DecisionRecord record) override {
    records_.push_back(record);
    DecisionCounts::append(std::move(record));
  }
  const std::deque<DecisionRecord>& records() const { return records_; }
  // Null if there never was one.
  const DecisionRecord* find(std::string_view id) const {
    const auto found = std::find_if(records_.begin(), records_.end(),
                                    [&](const DecisionRecord& record) { return record.id == id; });
    return found == records_.end() ? nullptr : &*found;
  }

 private:
  std::deque<DecisionRecord> records_;
};

class InputList final : public InputLog {
 public:
  void record(const Input& input) override { inputs.push_back(input); }
  std::vector<Input> inputs;
};

inline SchedulerOptions with_trees() {
  SchedulerOptions options;
  options.composite_groups = true;
  return options;
}

// More members of a pod's spec: it uses the claim.
inline std::string claim_of(const std::string& name) {
  return R"(,"resourceClaims":[{"name":"dev","resourceClaimName":")" + name + "\"}]";
}

struct NodeSpec {
  std::string name;
  std::string cpu = "4";
  std::string memory = "8Gi";
  std::string pods = "110";
  std::map<std::string, std::string> labels = {};
  std::string spec = "{}";       // JSON
  std::string allocatable = "";  // more members: ,"example.com/gpu":"1"
};

struct PodSpec {
  std::string name;
  std::string cpu = "1";
  std::string group = "";
  std::string spec = "";  // more members of spec: ,"nodeSelector":{…}
  std::string memory = "";
  std::string uid = "";
  int created = 0;
  std::string runs = "";  // the expected duration
};

class TestBench {
 public:
  explicit TestBench(SchedulerOptions options = {})
      : scheduler(std::move(options), selectors, &decisions, &inputs) {}

  // Kind::Other: of the kind that the text names.
  void put(api::Kind kind, const std::string& text);
  void put_node(const NodeSpec& spec);
  void put_pod(const PodSpec& spec);
  // `minimum` 0: the basic policy. `key`: the topology key, or empty. `created` 0: no time.
  void put_group(const std::string& name, int minimum, const std::string& key = "", int priority = 0,
                 int created = 0);
  void put_class(const std::string& name, const std::string& selector);
  // A pool of `count` devices d0… on one node.
  void put_slice(const std::string& name, const std::string& node, int count,
                 const std::string& driver = "gpu.example.com");
  void put_claim(const std::string& name, const std::string& device_class, int count = 1);
  void erase(api::Kind kind, const std::string& name, const std::string& ns = "default");

  client::Effects decide() { return scheduler.decide(view, now); }
  // Carries out the writes and reports their outcome to the scheduler.
  void carry_out(const client::Effects& effects);
  // As an API server that refuses evictions with code 429. Returns how many it refused.
  std::size_t refuse(const client::Effects& evictions, std::string_view why);
  // Decides and carries out until there is nothing to do; returns the effects as texts.
  std::vector<std::string> run();

  // The node of the pod's BindRequest, or "".
  std::string node_of(const std::string& pod, const std::string& ns = "default") const;
  std::string message_of(const std::string& pod) const;
  std::string reason_of(const std::string& pod) const;
  // The message of the latest event about the pod; "": none.
  std::string event_of(const std::string& pod) const;
  std::string group_message(const std::string& group) const;
  void bind(const std::string& pod);                               // as the binder does
  void nominate(const std::string& pod, const std::string& node);  // as an autoscaler does
  // As the binder's gang barrier does, for the decision of the pod's BindRequest.
  void commit_gang(const std::string& group, const std::string& pod);

  void put_json(api::Kind kind, Json object);

  Time now = Time::from_seconds(1'800'000'000);
  client::View view;
  FakeSelectors selectors;
  DecisionList decisions;
  InputList inputs;
  Scheduler scheduler;
  std::vector<client::EventNote> events;
  std::map<std::string, std::string> others;  // objects that are only read, by "jobs/train"
  std::vector<std::string> evictions;         // "evict a", "delete b"; the pod is there until it is erased

 private:
  void write(const client::Write& write);
  client::ApiReply read(const client::ApiRequest& request) const;
  void keep(const client::MemoryWrite& write);
  int version_ = 0;
};

}  // namespace berth::scheduling
