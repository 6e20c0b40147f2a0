// A defect of the museum (base/known_defects.h) that no storm sees, because the gang barrier gives up by
// itself what is not withdrawn; shown by hand.
#include <gtest/gtest.h>

#include "base/known_defects.h"
#include "scheduling/withdrawals.h"

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
  EXPECT_TRUE(is_sent_again());
  const WithDefect defect(KnownDefect::WithdrawalSentOnce);
  EXPECT_FALSE(is_sent_again());
}

}  // namespace
}  // namespace berth::scheduling
