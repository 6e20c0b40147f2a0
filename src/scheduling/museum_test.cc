// Defects of the museum (base/known_defects.h), shown directly. WithdrawalSentOnce is invisible to storms,
// because the gang barrier aborts what is not withdrawn; the others need writes that are in flight for long.
#include <gtest/gtest.h>

#include "base/testing/museum.h"
#include "client/claim_writes.h"
#include "scheduling/keepers/withdrawals.h"
#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

bool is_sent_again() {
  auto request = std::make_shared<api::BindRequest>();
  request->meta.ns = "d";
  request->meta.name = "r";
  request->decision_id = "x";
  client::View view;
  const api::ObjectKey key{api::Kind::BindRequest, "d", "r", {}};
  view.put(key, api::TypedObject(std::shared_ptr<const api::BindRequest>(request)));
  Withdrawals withdrawals;
  const Time now = Time::from_seconds(1'000);
  withdrawals.want(*request, now);
  EXPECT_EQ(withdrawals.due(view, now).chains.size(), 1u);
  withdrawals.write_done(key, false, now);
  return !withdrawals.due(view, now + Duration::minutes(5)).empty();
}

TEST(MuseumByHand, WithdrawalSentOnce) {
  expect_shown(KnownDefect::WithdrawalSentOnce, is_sent_again);
}

// Whether a pod waits while an earlier process' allocation may still land.
bool waits_for_seals() {
  SchedulerOptions options;
  options.records_in_memory = true;
  TestBench bench(std::move(options));
  bench.put_class("gpu.example.com", "true");
  bench.put_node({"n1"});
  bench.put_slice("s", "n1", 1);
  for (const std::string name : {"late", "next"})
    bench.put(
        api::Kind::ResourceClaim,
        R"({"metadata":{"namespace":"default","name":")" + name + R"(","uid":"u-)" + name +
            R"(","finalizers":["resource.kubernetes.io/delete-protection"]},"spec":{"devices":{"requests":)"
            R"([{"name":"r","exactly":{"deviceClassName":"gpu.example.com"}}]}}})");
  bench.put_pod({"next", "1", "", R"(,"resourceClaims":[{"name":"d","resourceClaimName":"next"}])"});
  static_cast<void>(bench.decide());
  static_cast<void>(bench.decide());
  return bench.scheduler.cluster().ledger().node_of(bench.scheduler.cluster().find_pod("default", "next")) ==
         model::NodeId::none();
}

TEST(MuseumByHand, TermNotSealed) {
  expect_shown(KnownDefect::TermNotSealed, waits_for_seals);
}

// Whether a decision for a pod that its claim is reserved for renews that reservation first.
bool claim_is_renewed() {
  TestBench bench;
  bench.put_class("gpu.example.com", "true");
  bench.put_node({"n1"});
  bench.put_slice("s", "n1", 1);
  bench.put(api::Kind::ResourceClaim,
            R"({"metadata":{"namespace":"default","name":"c","uid":"u-c","resourceVersion":"7","finalizers":)"
            R"(["resource.kubernetes.io/delete-protection"]},"spec":{"devices":{"requests":[{"name":"r",)"
            R"("exactly":{"deviceClassName":"gpu.example.com"}}]}},"status":{"allocation":{"devices":{)"
            R"("results":[{"request":"r","driver":"gpu.example.com","pool":"pool-s","device":"d0"}]}},)"
            R"("reservedFor":[{"resource":"pods","name":"p","uid":"uid-p"}]}})");
  bench.put_pod({"p", "1", "", R"(,"resourceClaims":[{"name":"d","resourceClaimName":"c"}])"});
  const client::Effects effects = bench.decide();
  BERTH_ASSERT(effects.chains.size() == 1, "one pod");
  const std::vector<client::Write>& writes = effects.chains[0].writes;
  return writes.size() == 2 && writes[0].request.name == "c" &&
         writes[0].request.body.find(client::kKeptForAnnotation) != std::string::npos;
}

TEST(MuseumByHand, ReservationNotRenewed) {
  expect_shown(KnownDefect::ReservationNotRenewed, claim_is_renewed);
}

}  // namespace
}  // namespace berth::scheduling
