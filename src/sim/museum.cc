#include "sim/museum.h"

#include <algorithm>

#include "base/known_defects.h"

namespace berth::sim {
namespace {

constexpr int kInvariants = 19;

using enum KnownDefect;

constexpr KnownDefectRow kRows[] = {
    {InFlightAllocationDropped, "in-flight-allocation-dropped",
     "What a decision allocates is free again until its BindRequest is seen.", "I1", "kubernetes #136269"},
    {AllocationReleasedTwice, "allocation-released-twice",
     "A share that is given back is subtracted twice from what its device has in use.", "I1 I16",
     "kubernetes #139418"},
    {CountersForgetShares, "counters-forget-shares",
     "Devices that several claims share draw nothing when the counters of a pool are added up.", "I1",
     "kubernetes #139040"},
    {RefusedCandidateKeepsCounters, "refused-candidate-keeps-counters",
     "A device that a taint rules out leaves its counters drawn during the search.", "I10",
     "kubernetes #140431"},
    {ListIntersectionNotRestored, "list-intersection-not-restored",
     "The common values of a list attribute stay narrowed after a step back.", "I10", "kubernetes #140300"},
    {DistinctKeyedByRequest, "distinct-keyed-by-request",
     "distinctAttribute accepts the same value for another request.", "I2", "kubernetes #140438"},
    {AllTakesASubset, "all-takes-a-subset",
     "An All request succeeds without the devices that others have in use.", "I2", "kubernetes #140769"},
    {AllOfNothing, "all-of-nothing", "An All request succeeds where no device matches.", "I2 I3",
     "kubernetes #129560"},
    {LaterAlternativesNotTried, "later-alternatives-not-tried",
     "A request with alternatives is infeasible when the first one is.", "I10", "kubernetes #138765"},
    {SearchEndReadAsUnschedulable, "search-end-read-as-unschedulable",
     "A search for devices that ends at its budget counts as proof that there are none.", "I10", "KEP-4381"},
    {DeviceBusyUntilRestart, "device-busy-until-restart",
     "The scheduler's model never hears that a claim's devices were given back.", "I16 I10", "KAI #1217"},
    {RollbackCorruptsLedger, "rollback-corrupts-ledger",
     "A trial that is rolled back leaves its devices counted as in use.", "I16", "KAI #1168"},
    {InfeasibleNodesKept, "infeasible-nodes-kept",
     "A node that was refused once stays infeasible for pods of that signature, whatever changes on it.",
     "I10", "KAI #1719"},
    {FirstCycleBeforeCaches, "first-cycle-before-caches",
     "A leader decides before every kind has been listed.", "I1 I3 I7 I10 I16", "Volcano #5174"},
    {GangsHoldEachOther, "gangs-hold-each-other",
     "A gang takes what it gets of its minimum and keeps it while it waits for the rest.", "I6 I10 I12",
     "Koordinator #872"},
    {RequiredLevelNotRead, "required-level-not-read",
     "The level that a PlacementPolicy requires is taken for a wish.", "I5", "Volcano #5189"},
    {BegunGangNotCompleted, "begun-gang-not-completed",
     "Members that a scheduled gang lost are not decided again.", "I10", "Volcano #5805"},
    {WholeGroupReplaced, "whole-group-replaced", "A node fails, and all members of its groups are evicted.",
     "I19", "Kueue #14244"},
    {PlacedCountsAsScheduled, "placed-counts-as-scheduled",
     "A member counts for minCount while its request is pending or being given back, so late ones are bound "
     "without the barrier.",
     "I4", "Berth: late member"},
    {UnsettledGangDecidedAgain, "unsettled-gang-decided-again",
     "Members are decided again while their group's decision is still being written or undone.", "I1 I4 I10",
     "Berth: one member refused"},
    {BasicGroupAllOrNothing, "basic-group-all-or-nothing",
     "A group without a minimum gets the barrier of a gang.", "I4", "Berth: basic group"},
    {FailedRequestStands, "failed-request-stands",
     "A BindRequest that failed for good keeps its pod from the next decision.", "I10", "Berth: lost DELETE"},
    {FirstListTrusted, "first-list-trusted",
     "Requests of an earlier term that land late are bound like those of this term.", "I1 I4 I7 I8",
     "Berth: restart amid creates"},
    {LeaseLifeIgnored, "lease-life-ignored",
     "A Lease that was made again after its deletion is not believed while it counts fewer terms.", "I10",
     "Berth: deleted Lease"},
    {WithdrawalSentOnce, "withdrawal-sent-once", "A withdrawal is sent once, whatever becomes of the write.",
     "I6 I10", "Berth: lost DELETE of a member"},
    {ResizeWakesNobody, "resize-wakes-nobody", "A bound pod that gives up resources wakes nobody.", "I10",
     "Berth: resize"},
    {AvoidedNodesWaitForSweep, "avoided-nodes-wait-for-sweep",
     "Who waited only for the end of an avoidance waits for the sweep.", "I10", "Berth: avoided nodes"},
    {OvertakenWithoutBound, "overtaken-without-bound",
     "Smaller pods of lower priority overtake a gang without end.", "I12", "Berth: section 2"},
    {FailuresWithoutBackoff, "failures-without-backoff",
     "A decision that failed is repeated at once, however often it fails.", "I15", "Berth: livelock"},
    {StandbyRemembers, "standby-remembers", "A standby keeps something of every pod that ever was.", "I15",
     "Berth: standby"},
    {TermNotSealed, "term-not-sealed",
     "A successor decides while allocations and bindings of an earlier process may still land.", "I1 I3",
     "Berth: records in memory"},
    {ReservationNotRenewed, "reservation-not-renewed",
     "A decision stands on a claim whose deallocation, while it looked idle, may still land.", "I3",
     "Berth: records in memory"},
    {DifferentAllocationKept, "different-allocation-kept",
     "The binder finds the claim allocated otherwise than decided, and binds.", "I3", "another binder"},
    {FailedBindingKeepsClaims, "failed-binding-keeps-claims",
     "A binding that fails does not give back its claims.", "I6 I10", "another binder"},
    {ClaimWithoutFinalizer, "claim-without-finalizer",
     "A claim is allocated without the finalizer that keeps it while it is in use.", "I3", "another binder"},
    {AttemptsNotPersisted, "attempts-not-persisted",
     "Failed attempts behind the first are not counted, so the limit is never reached.", "I17",
     "another binder"},
    {RetriedFailureReportedBound, "retried-failure-reported-bound",
     "A binding that is tried again is reported as Bound without having been sent.", "I17", "another binder"},
    {GangMinimumNotRead, "gang-minimum-not-read",
     "The gang barrier commits by a minimum of one instead of the PodGroup's.", "I4", "Volcano #6010"},
    {BindFailureInvisibleToGang, "bind-failure-invisible-to-gang",
     "The gang barrier counts members whose binding has failed.", "I4 I6 I10", "HAMi #1832"},
    {LimitsCountFromCreation, "limits-count-from-creation",
     "How long the gang barrier waits counts from creationTimestamp against its own clock.", "I4 I10",
     "Berth: slow writes and clocks"},
    {CompletenessAfterDeviceWait, "completeness-after-device-wait",
     "A gang that cannot come to its minimum any more is given up only after it waited for its devices.",
     "I6", "Berth: member gone unseen"},
    {LateAllocationNotSealed, "late-allocation-not-sealed",
     "What a failed decision gives back may be taken by its own late write.", "I1 I3 I6",
     "Berth: unknown fate"},
    {PendingAllocationsForgotten, "pending-allocations-forgotten",
     "The binder gives a device away while another allocation of it, its own, is on its way.", "I1",
     "Berth: seeds 382, 431, 490, 567"},
    {DuplicateBindRequest, "duplicate-bind-request", "Each decision makes a BindRequest of its own.", "I15",
     "KAI changelog"},
    {ReleasedOnStaleCache, "released-on-stale-cache",
     "A claim is taken from a consumer that the watch of pods has not shown yet.", "I3 I6", "KAI changelog"},
    {UnknownFateTakenAsNotDone, "unknown-fate-taken-as-not-done",
     "A create without an answer counts as not carried out.", "I1 I4 I7", "Berth: device held twice"},
    {AlreadyExistsCountsAsOurs, "already-exists-counts-as-ours",
     "AlreadyExists counts as success whatever stands there.", "I4 I6 I10", "Berth: create lands late"},
    {DeposedLeaderWritesOn, "deposed-leader-writes-on", "Writes leave a process that lost its Lease.", "I8",
     "Berth: deposed leader"},
    {MissingListFreesAll, "missing-list-frees-all", "A LIST that is answered 404 empties the view.",
     "I1 I3 I7 I10 I16", "Berth: 404 of one LIST"},
    {GroupScheduledBeforeItIs, "group-scheduled-before-it-is",
     "PodGroupInitiallyScheduled turns True when the gang is decided.", "I17", "Volcano #4383"},
    {ConditionSentOnce, "condition-sent-once", "A condition is sent once, whatever becomes of the write.",
     "I17", "Berth: lost PATCH"},
    {TrueKeepsOldMessage, "true-keeps-old-message",
     "A condition that turns True keeps the message of the refusal.", "I17", "Berth: stale message"},
    {WordsFollowNumbers, "words-follow-numbers",
     "A condition is written again whenever a number in its message changes.", "I15", "Berth: status storm"},
};

}  // namespace

std::span<const KnownDefectRow> known_defects() {
  return kRows;
}

const KnownDefectRow* known_defect(std::string_view name) {
  const auto found = std::find_if(std::begin(kRows), std::end(kRows),
                                  [name](const KnownDefectRow& row) { return row.name == name; });
  return found == std::end(kRows) ? nullptr : found;
}

std::vector<std::string> not_finding(const KnownDefectRow& row) {
  std::vector<std::string> others;
  for (int i = 1; i <= kInvariants; ++i) {
    const std::string name = "I" + std::to_string(i);
    if ((" " + std::string(row.invariants) + " ").find(" " + name + " ") == std::string::npos)
      others.push_back(name + ":");
  }
  return others;
}

}  // namespace berth::sim
