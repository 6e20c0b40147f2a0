#include "scheduling/keepers/owner_reads.h"

#include <gtest/gtest.h>

namespace berth::scheduling {
namespace {

using State = placement::KnownOwners::State;

const placement::EntityKey kGroup{"ns", "g", placement::EntityKind::Group};

api::OwnerReference job(const std::string& uid) {
  return {"batch/v1", "Job", "train", uid};
}

client::ChainOutcome answered(const api::ObjectKey& key, const std::string& uid) {
  client::ChainOutcome outcome{key, true};
  outcome.last.code = 200;
  outcome.last.object = std::make_shared<const std::string>(
      R"({"kind":"Job","metadata":{"name":"train","uid":")" + uid +
      R"(","ownerReferences":[{"apiVersion":"jobset.x-k8s.io/v1","kind":"JobSet","name":"set",)"
      R"("uid":"s"}]}})");
  return outcome;
}

client::ChainOutcome not_found(const api::ObjectKey& key) {
  client::ChainOutcome outcome{key, true};
  outcome.last.code = 404;
  outcome.last.reason = "NotFound";
  return outcome;
}

class OwnerReadsTest : public testing::Test {
 protected:
  // The key of the only read that is due.
  api::ObjectKey due() {
    const client::Effects effects = reads.due(now);
    EXPECT_EQ(effects.decision_id, kOwnerReads);
    EXPECT_EQ(effects.chains.size(), 1u);
    return effects.chains.empty() ? api::ObjectKey{} : effects.chains.front().key;
  }
  OwnerReads reads;
  Time now = Time::from_seconds(1000);
};

TEST_F(OwnerReadsTest, ReadAnObjectOnceForAllThatAsk) {
  EXPECT_EQ(reads.ask("ns", job("u1"), kGroup, now).state, State::Unread);
  EXPECT_EQ(reads.ask("ns", job("u1"), {"ns", "h", placement::EntityKind::Group}, now).state, State::Unread);
  const api::ObjectKey key = due();
  EXPECT_EQ(key.resource.resource, "jobs");
  EXPECT_TRUE(reads.due(now).empty());
  EXPECT_EQ(reads.read_done(answered(key, "u1"), now).size(), 2u);
  const placement::KnownOwners known = reads.known("ns", job("u1"));
  ASSERT_EQ(known.state, State::Known);
  ASSERT_EQ(known.owners.size(), 1u);
  EXPECT_EQ(known.owners.front().name, "set");
  EXPECT_EQ(reads.ask("ns", job("u1"), kGroup, now).state, State::Known);
  EXPECT_TRUE(reads.due(now).empty());
}

TEST_F(OwnerReadsTest, ReadAnObjectOfThatNameAgainForAnotherUid) {
  reads.ask("ns", job("u1"), kGroup, now);
  reads.read_done(answered(due(), "u1"), now);
  EXPECT_EQ(reads.ask("ns", job("u2"), kGroup, now).state, State::Unread);
  reads.read_done(answered(due(), "u3"), now);
  // The one of that UID is gone.
  const placement::KnownOwners known = reads.ask("ns", job("u2"), kGroup, now);
  EXPECT_EQ(known.state, State::Known);
  EXPECT_TRUE(known.owners.empty());
  EXPECT_TRUE(reads.due(now).empty());
}

// Groups of an object that was made anew, and of two that were deleted.
TEST_F(OwnerReadsTest, SeveralUidsOfOneNameNeedNoFurtherReads) {
  const placement::EntityKey other{"ns", "h", placement::EntityKind::Group};
  reads.ask("ns", job("u1"), kGroup, now);
  const api::ObjectKey key = due();
  reads.ask("ns", job("u2"), other, now);
  EXPECT_EQ(reads.read_done(answered(key, "u3"), now), std::vector{kGroup});
  EXPECT_EQ(reads.read_done(answered(due(), "u3"), now), std::vector{other});
  for (int turn = 0; turn < 3; ++turn)
    for (const char* uid : {"u1", "u2", "u3"}) {
      EXPECT_EQ(reads.ask("ns", job(uid), kGroup, now).state, State::Known) << uid;
      EXPECT_EQ(reads.known("ns", job(uid)).owners.size(), uid == std::string("u3") ? 1u : 0u);
    }
  EXPECT_TRUE(reads.due(now).empty());
}

TEST_F(OwnerReadsTest, ThoseThatWaitAreNotForgotten) {
  reads.ask("ns", job("u1"), kGroup, now);
  const api::ObjectKey key = due();
  for (std::size_t i = 0; i < 3 * kOwnersKeptMax; ++i)
    reads.ask("ns", {"batch/v1", "Job", "j" + std::to_string(i), "u"}, kGroup, now);
  std::size_t answers = 1;
  ASSERT_EQ(reads.read_done(answered(key, "u1"), now).size(), 1u);
  for (client::Effects next = reads.due(now); !next.empty(); next = reads.due(now))
    for (const client::Chain& chain : next.chains)
      answers += reads.read_done(answered(chain.key, "u"), now).size();
  EXPECT_EQ(answers, 3 * kOwnersKeptMax + 1);
  ASSERT_EQ(reads.known("ns", job("u1")).state, State::Known);
  for (std::size_t i = 0; i <= kOwnersKeptMax; ++i)
    reads.ask("ns", {"batch/v1", "Job", "k" + std::to_string(i), "u"}, kGroup, now);
  EXPECT_EQ(reads.known("ns", job("u1")).state, State::Unread) << "nobody waits for it";
}

TEST_F(OwnerReadsTest, AnAbsentObjectHasNoOwners) {
  reads.ask("ns", job(""), kGroup, now);
  EXPECT_EQ(reads.read_done(not_found(due()), now).size(), 1u);
  EXPECT_EQ(reads.ask("ns", job(""), kGroup, now).state, State::Known);
  EXPECT_TRUE(reads.due(now).empty());
  now = now + kOwnerReadAgain;
  EXPECT_EQ(reads.ask("ns", job(""), kGroup, now).state, State::Known);
  EXPECT_FALSE(reads.due(now).empty());
}

TEST_F(OwnerReadsTest, ARefusedReadIsToldAndRepeatedWithBackoff) {
  reads.ask("ns", job("u1"), kGroup, now);
  const api::ObjectKey key = due();
  client::ChainOutcome refused{key, false};
  refused.last.code = 403;
  refused.last.message = "jobs.batch \"train\" is forbidden";
  EXPECT_EQ(reads.read_done(refused, now).size(), 1u);
  EXPECT_EQ(reads.known("ns", job("u1")).state, State::Refused);
  EXPECT_EQ(reads.refused_in("ns"), "jobs ns/train cannot be read: jobs.batch \"train\" is forbidden");
  EXPECT_EQ(reads.refused_in("other"), "");
  EXPECT_TRUE(reads.due(now).empty());
  ASSERT_TRUE(reads.next_time());
  now = *reads.next_time();
  EXPECT_EQ(reads.read_done(answered(due(), "u1"), now).size(), 1u);
  EXPECT_EQ(reads.known("ns", job("u1")).state, State::Known);
}

TEST_F(OwnerReadsTest, AreBoundedInNumber) {
  for (std::size_t i = 0; i < 2 * kOwnerReadsAtOnceMax; ++i)
    reads.ask("ns", {"batch/v1", "Job", "j" + std::to_string(i), "u"}, kGroup, now);
  const client::Effects first = reads.due(now);
  EXPECT_EQ(first.chains.size(), kOwnerReadsAtOnceMax);
  EXPECT_TRUE(reads.due(now).empty());
  reads.read_done(answered(first.chains.front().key, "u"), now);
  EXPECT_EQ(reads.due(now).chains.size(), 1u);
}

}  // namespace
}  // namespace berth::scheduling
