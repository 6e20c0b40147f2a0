// Groups on small labelled clusters against what kube-scheduler 1.37.0 bound: never fewer members, never
// part of a gang, in one domain, on nodes with room.
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <set>

#include "base/testing/source_dir.h"
#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

constexpr std::array<std::pair<std::string_view, api::Kind>, 3> kKinds = {
    {{"Node", api::Kind::Node}, {"Pod", api::Kind::Pod}, {"PodGroup", api::Kind::PodGroup}}};

struct Named {
  std::string ns, name;
};

Named split(const std::string& key) {
  return {key.substr(0, key.find('/')), key.substr(key.find('/') + 1)};
}

// The number of members with a node, and their domains.
struct Standing {
  int placed = 0;
  std::set<std::string> domains;
};

Standing standing_of(const TestBench& bench, const JsonArray& pods, const std::string& key) {
  Standing standing;
  for (const Json& pod : pods) {
    const Named named = split(pod.as_string());
    const api::Pod* live = bench.view.pods.find(named.ns, named.name);
    const std::string node = live->bound() ? live->node_name : bench.node_of(named.name, named.ns);
    if (node.empty()) continue;
    ++standing.placed;
    const api::StringMap& labels = bench.view.nodes.find("", node)->meta.labels;
    if (!key.empty()) standing.domains.insert(labels.contains(key) ? labels.find(key)->second : "(no label)");
  }
  return standing;
}

std::int64_t amount_of(const Json& quantity) {
  return parse_quantity(quantity.is_string() ? quantity.as_string() : to_string(quantity))->ceil_millis();
}

// Recounts from the objects: the requests on each node that got a pod against its allocatable. Other nodes
// may be overfull in the input.
void check_room(const TestBench& bench) {
  std::map<std::string, std::map<std::string, std::int64_t>> taken;  // of a node, by resource
  std::map<std::string, std::set<std::string>> asked;                // of a node, by pods that it got
  for (const auto& [key, pod] : bench.view.pods.all()) {
    const std::string node = pod->bound() ? pod->node_name : bench.node_of(key.name, key.ns);
    if (node.empty()) continue;
    const auto add = [&, fresh = !pod->bound()](const std::string& resource, std::int64_t amount) {
      taken[node][resource] += amount;
      if (fresh) asked[node].insert(resource);
    };
    add("pods", 1000);
    const Json object = *parse_json(*pod->raw);
    for (const Json& container : object.part("spec").items_at("containers"))
      if (const Json* requests = container.find_path({"resources", "requests"}))
        for (const auto& [resource, amount] : requests->as_object()) add(resource, amount_of(amount));
  }
  for (const auto& [node, resources] : asked) {
    const Json object = *parse_json(*bench.view.nodes.find("", node)->raw);
    const Json& has = object.part("status").part("allocatable");
    for (const std::string& resource : resources) {
      ASSERT_TRUE(has.find(resource)) << node << " has no " << resource;
      EXPECT_LE(taken[node][resource], amount_of(*has.find(resource))) << node << " " << resource;
    }
  }
}

void check_group(const TestBench& bench, const Json& group) {
  SCOPED_TRACE(std::string(group.string_at("name")));
  const std::string key(group.string_at("topology"));
  const Standing now = standing_of(bench, group.items_at("pods"), key);
  const Standing before = standing_of(bench, group.items_at("already"), key);
  EXPECT_GE(now.placed, group.int_at("newlyBoundMin"));
  const bool gang = group.bool_at("gang") && now.placed > 0;
  EXPECT_GE(now.placed + before.placed, gang ? group.int_at("minCount") : 0);
  std::set<std::string> domains = now.domains;
  if (now.placed > 0) domains.insert(before.domains.begin(), before.domains.end());
  EXPECT_LE(domains.size(), 1u);
  EXPECT_FALSE(domains.contains("(no label)"));
  // Kubernetes' sentence for a refused group, unless it names a placement (their order differs).
  const std::string wanted(group.string_at("message"));
  if (now.placed > 0 || wanted.empty() || wanted.find("first placement") != std::string::npos) return;
  const api::PodGroup* object =
      bench.view.pod_groups.find(group.string_at("namespace"), group.string_at("name"));
  const api::Condition* said = api::find_condition(object->conditions, "PodGroupInitiallyScheduled");
  ASSERT_TRUE(said);
  EXPECT_TRUE(said->status == "True" || said->message.starts_with(wanted)) << said->message;
}

TEST(Observed, GroupsGetAtLeastWhatKubeSchedulerGaveThem) {
  std::ifstream file(source_path("tests/data/scheduling/groups.jsonl"));
  int cases = 0;
  for (std::string line; std::getline(file, line); ++cases) {
    const Json one = *parse_json(line);
    SCOPED_TRACE(std::string(one.string_at("name")));
    TestBench bench;
    for (const Json& object : one.items_at("objects"))
      for (const auto& [name, kind] : kKinds)
        if (object.string_at("kind") == name) bench.put_json(kind, object);
    bench.run();
    for (const Json& group : one.items_at("groups")) check_group(bench, group);
    check_room(bench);
  }
  EXPECT_GT(cases, 30);
}

}  // namespace
}  // namespace berth::scheduling
