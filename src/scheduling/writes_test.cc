#include "scheduling/writes.h"

#include <gtest/gtest.h>

#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

SchedulerOptions keeping(bool in_memory) {
  SchedulerOptions options;
  options.records_in_memory = in_memory;
  return options;
}

// A pod, and a gang whose first member has a claim.
struct Deciding : TestBench {
  explicit Deciding(bool in_memory) : TestBench(keeping(in_memory)) {
    put_class("gpu.example.com", "true");
    put_node({"n1", "8"});
    put_slice("s", "n1", 2);
    put_claim("c", "gpu.example.com");
    put_pod({"p"});
    put_group("g", 2);
    put_pod({"a", "1", "g", R"(,"resourceClaims":[{"name":"dev","resourceClaimName":"c"}])"});
    put_pod({"b", "1", "g"});
  }
  std::vector<client::Write> decided() {
    std::vector<client::Write> writes;
    for (client::Effects effects = decide(); !effects.chains.empty(); effects = decide()) {
      carry_out(effects);
      for (const client::Chain& chain : effects.chains)
        if (chain.key.kind == api::Kind::BindRequest) writes.push_back(chain.writes.back());
    }
    return writes;
  }
};

TEST(Writes, ADecisionIsAValueWhereItIsKept) {
  const std::vector<client::Write> texts = Deciding(false).decided(), values = Deciding(true).decided();
  ASSERT_EQ(texts.size(), 3u);
  ASSERT_EQ(values.size(), 3u);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    ASSERT_TRUE(values[i].request.in_memory && values[i].request.in_memory->wanted);
    EXPECT_EQ(values[i].request.body, "");
    EXPECT_EQ(to_string(api::bind_request_object(*values[i].request.in_memory->wanted)),
              texts[i].request.body);
    EXPECT_EQ(values[i].request.name, texts[i].request.name);
    EXPECT_EQ(values[i].mark->text, texts[i].mark->text);
  }
}

// The model reads a kept request as it reads an object.
TEST(Writes, AKeptDecisionCountsAsPlaced) {
  Deciding bench(true);
  bench.decided();
  for (const std::string pod : {"p", "a", "b"}) EXPECT_EQ(bench.node_of(pod), "n1") << pod;
  EXPECT_TRUE(bench.view.bind_requests_of_pod("default", "a").front()->in_memory);
  EXPECT_EQ(bench.view.bind_requests_of_claim("default", "c").size(), 1u);
}

TEST(Writes, AKeptDecisionIsWithdrawnAsAValue) {
  Deciding bench(true);
  bench.decided();
  Withdrawals withdrawals;
  const api::BindRequest& kept = *bench.view.bind_requests_of_pod("default", "a").front();
  withdrawals.want(kept, bench.now);
  const client::Effects effects = withdrawals.due(bench.view, bench.now);
  ASSERT_EQ(effects.chains.size(), 1u);
  const client::ApiRequest& request = effects.chains[0].writes[0].request;
  ASSERT_TRUE(request.in_memory);
  EXPECT_TRUE(request.in_memory->wanted->withdrawn);
  EXPECT_EQ(request.in_memory->uid, kept.meta.uid);
  EXPECT_EQ(request.in_memory->version, kept.meta.resource_version);
}

}  // namespace
}  // namespace berth::scheduling
