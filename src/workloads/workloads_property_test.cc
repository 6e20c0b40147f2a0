// Whatever is lost, refused, delayed or reordered, and whenever terms begin anew: no pod is made twice, no
// end of a pod is counted twice, and after the faults every workload is as its spec says.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/random.h"
#include "engine/testing/engine_fixture.h"
#include "workloads/objects.h"

namespace berth::workloads {
namespace {

using engine::testing::EngineFixture;
using engine::testing::InjectedFault;

constexpr std::uint64_t kSeeds = 60;
constexpr std::int64_t kReplicas = 5, kCompletions = 6, kParallelism = 3;

constexpr const char* kSet = R"({"apiVersion":"apps/v1","kind":"ReplicaSet",
  "metadata":{"namespace":"d","name":"web","uid":"set-uid","generation":1},
  "spec":{"replicas":5,"selector":{"matchLabels":{"app":"web"}},
    "template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"c"}]}}}})";
constexpr const char* kIndexedJob = R"({"apiVersion":"batch/v1","kind":"Job",
  "metadata":{"namespace":"d","name":"train","uid":"job-uid","generation":1},
  "spec":{"completions":6,"parallelism":3,"completionMode":"Indexed","backoffLimit":100,
    "selector":{"matchLabels":{"job":"train"}},
    "template":{"metadata":{"labels":{"job":"train"}},"spec":{"restartPolicy":"Never","containers":[]}}}})";
constexpr const char* kPlainJob = R"({"apiVersion":"batch/v1","kind":"Job",
  "metadata":{"namespace":"d","name":"count","uid":"count-uid","generation":1},
  "spec":{"completions":6,"parallelism":3,"backoffLimit":100,
    "selector":{"matchLabels":{"job":"count"}},
    "template":{"metadata":{"labels":{"job":"count"}},"spec":{"restartPolicy":"Never","containers":[]}}}})";

constexpr const char* kDaemon = R"({"apiVersion":"apps/v1","kind":"DaemonSet",
  "metadata":{"namespace":"d","name":"agent","uid":"daemon-uid","generation":1},
  "spec":{"selector":{"matchLabels":{"app":"agent"}},
    "template":{"metadata":{"labels":{"app":"agent"}},"spec":{"containers":[]}}}})";
constexpr const char* kStateful = R"({"apiVersion":"apps/v1","kind":"StatefulSet",
  "metadata":{"namespace":"d","name":"db","uid":"db-uid","generation":1},
  "spec":{"replicas":4,"podManagementPolicy":"Parallel","selector":{"matchLabels":{"app":"db"}},
    "template":{"metadata":{"labels":{"app":"db"}},"spec":{"containers":[]}}}})";
constexpr const char* kDeployment = R"({"apiVersion":"apps/v1","kind":"Deployment",
  "metadata":{"namespace":"d","name":"api","uid":"api-uid","generation":1},
  "spec":{"replicas":2,"selector":{"matchLabels":{"app":"api"}},
    "template":{"metadata":{"labels":{"app":"api"}},"spec":{"containers":[]}}}})";
constexpr std::int64_t kNodes = 3, kStatefulReplicas = 4;

// The owner's UID.
std::string owner_of(const Json& pod) {
  for (const Json& owner : pod.part("metadata").items_at("ownerReferences"))
    return std::string(owner.string_at("uid"));
  return "";
}

bool is_living(const Json& pod) {
  const std::string_view phase = pod.part("status").string_at("phase");
  return phase != "Succeeded" && phase != "Failed" &&
         pod.part("metadata").string_at("deletionTimestamp").empty();
}

class Chaos {
 public:
  explicit Chaos(std::uint64_t seed) : random_(seed) {
    for (const WorkloadRow& row : workload_rows()) fixture_.engine.add(row.make());
    fixture_.api.fault = [this](const client::ApiRequest&) {
      return calm_ || random_.below(4) > 0 ? InjectedFault::None
                                           : static_cast<InjectedFault>(random_.below(7));
    };
    fixture_.api.on_accepted = [this](const client::ApiRequest& request) { check(request); };
    fixture_.api.put(replica_sets(), *parse_json(kSet));
    fixture_.api.put(jobs(), *parse_json(kIndexedJob));
    fixture_.api.put(jobs(), *parse_json(kPlainJob));
    fixture_.api.put(daemon_sets(), *parse_json(kDaemon));
    fixture_.api.put(stateful_sets(), *parse_json(kStateful));
    fixture_.api.put(deployments(), *parse_json(kDeployment));
    for (std::int64_t n = 1; n <= kNodes; ++n)
      fixture_.api.put(Kind::Node, R"({"metadata":{"name":"n)" + std::to_string(n) + R"("}})");
    fixture_.start();
  }

  void run() {
    for (int i = 0; i < 600; ++i) {
      act();
      fixture_.step();
    }
    calm_ = true;
    fixture_.lead({++epoch_});
    for (int i = 0; i < 60; ++i) {
      fixture_.advance(Duration::minutes(1));
      end_pods(1000);
    }
    fixture_.advance(Duration::minutes(20));
  }

