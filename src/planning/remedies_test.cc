#include "planning/remedies.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "dra/cel_selectors.h"
#include "placement/refusal/berth_words.h"
#include "planning/test_documents.h"

namespace berth::planning {
namespace {

using placement::Remedy;
using placement::RemedyKind;
using placement::RemedyStep;

std::string node(const std::string& name, const std::string& metadata, const std::string& spec,
                 const std::string& cpu) {
  return "{apiVersion: v1, kind: Node, metadata: {name: " + name + metadata + "}, spec: {" + spec +
         "}, status: {allocatable: {cpu: \"" + cpu + "\", memory: 8Gi, pods: \"3\"}}}\n---\n";
}
std::string pod(const std::string& name, const std::string& cpu, const std::string& spec) {
  return "{apiVersion: v1, kind: Pod, metadata: {name: " + name + ", namespace: default}, spec: {" + spec +
         ", containers: [{name: c, image: i, resources: {requests: {cpu: \"" + cpu + "\"}}}]}}\n---\n";
}
std::string slice(const std::string& of, const std::string& devices) {
  return "{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: s-" + of +
         "}, spec: {driver: d.example.com, nodeName: " + of + ", pool: {name: " + of +
         ", generation: 1, resourceSliceCount: 1}, devices: [" + devices + "]}}\n---\n";
}
std::string device_class(const std::string& name, const std::string& kind) {
  return "{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: " + name +
         "}, spec: {selectors: [{cel: {expression: \"device.attributes['d.example.com'].kind == '" + kind +
         "'\"}}]}}\n---\n";
}
std::string claim(const std::string& name, const std::string& device_class, const std::string& status) {
  return "{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: " + name +
         ", namespace: default, uid: u-" + name +
         "}, spec: {devices: {requests: [{name: r, exactly: {deviceClassName: " + device_class +
         ", allocationMode: ExactCount, count: 1}}]}}" + status + "}\n---\n";
}
std::string group(const std::string& min, const std::string& constraints) {
  return "{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: g, namespace: default}, "
         "spec: {schedulingPolicy: {gang: {minCount: " +
         min + "}}" + constraints + "}}\n---\n";
}
constexpr const char* kRack = ", schedulingConstraints: {topology: [{key: rack}]}";
std::string policy(const std::string& wish) {
  return "{apiVersion: scheduling.berth.dev/v1alpha1, kind: PlacementPolicy, metadata: {name: near, "
         "namespace: "
         "default}, spec: {targetRef: {group: scheduling.k8s.io, kind: PodGroup, name: g}, " +
         wish + "}}\n---\n";
}
std::string in_rack(const std::string& name) {
  return ", labels: {example.com/rack: " + name + "}";
}
const std::string kInGroup = "schedulingGroup: {podGroupName: g}, priority: 0";
const std::string kBig = "{name: d0, attributes: {kind: {string: big}}}";

struct RemedyCase {
  std::string name, input;
  std::vector<std::string> texts;
  std::string nearest = {};
  bool of_group = false;
};
const std::string kX = pod("x", "3", "priority: 5");
const std::string kY = pod("x", "1", "priority: 5, resourceClaims: [{name: c, resourceClaimName: mine}]");

const std::vector<RemedyCase> kRemedyCases = {
    {"it fits", node("n1", "", "", "4") + kX, {}},
    {"a cordon", node("n1", "", "unschedulable: true", "4") + kX, {"uncordoning n1"}, "n1: it is cordoned"},
    {"a cordoned node that is too small",
     node("n1", "", "unschedulable: true", "2") + kX,
     {"uncordoning n1, and 1 more cpu on n1"},
     "n1: it is cordoned, 1 of cpu short"},
    {"a cordoned node that is full",
     node("n1", "", "unschedulable: true", "4") + pod("a", "2", "nodeName: n1, priority: 7") + kX,
     {"uncordoning n1, and 1 more cpu on n1",
      "uncordoning n1, and evicting default/a (priority 7), for a place on n1"},
     "n1: it is cordoned, 1 of cpu short"},
    {"a taint",
     node("n1", "", "taints: [{key: dedicated, value: db, effect: NoSchedule}]", "4") + kX,
     {"removing taint dedicated=db:NoSchedule from n1"},
     "n1: it has taint dedicated=db:NoSchedule"},
    {"a taint of a condition",
     node("n1", "", "taints: [{key: node.kubernetes.io/not-ready, effect: NoSchedule}]", "4") + kX,
     {},
     "n1: it has a taint it does not tolerate (node.kubernetes.io/not-ready:NoSchedule)"},
    {"a label",
     node("n1", "", "", "4") + pod("x", "3", "nodeSelector: {zone: a}"),
     {"adding label zone=a to n1"},
     "n1: it lacks label zone=a"},
    {"labels of an affinity",
     node("n1", "", "", "4") +
         pod("x", "3",
             "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
             "[{matchExpressions: [{key: zone, operator: In, values: [a, b]}, {key: fast, operator: "
             "Exists}]}]}}}"),
     {"adding labels zone=a, fast= to n1"},
     "n1: it lacks labels zone=a, fast="},
    // 4 cpu, 2 taken, 3 asked for.
    {"cpu and an eviction",
     node("n1", "", "", "4") + pod("train-3", "2", "nodeName: n1, priority: 50") + kX,
     {"evicting default/train-3 (priority 50), for a place on n1", "1 more cpu on n1",
      "one more empty node like n1"},
     "n1: 1 of cpu short"},
    {"a node that is too small",
     node("n1", "", "", "2500m") + kX,
     {"500m more cpu on n1"},
     "n1: 500m of cpu short"},
    {"the nearest of three",
     node("n1", "", "", "1") + node("n2", "", "", "2") + node("n3", "", "", "1500m") + kX,
     {"1 more cpu on n2"},
     "n2: 1 of cpu short"},
    {"a node that is charged beyond what it has",
     node("n1", "", "", "4") + pod("a", "6", "nodeName: n1, priority: 9") + kX,
     {"evicting default/a (priority 9), for a place on n1", "5 more cpu on n1",
      "one more empty node like n1"},
     "n1: 5 of cpu short"},
    {"pod slots",
     node("n1", "", "", "4") + pod("a", "100m", "nodeName: n1, priority: 9") +
         pod("b", "100m", "nodeName: n1, priority: 8") + pod("c", "100m", "nodeName: n1, priority: 7") + kX,
     {"evicting default/c (priority 7), for a place on n1", "1 more pod slot on n1",
      "one more empty node like n1"},
     "n1: 1 pod slot short"},
    {"a device and its holder",
     node("n1", "", "", "4") + slice("n1", kBig) + device_class("big", "big") +
         claim("theirs", "big",
               ", status: {allocation: {devices: {results: [{request: r, driver: d.example.com, pool: n1, "
               "device: d0}]}}, reservedFor: [{resource: pods, name: a, uid: u-a}]}") +
         "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default, uid: u-a}, spec: {nodeName: "
         "n1, "
         "priority: 9, resourceClaims: [{name: c, resourceClaimName: theirs}], containers: [{name: c, image: "
         "i}]}}\n---\n" +
         claim("mine", "big", "") + kY,
     {"evicting default/a (priority 9), for a place on n1", "one more empty node like n1"},
     "*"},
    {"another class",
     node("n1", "", "", "4") + slice("n1", kBig) + device_class("big", "big") +
         device_class("small", "small") + claim("mine", "small", "") + kY,
     {"asking for device class big in request r of claim mine"},
     "*"},
    {"a tainted device",
     node("n1", "", "", "4") +
         slice("n1",
               "{name: d0, attributes: {kind: {string: big}}, taints: [{key: sick, effect: NoSchedule}]}") +
         device_class("big", "big") + claim("mine", "big", "") + kY,
     {"removing taint sick:NoSchedule from device d0 of pool n1"},
     "*"},
    {"a rule that taints a device",
     node("n1", "", "", "4") + slice("n1", kBig) + device_class("big", "big") + claim("mine", "big", "") +
         "{apiVersion: resource.k8s.io/v1, kind: DeviceTaintRule, metadata: {name: rule}, spec: "
         "{deviceSelector: {device: d0}, taint: {key: sick, effect: NoSchedule}}}\n---\n" +
         kY,
     {"deleting DeviceTaintRule rule"},
     "*"},
    // Racks of 1 and 2 nodes with room for one member each.
    {"a gang of three in one rack",
     node("n1", ", labels: {rack: r1}", "", "4") + node("n2", ", labels: {rack: r2}", "", "4") +
         node("n3", ", labels: {rack: r2}", "", "4") + group("3", kRack) + pod("x1", "3", kInGroup) +
         pod("x2", "3", kInGroup) + pod("x3", "3", kInGroup),
     {"one more empty node like n2", "removing its topology constraint rack", "a minimum of 2 members"},
     "r2: it has room for 2 of the 3 members that are needed",
     true},
    {"a gang that a policy keeps in one rack",
     node("n1", in_rack("r1"), "", "4") + node("n2", in_rack("r2"), "", "4") +
         node("n3", in_rack("r2"), "", "4") + group("3", "") + policy("required: example.com/rack") +
         pod("x1", "3", kInGroup) + pod("x2", "3", kInGroup) + pod("x3", "3", kInGroup),
     {"one more empty node like n2", "a minimum of 2 members"},
     "r2: it has room for 2 of the 3 members that are needed",
     true},
    {"a policy that only prefers a rack holds nobody",
     node("n1", in_rack("r1"), "", "4") + node("n2", in_rack("r2"), "", "4") + group("3", "") +
         policy("preferred: [example.com/rack]") + pod("x1", "3", kInGroup) + pod("x2", "3", kInGroup) +
         pod("x3", "3", kInGroup),
     {"one more empty node like n1", "a minimum of 2 members"},
     "the cluster: it has room for 2 of the 3 members that are needed",
     true},
    {"a gang and two closed nodes",
     node("n1", "", "", "4") + node("n2", "", "unschedulable: true", "4") +
         node("n3", "", "taints: [{key: t, effect: NoSchedule}]", "4") +
         node("n4", "", "unschedulable: true", "1") + group("3", "") + pod("x1", "3", kInGroup) +
         pod("x2", "3", kInGroup) + pod("x3", "3", kInGroup),
     {"uncordoning n2, and removing taint t:NoSchedule from n3", "2 more empty nodes like n1",
      "a minimum of 1 member"},
     "the cluster: it has room for 1 of the 3 members that are needed",
     true},
    {"a gang and who is in its way",
     node("n1", "", "", "4") + node("n2", "", "", "4") + pod("a", "2", "nodeName: n1, priority: 9") +
         group("2", "") + pod("x1", "3", kInGroup) + pod("x2", "3", kInGroup),
     {"evicting default/a (priority 9)", "one more empty node like n2", "a minimum of 1 member"},
     "the cluster: it has room for 1 of the 2 members that are needed",
     true},
};

// --- The judge: steps carried out on the documents themselves, then a plan.

Json* object_named(std::vector<Document>& documents, std::string_view kind, std::string_view name) {
  for (Document& document : documents)
    if (document.object.string_at("kind") == kind &&
        document.object.part("metadata").string_at("name") == name)
      return &document.object;
  return nullptr;
}

void remove_named(std::vector<Document>& documents, std::string_view kind, std::string_view name) {
  std::erase_if(documents, [&](const Document& document) {
    return document.object.string_at("kind") == kind &&
           document.object.part("metadata").string_at("name") == name;
  });
}

void remove_taint(Json& owner, const std::string& text) {
  std::erase_if(owner["taints"].as_array(), [&](const Json& taint) {
    const std::string value(taint.string_at("value"));
    return std::string(taint.string_at("key")) + (value.empty() ? "" : "=" + value) + ":" +
               std::string(taint.string_at("effect")) ==
           text;
  });
}

void evict(std::vector<Document>& documents, const std::string& name) {
  for (Document& document : documents)
    if (document.object.string_at("kind") == "ResourceClaim") {
      const JsonArray& holders = document.object.part("status").items_at("reservedFor");
      if (holders.size() == 1 && holders.front().string_at("name") == name)
        document.object.as_object().erase("status");
    }
  remove_named(documents, "Pod", name);
}

void copy_nodes(std::vector<Document>& documents, const RemedyStep& step, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string name = "new-" + std::to_string(i);
    const std::vector<Document> before = documents;
    for (const Document& document : before) {
      Document copy = document;
      Json& object = copy.object;
      const std::string_view kind = object.string_at("kind");
      const bool is_slice = kind == "ResourceSlice" && object.part("spec").string_at("nodeName") == step.node;
      if (!is_slice && !(kind == "Node" && object.part("metadata").string_at("name") == step.node)) continue;
      object["metadata"]["name"] = name;
      if (is_slice) object["spec"]["nodeName"] = object["spec"]["pool"]["name"] = name;
      documents.push_back(std::move(copy));
    }
  }
}

void carry_out(std::vector<Document>& documents, const RemedyStep& step, Quantity more, std::int64_t count) {
  Json* node = step.node.empty() ? nullptr : object_named(documents, "Node", step.node);
  switch (step.kind) {
    case RemedyKind::Uncordon:
      (*node)["spec"]["unschedulable"] = false;
      return;
    case RemedyKind::RemoveTaints:
      for (const std::string& taint : step.subjects) remove_taint((*node)["spec"], taint);
      return;
    case RemedyKind::AddLabels:
      for (const std::string& label : step.subjects)
        (*node)["metadata"]["labels"][label.substr(0, label.find('='))] = label.substr(label.find('=') + 1);
      return;
    case RemedyKind::AddResource: {
      Json& amount = (*node)["status"]["allocatable"][step.subjects.front()];
      amount = (parse_quantity(amount.as_string()).value() + more).text();
      return;
    }
    case RemedyKind::AddNodes:
      return copy_nodes(documents, step, count);
    case RemedyKind::Evict:
      for (const auto& [pod, priority] : step.victims) evict(documents, pod.substr(pod.find('/') + 1));
      return;
    case RemedyKind::OtherClass:
      (*object_named(documents, "ResourceClaim", "mine"))["spec"]["devices"]["requests"]
          .as_array()[0]["exactly"]["deviceClassName"] = step.subjects.front();
      return;
    case RemedyKind::RemoveDeviceTaint:
      for (const std::string& taint : step.subjects)
        remove_taint((*object_named(documents, "ResourceSlice", "s-n1"))["spec"]["devices"].as_array()[0],
                     taint);
      return;
    case RemedyKind::DeleteTaintRule:
      return remove_named(documents, "DeviceTaintRule", step.subjects.front());
    case RemedyKind::FewerMembers:
      (*object_named(documents, "PodGroup", "g"))["spec"]["schedulingPolicy"]["gang"]["minCount"] = count;
      return;
    case RemedyKind::DropTopology:
      (*object_named(documents, "PodGroup", "g"))["spec"].as_object().erase("schedulingConstraints");
      return;
  }
}

class RemedyStories : public testing::Test {
 protected:
  RemedyStories() {
    options_.gates = &gates_;
    options_.device_gates = dra::gates_of(gates_);
    options_.preempts = false;
  }
  static std::vector<Document> read(const RemedyCase& one) {
    return documents_of(one.input.substr(0, one.input.size() - 5));
  }
  Remedies find(const RemedyCase& one) {
    const auto kind = one.of_group ? placement::EntityKind::Group : placement::EntityKind::Pod;
    const AskedAbout asked{kind, {"default", one.of_group ? "g" : "x"}};
    const auto offline = OfflineCluster::make(read(one), options_).value();
    return find_remedies(*offline, asked, options_, selectors_);
  }
  bool is_placed(std::vector<Document> documents) {
    const Plan plan = make_plan(std::move(documents), options_, selectors_).value();
    for (const Decision& decision : plan.decisions)
      if (decision.name == "x" || decision.name == "g") return decision.result == ResultKind::Placed;
    return false;
  }
  void judge(const RemedyCase& one, const Remedy& remedy) {
    std::vector<Document> whole = read(one);
    for (const RemedyStep& step : remedy.steps) carry_out(whole, step, step.more, step.count);
    EXPECT_TRUE(is_placed(whole)) << one.name << ": " << placement::words_of(remedy);
    for (std::size_t without = 0; without < remedy.steps.size(); ++without) judge_less(one, remedy, without);
  }
  // Each way to do a little less of one step, and all of the others.
  void judge_less(const RemedyCase& one, const Remedy& remedy, std::size_t at) {
    const RemedyStep& step = remedy.steps[at];
    std::vector<std::optional<RemedyStep>> lesser;
    const bool whole = !step.subjects.empty() && step.subjects.front() == "pods";
    const Quantity half =
        whole ? Quantity::of(step.more.ceil_units() / 2) : Quantity::millis(step.more.ceil_millis() / 2);
    const std::int64_t count = step.kind == RemedyKind::FewerMembers ? step.count + 1 : step.count - 1;
    for (std::size_t i = 0; i < step.subjects.size() && step.subjects.size() > 1; ++i) {
      lesser.push_back(step);
      lesser.back()->subjects.erase(lesser.back()->subjects.begin() + static_cast<std::ptrdiff_t>(i));
    }
    for (std::size_t i = 0; i < step.victims.size() && step.victims.size() > 1; ++i) {
      lesser.push_back(step);
      lesser.back()->victims.erase(lesser.back()->victims.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (step.kind == RemedyKind::AddResource || step.count > 0) lesser.push_back(step);
    if (lesser.empty()) lesser.push_back(std::nullopt);
    for (const std::optional<RemedyStep>& less : lesser) {
      std::vector<Document> documents = read(one);
      for (std::size_t i = 0; i < remedy.steps.size(); ++i)
        if (i != at)
          carry_out(documents, remedy.steps[i], remedy.steps[i].more, remedy.steps[i].count);
        else if (less)
          carry_out(documents, *less, half, count);
      EXPECT_FALSE(is_placed(documents)) << one.name << ": less of " << placement::words_of(remedy);
    }
  }

  const api::Gates gates_{api::GateDefaults::Up};
  PlanOptions options_;
  dra::CelSelectors selectors_;
};

TEST_F(RemedyStories, AreThoseAfterWhichItFits) {
  for (const RemedyCase& one : kRemedyCases) {
    const Remedies found = find(one);
    std::vector<std::string> texts;
    for (const Remedy& remedy : found.found) texts.push_back(placement::words_of(remedy));
    EXPECT_EQ(texts, one.texts) << one.name;
    std::string nearest = found.nearest ? found.nearest->place + ": " : "";
    for (std::size_t i = 0; found.nearest && i < found.nearest->lacks.size(); ++i)
      nearest += (i == 0 ? "" : ", ") + found.nearest->lacks[i];
    EXPECT_TRUE(one.nearest == "*" || one.nearest == nearest) << one.name << ": " << nearest;
    EXPECT_TRUE(!found.refusal || !found.tried.empty()) << one.name;
  }
}

TEST_F(RemedyStories, NameTheRoomiestOfManyDomains) {
  RemedyCase one{"300 racks", group("3", kRack), {}, "", true};
  for (int i = 0; i < 300; ++i)
    one.input += node("n" + std::to_string(i), ", labels: {rack: r" + std::to_string(i) + "}", "", "4");
  for (const std::string name : {"z1", "z2"}) one.input += node(name, ", labels: {rack: z}", "", "4");
  for (const std::string name : {"x1", "x2", "x3"}) one.input += pod(name, "3", kInGroup);
  const Remedies found = find(one);
  ASSERT_TRUE(found.nearest);
  EXPECT_EQ(found.nearest->place, "z");
  EXPECT_EQ(found.domains.size(), kDomainsShownMax);
  EXPECT_FALSE(found.ended) << "the domains took all tries";
  EXPECT_EQ(found.found.size(), 3u);
}

TEST_F(RemedyStories, SayWhichDevicesTheNextMemberLacks) {
  RemedyCase one{
      "a gang with devices", node("n1", "", "", "4") + slice("n1", kBig) + group("2", ""), {}, "", true};
  one.input += device_class("big", "big") + claim("c1", "big", "") + claim("c2", "big", "");
  for (const std::string n : {"1", "2"})
    one.input += pod("x" + n, "1", kInGroup + ", resourceClaims: [{name: c, resourceClaimName: c" + n + "}]");
  const Remedies found = find(one);
  ASSERT_EQ(found.domains.size(), 1u);
  EXPECT_EQ(found.domains[0].members, 1u);
  EXPECT_EQ(found.domains[0].next, "x2");
  const std::string lacks = "it has no devices for its claims (needs 1 device of class big, 0 are free)";
  EXPECT_EQ(found.domains[0].lacks, std::vector<std::string>{"1 node: " + lacks});
}

TEST_F(RemedyStories, WorkAndLessOfThemDoesNot) {
  std::size_t judged = 0;
  for (const RemedyCase& one : kRemedyCases) {
    EXPECT_EQ(is_placed(read(one)), one.name == "it fits") << one.name;
    for (const Remedy& remedy : find(one).found) {
      judge(one, remedy);
      ++judged;
    }
  }
  EXPECT_GT(judged, 25u);
}

}  // namespace
}  // namespace berth::planning
