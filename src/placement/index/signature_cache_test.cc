// SignatureCache against PodCycle over all nodes: the same node, devices and refusals after any history.
#include <gtest/gtest.h>

#include <algorithm>

#include "placement/fake_selectors.h"
#include "placement/index/signature_cache.h"
#include "placement/plugins/dynamic_resources.h"
#include "placement/refusal/berth_words.h"
#include "placement/test_cluster.h"

namespace berth::placement {
namespace {

constexpr int kNodes = 6;
constexpr int kNames = 3;  // that a node may have
constexpr int kPods = 8;

std::string name(const char* prefix, int i) {
  return prefix + std::to_string(i);
}

// The chosen of SignatureCache or of PodCycle.
struct Chosen {
  NodeId node;
  std::vector<std::string> devices;
  std::string taken;  // by the devices, of the node
  FitError fit_error;
  std::string words;
  friend bool operator==(const Chosen&, const Chosen&) = default;
};

class History {
 public:
  enum class Devices { TakeOfNodes, TakeNothing };

  // `more_nodes`: that stay, so that few changes are no reason to start signatures again.
  History(Devices devices, int more_nodes, std::size_t bytes_max)
      : devices_(devices), domains_(), bytes_max_(bytes_max), index_(pods_, domains_, bytes_max) {
    for (int i = 0; i < more_nodes; ++i)
      put(api::Kind::Node, R"({"metadata":{"name":")" + name("m", i) +
                               R"("},"status":{"allocatable":{"cpu":"1",)" + R"("memory":"1Gi","pods":")" +
                               std::to_string(i % 2) + "\"}}}");
    put(api::Kind::DeviceClass, R"({"metadata":{"name":"gpu"},)"
                                R"("spec":{"selectors":[{"cel":{"expression":"sound"}}]}})");
  }

  void step() {
    switch (random_below(13)) {
      case 0:
      case 1:
        return put_node();
      case 2:
        return erase_something();
      case 3:
      case 4:
        return put_slice();
      case 5:
        return put_claim();
      case 6:
      case 7:
        return put_pod();
      case 8:
        return cluster_.forget(name("d", random_below(4)));
      case 9:
        return try_and_roll_back();
      case 10:
        return put_class();
      default:
        return decide();
    }
  }

  // Of waiting pods with an even or an odd number, or of all: the signatures of the others fall behind. A pod
  // that has a place is not one: it would not find its own host ports in use, others of its signature would.
  enum class Of : std::uint8_t { Even, Odd, All };
  void compare(Of which) {
    model::Ledger::Transaction transaction(cluster_.ledger());
    compare(which, transaction);
  }

 private:
  void compare(Of which, model::Ledger::Transaction& transaction) {
    const SchedulingContext context{view_, cluster_, allocator_};
    for (const auto& [key, pod] : view_.pods.all()) {
      if (pod->bound() || !ready(*pod) || has_place(*pod)) continue;
      if (which != Of::All && (key.name.back() % 2 == 0) != (which == Of::Even)) continue;
      const Chosen index = by_index(context, *pod, transaction), pass = by_pass(context, *pod, transaction);
      if (!(index == pass))
        RC_LOG(pod->meta.name + "\nindex: " + text_of(index) + "\npass:  " + text_of(pass));
      RC_ASSERT(index == pass);
    }
  }

  std::string text_of(const Chosen& chosen) const {
    std::string text = chosen.node.valid() ? cluster_.node(chosen.node).name : chosen.words;
    for (const std::string& device : chosen.devices) text += " " + device;
    return text + " " + chosen.taken;
  }
  void put(api::Kind kind, const std::string& text) {
    Json object = *parse_json(text);
    object["metadata"]["uid"] = "uid-" + std::string(object["metadata"].string_at("name"));
    object["metadata"]["resourceVersion"] = std::to_string(++version_);
    auto typed = api::decode_typed(kind, std::make_shared<const std::string>(to_string(object)));
    const api::ObjectMeta& meta = api::meta_of(*typed);
    apply(view_.put({kind, meta.ns, meta.name, {}}, *typed));
  }
  void erase(api::Kind kind, const std::string& ns, const std::string& name) {
    apply(view_.erase({kind, ns, name, {}}, ++version_));
  }
  void apply(const std::optional<client::Delta>& delta) {
    if (!delta) return;
    cluster_.apply(*delta);
  }

