berth_room(NAME scheduling ROOMS base api client model dra topology placement TEST_LINK rapidcheck
  MUSEUM entry_gate.cc group_decision.cc intake.cc keepers/condition_updater.cc keepers/decision_failures.cc
    keepers/overtaking_guard.cc keepers/withdrawals.cc scheduler.cc writes.cc)
