// The museum: defects that this system or another one had. Each can be switched on again, so that a test can
// show that storms find it.
//
// The switches are compiled into the museum's programs alone (BERTH_MUSEUM; `museum` in cmake/berth.cmake):
// in all others has() is false before the program runs. One at a time, for the whole process. What each is,
// and how it is found: sim/museum.cc, docs/reliability.md#museum.
#pragma once

#include <atomic>
#include <cstdint>

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
  RequiredLevelNotRead,
  BegunGangNotCompleted,
  WholeGroupReplaced,
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

#ifdef BERTH_MUSEUM

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

#else

constexpr bool has(KnownDefect) {
  return false;
}

#endif

}  // namespace berth
