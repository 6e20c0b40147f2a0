// The museum: defects that this system or another one had. Each can be switched on again, so that a test can
// show that storms find it.
//
// Only tests and src/sim switch one on (tools/check defects); a program never does. One at a time, for the
// whole process. Cost of a check: one load. How each is found: docs/reliability.md#museum.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

namespace berth {

enum class KnownDefect : std::uint8_t {
  None,
  // devices
  InFlightAllocationDropped,
  AllocationReleasedTwice,
  CountersForgetShares,
  RefusedCandidateKeepsCounters,
  ListIntersectionNotRestored,
  DistinctKeyedByRequest,
  AllTakesASubset,
  AllOfNothing,
  LaterAlternativesNotTried,
  SearchEndReadAsUnschedulable,
  // the scheduler's model and decisions
  DeviceBusyUntilRestart,
  RollbackCorruptsLedger,
  InfeasibleNodesKept,
  FirstCycleBeforeCaches,
  GangsHoldEachOther,
  BegunGangNotCompleted,
  PlacedCountsAsScheduled,
  UnsettledGangDecidedAgain,
  BasicGroupAllOrNothing,
  FailedRequestStands,
  FirstListTrusted,
  LeaseLifeIgnored,
  WithdrawalSentOnce,
  ResizeWakesNobody,
  AvoidedNodesWaitForSweep,
  OvertakenWithoutBound,
  FailuresWithoutBackoff,
  StandbyRemembers,
  TermNotSealed,
  ReservationNotRenewed,
  // binder
  DifferentAllocationKept,
  FailedBindingKeepsClaims,
  ClaimWithoutFinalizer,
  AttemptsNotPersisted,
  RetriedFailureReportedBound,
  GangMinimumNotRead,
  BindFailureInvisibleToGang,
  LimitsCountFromCreation,
  CompletenessAfterDeviceWait,
  LateAllocationNotSealed,
  PendingAllocationsForgotten,
  // writes and watches
  DuplicateBindRequest,
  ReleasedOnStaleCache,
  UnknownFateTakenAsNotDone,
  AlreadyExistsCountsAsOurs,
  DeposedLeaderWritesOn,
  MissingListFreesAll,
  // conditions
  GroupScheduledBeforeItIs,
  ConditionSentOnce,
  TrueKeepsOldMessage,
  WordsFollowNumbers,
};

struct KnownDefectRow {
  KnownDefect defect;
  std::string_view name;        // of its plan, and on the command line
  std::string_view wrong;       // one sentence
  std::string_view invariants;  // that detect it, separated by spaces
  std::string_view source;
};

std::span<const KnownDefectRow> known_defects();
// Null for an unknown name.
const KnownDefectRow* known_defect(std::string_view name);

namespace detail {
inline std::atomic<KnownDefect> switched_on{KnownDefect::None};
}  // namespace detail

inline bool has(KnownDefect defect) {
  return detail::switched_on.load(std::memory_order_relaxed) == defect;
}

// Switches one on for its lifetime.
class WithDefect {
 public:
  explicit WithDefect(KnownDefect defect) : before_(detail::switched_on.exchange(defect)) {}
  ~WithDefect() { detail::switched_on = before_; }
  WithDefect(const WithDefect&) = delete;
  WithDefect& operator=(const WithDefect&) = delete;

 private:
  const KnownDefect before_;
};

}  // namespace berth