  // The i-th node has one of kNames names, around those that stay; it often comes back with another one.
  static std::string node_name(int i) {
    const char* const prefixes[kNames] = {"n", "m1-", "a"};
    return name(prefixes[random_below(kNames)], i);
  }
  void put_node() {
    const int i = random_below(kNodes);
    if (random_below(2) == 0) erase(api::Kind::Node, "", node_name(i));
    std::string spec = random_below(6) == 0 ? R"({"unschedulable":true})" : "{}";
    if (random_below(6) == 0) spec = R"({"taints":[{"key":"k","value":"v","effect":"NoSchedule"}]})";
    put(api::Kind::Node, R"({"metadata":{"name":")" + node_name(i) + R"(","labels":{"rack":"r)" +
                             std::to_string(random_below(2)) + R"("}},"spec":)" + spec +
                             R"(,"status":{"allocatable":{"cpu":")" + std::to_string(1 + random_below(4)) +
                             R"(","memory":"4Gi","pods":"3","nvidia.com/gpu":")" +
                             std::to_string(random_below(3)) + "\"}}}");
  }
  void put_slice() {
    const int i = random_below(4);
    std::string where = R"("nodeName":")" + node_name(random_below(kNodes)) + "\"";
    if (i == 3) where = R"("allNodes":true)";
    std::string devices;
    for (int d = 0; d <= random_below(3); ++d)
      devices += (d == 0 ? "" : ",") + (R"({"name":"d)" + std::to_string(d)) + "\"" +
                 (random_below(12) == 0 ? R"(,"attributes":{"broken":{"bool":true}})" : "") + takes() + "}";
    put(api::Kind::ResourceSlice, R"({"metadata":{"name":")" + name("s", i) +
                                      R"("},"spec":{"driver":"drv","pool":{"name":")" + name("p", i) +
                                      R"(","generation":1,"resourceSliceCount":1},)" + where +
                                      R"(,"devices":[)" + devices + "]}}");
  }
  // What devices of the class serve: an extended resource, which device plugins of some nodes serve too.
  void put_class() {
    const char* const resources[] = {"nvidia.com/gpu", "example.com/gpu"};
    const int i = random_below(2);
    const std::string serves = random_below(3) == 0
                                   ? ""
                                   : R"(,"extendedResourceName":")" +
                                         std::string(resources[random_below(4) == 0 ? 1 - i : i]) + "\"";
    put(api::Kind::DeviceClass,
        R"({"metadata":{"name":"serves-)" + std::to_string(i) + R"("},"spec":{"selectors":[)" +
            (random_below(4) == 0 ? R"({"cel":{"expression":"sound"}})" : "") + "]" + serves + "}}");
  }
  // Some of what devices may serve.
  static std::string extended_requests() {
    std::string text;
    for (const char* resource :
         {"nvidia.com/gpu", "example.com/gpu", "deviceclass.resource.kubernetes.io/serves-0"})
      if (random_below(4) == 0)
        text += std::string(",\"") + resource + "\":\"" + std::to_string(1 + random_below(2)) + "\"";
    return text;
  }
  // What the device takes of its node.
  std::string takes() const {
    if (devices_ == Devices::TakeNothing) return "";
    const char* const kinds[] = {"", R"("mapping":{"deviceMultiplier":"1"})",
                                 R"("overhead":{"perPod":"500m"})", R"("overhead":{"perContainer":"700m"})"};
    const int kind = random_below(6);
    if (kind >= 4 || kind == 0) return "";
    return R"(,"nodeAllocatableResources":{"cpu":{)" + std::string(kinds[kind]) + "}}";
  }
  void put_claim() {
    put(api::Kind::ResourceClaim, R"({"metadata":{"name":")" + name("c", random_below(kPods)) +
                                      R"(","namespace":"ns"},"spec":{"devices":{"requests":[{"name":"r",)"
                                      R"("exactly":{"deviceClassName":"gpu","count":)" +
                                      std::to_string(1 + random_below(2)) + "}}]}}}");
  }
  void put_pod() {
    const int i = random_below(kPods);
    std::string more;
    if (i % 2 == 0)
      more = R"(,"resourceClaims":[{"name":"dev","resourceClaimName":")" + name("c", i) + "\"}]";
    if (random_below(5) == 0) more += R"(,"nodeSelector":{"rack":"r0"})";
    if (random_below(5) == 0) more += R"(,"tolerations":[{"key":"k","operator":"Exists"}])";
    if (random_below(6) == 0) more += R"(,"nodeName":")" + node_name(random_below(kNodes)) + "\"";
    // Without claims, perhaps a share of a GPU; what it would have if it is bound.
    const std::string share = R"(,"annotations":{"gpu-fraction":"0.)" + std::to_string(4 + random_below(3)) +
                              R"(","scheduling.berth.dev/gpu-groups":"gpu-0",)"
                              R"("scheduling.berth.dev/gpu-portion":"0.40"})";
    put(api::Kind::Pod, R"({"metadata":{"name":")" + name("pod", i) + R"(","namespace":"ns")" +
                            (i % 2 == 1 && random_below(2) == 0 ? share : "") +
                            R"(},"spec":{"containers":[{"name":"c","resources":{"requests":)"
                            R"({"cpu":")" +
                            std::to_string(1 + random_below(2)) + "\"" + extended_requests() + "}" +
                            (i % 2 == 0 && random_below(2) == 0 ? R"(,"claims":[{"name":"dev"}])" : "") +
                            "}" + (random_below(4) == 0 ? R"(,"ports":[{"hostPort":80}])" : "") + "}]" +
                            init_container() + more + "}}");
  }
  static std::string init_container() {
    if (random_below(4) != 0) return "";
    return R"(,"initContainers":[{"name":"i","resources":{"requests":{"cpu":"1")" + extended_requests() +
           "}}}]";
  }
  void erase_something() {
    switch (random_below(4)) {
      case 0:
        return erase(api::Kind::Node, "", node_name(random_below(kNodes)));
      case 1:
        return erase(api::Kind::Pod, "ns", name("pod", random_below(kPods)));
      case 2:
        return erase(api::Kind::ResourceClaim, "ns", name("c", random_below(kPods)));
      default:
        return erase(api::Kind::ResourceSlice, "", name("s", random_below(4)));
    }
  }

  bool ready(const api::Pod& pod) const {
    return std::all_of(pod.claims.begin(), pod.claims.end(), [&](const api::PodClaim& claim) {
      return view_.claims.find(pod.meta.ns, claim.claim_name) != nullptr;
    });
  }
  bool has_place(const api::Pod& pod) const {
    return cluster_.ledger().node_of(cluster_.find_pod("ns", pod.meta.name)).valid();
  }
  // Places a random waiting pod; true if it fits.
  bool place(model::Ledger::Transaction& transaction) {
    const api::Pod* pod = view_.pods.find("ns", name("pod", random_below(kPods)));
    if (!pod || pod->bound() || !ready(*pod) || has_place(*pod)) return false;
    const SchedulingContext context{view_, cluster_, allocator_};
    CycleState state;
    pods_.begin(state, context, *pod, &transaction);
    const NodeId node = index_.choose(state, {});
    return node.valid() && pods_.reserve(state, node, transaction);
  }
  void decide() {
    model::Ledger::Transaction transaction(cluster_.ledger());
    if (place(transaction)) cluster_.commit(transaction, name("d", random_below(4)));
  }
  void try_and_roll_back() {
    model::Ledger::Transaction transaction(cluster_.ledger());
    for (int i = 0; i < 3; ++i) {
      place(transaction);
      compare(Of::All, transaction);
    }
  }

  Chosen by_index(const SchedulingContext& context, const api::Pod& pod,
                  model::Ledger::Transaction& transaction) {
    CycleState state;
    pods_.begin(state, context, pod, &transaction);
    const NodeId node = index_.choose(state, {});
    EXPECT_TRUE(index_.bytes() <= bytes_max_ || index_.size() == 1) << index_.bytes();
    return chosen(state, node, node.valid() ? FitError{} : index_.fit_error(state));
  }
  Chosen by_pass(const SchedulingContext& context, const api::Pod& pod,
                 model::Ledger::Transaction& transaction) {
    CycleState state;
    pods_.begin(state, context, pod, &transaction);
    NodeId node;
    const std::vector<NodeId>& nodes = domains_.nodes(cluster_);
    if (!nodes.empty() && pods_.prepare(state)) node = pods_.choose(state, nodes, {});
    return chosen(state, node, node.valid() ? FitError{} : pods_.fit_error(state));
  }
  Chosen chosen(const CycleState& state, NodeId node, FitError fit_error) {
    Chosen chosen{node, {}, {}, std::move(fit_error), {}};
    if (node.valid()) {
      const plugins::NodeDevices& devices = plugins::devices_of(state.choice);
      if (devices.node_allocatable) chosen.taken = to_string(api::to_json(*devices.node_allocatable));
      for (const auto& allocation : devices.allocations)
        for (const api::DeviceResult& result : allocation->results)
          chosen.devices.push_back(result.pool + "/" + result.device);
    } else {
      chosen.words = message_of(
          refuse_pod(*state.pod, chosen.fit_error, cluster_.live_nodes().size(), Preemption::NoVictims));
    }
    return chosen;
  }

  const Devices devices_;
  client::View view_;
  FakeSelectors selectors_;
  SeededRandom random_{1};
  model::Cluster cluster_{model::NodeAllocatable::Counted};
  dra::Allocator allocator_{cluster_, selectors_, random_};
  const Profiles profiles_{default_plugins()};
  DomainIndex domains_;
  PodCycle pods_{profiles_, domains_};
  const std::size_t bytes_max_;
  SignatureCache index_;
  std::uint64_t version_ = 0;
};

