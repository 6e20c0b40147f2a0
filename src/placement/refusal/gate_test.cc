#include "placement/refusal/gate.h"

#include <gtest/gtest.h>

#include "placement/refusal/berth_words.h"
#include "placement/refusal/kubernetes_words.h"

namespace berth::placement {
namespace {

TEST(GateReason, EachKindHasItsWords) {
  using Pod = PodGate::Kind;
  using Unsettled = UnsettledGate::Kind;
  const std::pair<GateReason, const char*> rows[] = {
      {PodGate{Pod::SchedulingGates}, "Scheduling is blocked due to non-empty scheduling gates"},
      {PodGate{Pod::ClaimNotMade, "gpu"}, "waits for a ResourceClaim to be made for its claim gpu"},
      {PodGate{Pod::ClaimMissing, "c"}, "waits for ResourceClaim c"},
      {PodGate{Pod::ClaimMissing, "c", "nearest: d"}, "waits for ResourceClaim c (nearest: d)"},
      {PodGate{Pod::ClaimDeleting, "c"}, "waits until ResourceClaim c is deleted and made again"},
      {PodGate{Pod::ClaimOfOther, "c"}, "finds ResourceClaim c owned by another object"},
      {PodGate{Pod::DevicesSealed}, "what an earlier process wrote about devices may still land"},
      {MemberGate{"a", {Pod::ClaimMissing, "c"}}, "member a waits: waits for ResourceClaim c"},
      {MemberGate{"a", {Pod::SchedulingGates}},
       "member a waits: Scheduling is blocked due to non-empty scheduling gates"},
      {UnsettledGate{Unsettled::BeingWritten, "a"}, "the bind request of member a is being written"},
      {UnsettledGate{Unsettled::BeingGivenBack, "a"}, "the bind request of member a is being given back"},
      {UnsettledGate{Unsettled::AtBarrier, "a"}, "the bind request of member a waits for the other members"},
      {UnsettledGate{Unsettled::OthersUnwritten, "a"},
       "the bind request of member a waits for others to be written"},
      {UnsettledGate{Unsettled::Broken, "a"}, "the bind request of member a is to be taken back"},
      {UnsettledGate{Unsettled::OthersAtBarrier, "x"}, "the others of decision x wait at the gang barrier"},
      {GroupGate{GroupGate::Kind::NoGroup, "g"}, "PodGroup g does not exist"},
      {GroupGate{GroupGate::Kind::TooFewMembers, "g", 2, 1}, "the gang wants 2 pods, and 1 is there"},
  };
  for (const auto& [gate, words] : rows) EXPECT_EQ(gate_words(gate), words);
}

TEST(GateReason, OnlySchedulingGatesAreReported) {
  EXPECT_EQ(condition_reason(PodGate{PodGate::Kind::SchedulingGates}), "SchedulingGated");
  for (const auto kind :
       {PodGate::Kind::ClaimNotMade, PodGate::Kind::ClaimMissing, PodGate::Kind::ClaimDeleting,
        PodGate::Kind::ClaimOfOther, PodGate::Kind::DevicesSealed})
    EXPECT_EQ(condition_reason(PodGate{kind}), "");
}

}  // namespace
}  // namespace berth::placement
