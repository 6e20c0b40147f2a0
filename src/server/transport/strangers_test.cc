// Which connection without credentials goes when there are too many.
#include "server/transport/strangers.h"

#include <gtest/gtest.h>

namespace berth::server {
namespace {

Time at(int milliseconds) {
  return Time::from_seconds(0) + Duration::millis(milliseconds);
}

// Peers are the addresses of these.
char peers[8];
Strangers::Id peer(int i) {
  return &peers[i];
}

TEST(Strangers, TheLongestSilentOfTheAddressGoes) {
  Strangers strangers(3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(strangers.admit(peer(i), "a", at(i)).admitted);
  EXPECT_TRUE(strangers.admit(peer(3), "b", at(3)).admitted) << "another address has its own";
  const Strangers::Admission fourth = strangers.admit(peer(4), "a", at(4));
  EXPECT_TRUE(fourth.admitted);
  EXPECT_EQ(fourth.evicted, peer(0));
  EXPECT_EQ(strangers.size(), 4u);
  EXPECT_EQ(strangers.admit(peer(5), "a", at(5)).evicted, peer(1));
}

TEST(Strangers, WhoHasSentSomethingStaysLonger) {
  Strangers strangers(2);
  strangers.admit(peer(0), "a", at(0));
  strangers.heard(peer(0), at(10));
  strangers.admit(peer(1), "a", at(1'000));
  EXPECT_EQ(strangers.admit(peer(2), "a", at(1'001)).evicted, peer(1)) << "silent, although newer";
  EXPECT_EQ(strangers.admit(peer(3), "a", at(5'000)).evicted, peer(2));
  EXPECT_EQ(strangers.admit(peer(4), "a", at(5'001)).evicted, peer(0)) << "its credit is used up";
}

TEST(Strangers, WhoIsBeingAnsweredStays) {
  Strangers strangers(1);
  strangers.admit(peer(0), "a", at(0));
  strangers.answering(peer(0));
  EXPECT_FALSE(strangers.admit(peer(1), "a", at(60'000)).admitted);
  EXPECT_EQ(strangers.evict_but(nullptr), nullptr);
  strangers.rests(peer(0), at(60'000));
  EXPECT_EQ(strangers.admit(peer(2), "a", at(70'000)).evicted, peer(0));
}

TEST(Strangers, TheLongestSilentOfAllGoes) {
  Strangers strangers(8);
  for (int i = 0; i < 4; ++i) strangers.admit(peer(i), i % 2 == 0 ? "a" : "b", at(10 - i));
  strangers.remove(peer(3));
  strangers.remove(peer(3));
  EXPECT_EQ(strangers.evict_but(peer(2)), peer(1)) << "not the newcomer";
  EXPECT_EQ(strangers.evict_but(nullptr), peer(2));
  EXPECT_EQ(strangers.evict_but(nullptr), peer(0));
  EXPECT_EQ(strangers.evict_but(nullptr), nullptr);
  EXPECT_EQ(strangers.size(), 0u);
}

}  // namespace
}  // namespace berth::server