void expect_agreement(History::Devices devices, int more_nodes = 0,
                      std::size_t bytes_max = kSignatureBytesMax) {
  EXPECT_TRUE(rc::check("index and pass agree", [=] {
    History history(devices, more_nodes, bytes_max);
    const int steps = 10 + random_below(60);
    for (int i = 0; i < steps; ++i) {
      history.step();
      const int which = random_below(4);
      if (which < 3) history.compare(static_cast<History::Of>(which));
    }
    history.compare(History::Of::All);
  }));
}

TEST(SignatureCache, EqualsPodCycleOverAllNodes) {
  expect_agreement(History::Devices::TakeNothing);
}
TEST(SignatureCache, EqualsPodCycleWhereDevicesTakeOfNodes) {
  expect_agreement(History::Devices::TakeOfNodes);
}
TEST(SignatureCache, EqualsPodCycleWhereMostNodesStay) {
  expect_agreement(History::Devices::TakeOfNodes, 20);
}
// One or two signatures fit in.
TEST(SignatureCache, EqualsPodCycleWhereSignaturesAreForgotten) {
  expect_agreement(History::Devices::TakeOfNodes, 20, 4000);
}
TEST(SignatureCache, EqualsPodCycleOnManyNodes) {
  expect_agreement(History::Devices::TakeNothing, 110);
}

