#include <gtest/gtest.h>

#include "api/types/gang_decision.h"

namespace berth::api {
namespace {

constexpr Time kNow = Time::from_seconds(1'800'000'000);

PodGroup with_condition(std::string_view decision, GangOutcome outcome, Time at = kNow) {
  PodGroup group;
  group.conditions.push_back(gang_condition(group, decision, outcome, at));
  return group;
}

PodGroup with_annotation(const std::string& value) {
  PodGroup group;
  group.meta.annotations = {{std::string(kGangDecisionAnnotation), value}};
  return group;
}

TEST(GangDecision, IsReadOfTheConditionAndOfTheAnnotationOfEarlierReleases) {
  PodGroup both = with_annotation("Aborted d1");
  both.conditions = with_condition("d2", GangOutcome::Committed).conditions;
  const struct {
    PodGroup group;
    std::string_view decision;
    GangOutcome outcome;
  } rows[] = {
      {PodGroup(), "d1", GangOutcome::Undecided},
      {PodGroup(), "", GangOutcome::Undecided},
      {with_condition("d1", GangOutcome::Committed), "d1", GangOutcome::Committed},
      {with_condition("d1", GangOutcome::Aborted), "d1", GangOutcome::Aborted},
      {with_condition("d1", GangOutcome::Committed), "d", GangOutcome::Undecided},
      {with_annotation("Committed d1"), "d1", GangOutcome::Committed},
      {with_annotation("Aborted d1"), "d1", GangOutcome::Aborted},
      {with_annotation("Committed d1"), "d", GangOutcome::Undecided},
      {with_annotation("Committed d1"), "1", GangOutcome::Undecided},
      {with_annotation("Committed"), "", GangOutcome::Undecided},
      {with_annotation("Perhaps d1"), "d1", GangOutcome::Undecided},
      {both, "d1", GangOutcome::Aborted},
      {both, "d2", GangOutcome::Committed},
  };
  for (const auto& row : rows) EXPECT_EQ(gang_outcome(row.group, row.decision), row.outcome) << &row - rows;
}

TEST(GangDecision, KeepsTheTimeOfItsTransitionWhileItsStatusStays) {
  const PodGroup committed = with_condition("d1", GangOutcome::Committed);
  const Time later = kNow + Duration::seconds(9);
  EXPECT_EQ(gang_condition(committed, "d2", GangOutcome::Committed, later).last_transition, kNow);
  EXPECT_EQ(gang_condition(committed, "d2", GangOutcome::Aborted, later).last_transition, later);
}

}  // namespace
}  // namespace berth::api