  std::size_t count(const api::ResourceRef& resource) const { return fixture_.api.all(resource).size(); }
  const Json& status(const char* name) const {
    const bool is_set = std::string_view(name) == "web";
    return fixture_.api.find(is_set ? replica_sets() : jobs(), "d", name)->part("status");
  }
  std::int64_t ended(const std::string& owner) const {
    const auto found = ended_.find(owner);
    return found == ended_.end() ? 0 : found->second;
  }
  std::int64_t living(const std::string& owner) const {
    std::int64_t count = 0;
    for (const Json* pod : fixture_.api.all(api::ref_of(Kind::Pod)))
      count += owner_of(*pod) == owner && is_living(*pod);
    return count;
  }

 private:
  void act() {
    switch (random_.below(12)) {
      case 0:
        fixture_.api.deliver(random_.below(fixture_.api.watches()));
        return;
      case 1:
        fixture_.api.deliver_all();
        return;
      case 2:
        end_pods(random_.below(3));
        return;
      case 3:
        delete_pod();
        return;
      case 4:
        if (random_.below(6) == 0) fixture_.lead({++epoch_});
        return;
      case 5:
        fixture_.clock.advance(Duration::seconds(static_cast<std::int64_t>(random_.below(20))));
        return;
      case 6:
        if (fixture_.api.requests_waiting() > 0)
          fixture_.api.carry_out_only(random_.below(fixture_.api.requests_waiting()));
        return;
      case 7:
        if (fixture_.api.answers_held() > 0) fixture_.api.release(random_.below(fixture_.api.answers_held()));
        return;
      default:
        if (fixture_.api.requests_waiting() > 0)
          fixture_.api.answer(random_.below(fixture_.api.requests_waiting()));
    }
  }

  // Pods of Jobs succeed.
  void end_pods(std::uint64_t most) {
    for (const Json* pod : std::vector<const Json*>(fixture_.api.all(api::ref_of(Kind::Pod)))) {
      if (most == 0) return;
      const std::string owner = owner_of(*pod);
      if ((owner != "job-uid" && owner != "count-uid") || !is_living(*pod)) continue;
      --most;
      ++ended_[owner];
      const std::string name(pod->part("metadata").string_at("name"));
      fixture_.api.change(Kind::Pod, "d", name, R"({"status":{"phase":"Succeeded"}})");
    }
  }

  void delete_pod() {
    for (const Json* pod : fixture_.api.all(api::ref_of(Kind::Pod)))
      if (owner_of(*pod) != "job-uid" && owner_of(*pod) != "count-uid" && random_.below(3) == 0) {
        fixture_.api.remove(api::ref_of(Kind::Pod), "d",
                            std::string(pod->part("metadata").string_at("name")));
        return;
      }
  }

  // More pods than the spec says never live at once.
  void check(const client::ApiRequest& request) {
    if (request.verb != client::Verb::Create || request.resource.resource != "pods") return;
    EXPECT_LE(living("set-uid"), kReplicas);
    EXPECT_LE(living("daemon-uid"), kNodes);
    EXPECT_LE(living("db-uid"), kStatefulReplicas);
    EXPECT_LE(living("job-uid"), kParallelism);
    EXPECT_LE(living("count-uid"), kParallelism);
    std::set<std::string> indexes;
    for (const Json* pod : fixture_.api.all(api::ref_of(Kind::Pod)))
      if (owner_of(*pod) == "job-uid") {
        const std::string index(
            pod->part("metadata").part("labels").string_at("batch.kubernetes.io/job-completion-index"));
        EXPECT_TRUE(indexes.insert(index).second) << "two pods of index " << index;
      }
  }

  EngineFixture fixture_;
  SeededRandom random_;
  bool calm_ = false;
  std::uint64_t epoch_ = 0;
  std::map<std::string, std::int64_t> ended_;
};

TEST(Workloads, NoPodIsMadeOrCountedTwice) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    Chaos chaos(seed);
    chaos.run();
    EXPECT_EQ(chaos.living("set-uid"), kReplicas);
    EXPECT_EQ(chaos.status("web").int_at("replicas"), kReplicas);
    EXPECT_EQ(chaos.living("daemon-uid"), kNodes);
    EXPECT_EQ(chaos.living("db-uid"), kStatefulReplicas);
    EXPECT_EQ(chaos.count(controller_revisions()), 2u) << "one of the daemons, one of the stateful set";
    EXPECT_EQ(chaos.count(replica_sets()), 2u) << "that of the deployment, and the one alone";
    for (const char* name : {"train", "count"}) {
      const Json& status = chaos.status(name);
      EXPECT_EQ(status.int_at("succeeded"), kCompletions) << name << " " << to_string(status);
      EXPECT_EQ(status.int_at("failed"), 0) << name;
      EXPECT_EQ(status.part("uncountedTerminatedPods"), Json::object()) << name;
    }
    EXPECT_EQ(chaos.status("train").string_at("completedIndexes"), "0-5");
    EXPECT_EQ(chaos.ended("job-uid"), kCompletions);
    EXPECT_EQ(chaos.ended("count-uid"), kCompletions);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace berth::workloads