TEST(TournamentTree, KnowsTheFirstOfTheHighest) {
  EXPECT_TRUE(rc::check("as a scan does", [] {
    std::vector<std::int64_t> keys(static_cast<std::size_t>(1 + random_below(40)), TournamentTree::kOut);
    std::vector<std::uint64_t> labels(60);
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = (i * 7 + 3) % 61;
    TournamentTree tournament;
    const auto label_of = [&labels](std::size_t at) { return labels[at]; };
    tournament.start(keys, label_of);
    for (int i = 0; i < 80; ++i) {
      if (keys.size() < labels.size() && random_below(4) == 0) keys.push_back(TournamentTree::kOut);
      const auto at = static_cast<std::size_t>(random_below(static_cast<int>(keys.size())));
      keys[at] = random_below(4) == 0 ? TournamentTree::kOut : random_below(5);
      tournament.set(at, keys[at], label_of);
      std::size_t best = 0;
      for (std::size_t j = 0; j < keys.size(); ++j)
        if (keys[j] > keys[best] || (keys[j] == keys[best] && labels[j] < labels[best])) best = j;
      RC_ASSERT(tournament.empty() == (keys[best] == TournamentTree::kOut));
      if (keys[best] != TournamentTree::kOut) RC_ASSERT(tournament.best() == best);
      // Labels may change, their order may not.
      if (random_below(8) == 0)
        for (std::uint64_t& label : labels) label += label / 8;
    }
  }));
}

}  // namespace
}  // namespace berth::placement
