// Amounts near and beyond 64 bits: requests are exact or larger than any offer, sums are those of 128 bits.
#include "model/resources.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>

#include "model/cluster.h"

namespace berth::model {
namespace {

std::int64_t amount_of(const std::string& resource, const std::string& text) {
  ResourceNames names;
  const ResourceAmounts amounts = names.amounts({{resource, *parse_quantity(text)}});
  return amounts.empty() ? 0 : amounts.front().amount;
}

TEST(Resources, ARequestIsExactOrBeyondEveryOffer) {
  EXPECT_EQ(amount_of("memory", "100P"), 100'000'000'000'000'000);
  EXPECT_EQ(amount_of("memory", "8589934592001m"), 8589934593);
  EXPECT_EQ(amount_of("memory", "9223372036854775806"), kOfferMax);
  EXPECT_EQ(amount_of("memory", "9223372036854775807"), kBeyondOffers);
  EXPECT_EQ(amount_of("memory", "50E"), kBeyondOffers);
  EXPECT_EQ(amount_of("cpu", "9300000000000001"), kBeyondOffers) << "in millicores";
  EXPECT_EQ(amount_of("cpu", "9200000000000000"), 9'200'000'000'000'000'000);
  ResourceNames names;
  EXPECT_EQ(amount_in(names.row({{"memory", *parse_quantity("100E")}}), kMemory), kOfferMax);
}

// The commonest pods are charged by a short way.
TEST(Resources, ChargesAreTheEffectiveRequests) {
  const char* const kContainer =
      R"("containers":[{"name":"a","resources":{"requests":{"cpu":"1","memory":"1Gi"}}})";
  const std::string specs[] = {
      "]",
      R"(,{"name":"b","resources":{"requests":{"cpu":"2","memory":"1Gi"}}}])",
      R"(],"initContainers":[{"name":"i","resources":{"requests":{"cpu":"3","memory":"1Gi"}}}])",
      R"(],"overhead":{"cpu":"100m"})",
      R"(],"resources":{"requests":{"cpu":"5"}})",
  };
  const std::string statuses[] = {
      "",
      R"("containerStatuses":[{"name":"a","allocatedResources":{"cpu":"4"},)"
      R"("resources":{"requests":{"cpu":"4"}}}])",
      R"("conditions":[{"type":"PodResizePending","status":"True","reason":"Infeasible"}])",
      R"("allocatedResources":{"cpu":"6"},"resources":{"requests":{"cpu":"6"}})",
  };
  for (const std::string& spec : specs)
    for (const std::string& status : statuses) {
      const api::Pod pod = api::decode_pod(
          *parse_json(R"({"spec":{)" + (kContainer + spec) + R"(},"status":{)" + status + "}}"), nullptr);
      ResourceNames names;
      ResourceAmounts charges = names.charges(pod, {});
      std::erase_if(charges, [](const ResourceAmount& one) { return one.resource == kPodSlots; });
      EXPECT_EQ(charges, names.amounts(api::effective_requests(pod))) << spec << status;
    }
}

__int128 of_units(Quantity amount) {
  return amount.nanos() / 1'000'000'000;
}

// Pods of any size come, change and go, and are tried on the node without effect.
TEST(Resources, SumsOfRequestsAreThoseOf128Bits) {
  EXPECT_TRUE(rc::check("the node's use is the sum", [] {
    Cluster cluster;
    std::map<int, std::shared_ptr<const api::Pod>> live;
    const auto quantity = [] {
      constexpr std::int64_t kSizes[] = {0, 1, 1 << 20, INT64_MAX / 100, INT64_MAX / 2, kOfferMax};
      return Quantity::of(
          *rc::gen::elementOf(std::vector<std::int64_t>(std::begin(kSizes), std::end(kSizes))));
    };
    const auto pod = [&](int i, bool bound) {
      api::Pod made;
      made.meta.ns = "ns";
      made.meta.name = "p" + std::to_string(i);
      made.meta.uid = made.meta.name;
      if (bound) made.node_name = "n";
      made.containers.push_back({});
      made.containers.back().requests = {{"cpu", Quantity::of(1)}, {"memory", quantity()}};
      return std::make_shared<const api::Pod>(std::move(made));
    };
    const auto put = [&](int i, std::shared_ptr<const api::Pod> after) {
      std::optional<api::TypedObject> before, now;
      if (live.contains(i)) before = api::TypedObject(live[i]);
      if (after) now = api::TypedObject(after);
      cluster.apply({{api::Kind::Pod, "ns", "p" + std::to_string(i)}, before, now});
      if (after)
        live[i] = after;
      else
        live.erase(i);
    };
    put(100, pod(100, false));
    for (int step = 0; step < 30; ++step) {
      const int i = *rc::gen::inRange(0, 6);
      if (*rc::gen::inRange(0, 3) > 0)
        put(i, pod(i, true));
      else if (live.contains(i))
        put(i, nullptr);
      __int128 sum = 0;
      for (const auto& [id, one] : live)
        if (one->bound()) sum += of_units(one->containers.front().requests.at("memory"));
      const NodeId node = cluster.find_node("n");
      if (!node.valid()) continue;
      const auto used = [&] { return amount_in(cluster.ledger().node(node).requested, kMemory); };
      RC_ASSERT(used() == static_cast<std::int64_t>(std::min<__int128>(sum, kBeyondOffers)));
      Ledger::Transaction transaction(cluster.ledger());
      const PodId tried = cluster.find_pod("ns", "p100");
      transaction.place(tried, node, cluster.charges(tried, nullptr));
      transaction.end();
      RC_ASSERT(used() == static_cast<std::int64_t>(std::min<__int128>(sum, kBeyondOffers)));
    }
  }));
}

}  // namespace
}  // namespace berth::model
