#include "workloads/claim_owners.h"

#include <gtest/gtest.h>

namespace berth::workloads {
namespace {

using Owners = std::vector<api::OwnerReference>;

const api::OwnerReference kOwnSet{"apps/v1", "StatefulSet", "db", "set-uid", true, true};
const api::OwnerReference kOwnPod{"v1", "Pod", "db-2", "pod-uid", true, true};
const api::OwnerReference kStranger{"custom/v1", "Random", "random", "abc"};
const api::OwnerReference kManager{"chipmunks/v1", "CustomController", "simon", "other-uid", true};

// Every start of a claim ends as the policy says, and then stands.
TEST(ClaimOwners, FollowThePolicy) {
  struct Case {
    ClaimRetention retention;
    bool scaled_down, of_set, of_pod;
  };
  const Case cases[] = {{{false, false}, false, false, false}, {{false, false}, true, false, false},
                        {{true, false}, false, true, false},   {{true, false}, true, true, false},
                        {{false, true}, false, false, false},  {{false, true}, true, false, true},
                        {{true, true}, false, true, false},    {{true, true}, true, false, true}};
  for (const Case& test : cases)
    for (unsigned start = 0; start < 8; ++start) {
      Owners owners, wanted;
      if (start & 1) owners.push_back(kOwnPod);
      if (start & 2) owners.push_back(kOwnSet);
      for (Owners* list : {&owners, &wanted})
        if (start & 4) list->push_back(kStranger);
      if (test.of_set) wanted.push_back(kOwnSet);
      if (test.of_pod) wanted.push_back(kOwnPod);
      const ClaimUsers users{kOwnSet, kOwnPod, test.scaled_down};
      const auto changed = claim_owners(owners, users, test.retention);
      const bool stands = test.of_pod == ((start & 1) != 0) && test.of_set == ((start & 2) != 0);
      EXPECT_EQ(changed.has_value(), !stands) << start;
      EXPECT_EQ(changed.value_or(wanted), wanted) << start;
      EXPECT_FALSE(claim_owners(wanted, users, test.retention)) << start;
    }
}

TEST(ClaimOwners, AnOwnerThatDoesNotControlIsCorrected) {
  api::OwnerReference plain = kOwnSet;
  plain.controller = false;
  EXPECT_EQ(claim_owners({plain}, {kOwnSet, kOwnPod, false}, {true, false}), Owners{kOwnSet});
  EXPECT_EQ(claim_owners({plain}, {kOwnSet, kOwnPod, false}, {false, false}), Owners{});
}

TEST(ClaimOwners, AnotherControllerKeepsTheClaim) {
  const ClaimUsers users{kOwnSet, kOwnPod, true};
  const ClaimRetention both{true, true};
  EXPECT_TRUE(has_other_controller({kManager}, users, both));
  EXPECT_FALSE(has_other_controller({kManager}, users, {})) << "nothing is asked of the claim";
  EXPECT_FALSE(has_other_controller({kStranger, kOwnSet, kOwnPod}, users, both));
  EXPECT_FALSE(claim_owners({kManager}, users, both));
  EXPECT_EQ(claim_owners({kOwnSet, kManager}, users, both), Owners{kManager});
}

TEST(ClaimOwners, ThoseOfAnEarlierOneStay) {
  api::OwnerReference earlier_pod = kOwnPod, earlier_set = kOwnSet;
  earlier_pod.uid = earlier_set.uid = "stale-uid";
  const ClaimUsers users{kOwnSet, kOwnPod, true};
  for (const api::OwnerReference& earlier : {earlier_pod, earlier_set}) {
    EXPECT_TRUE(has_other_controller({earlier}, users, {true, true}));
    EXPECT_FALSE(claim_owners({earlier}, users, {true, true}));
  }
  EXPECT_TRUE(is_of_earlier_pod({earlier_pod}, kOwnPod));
  EXPECT_FALSE(is_of_earlier_pod({kOwnPod, earlier_set}, kOwnPod));
}

}  // namespace
}  // namespace berth::workloads
