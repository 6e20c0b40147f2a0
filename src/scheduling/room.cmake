berth_room(NAME scheduling ROOMS base api client model dra topology TEST_LINK rapidcheck
  MUSEUM condition_updater.cc decision_failures.cc group_decision.cc group_members.cc
    overtaking_guard.cc plugins/claim_reservation.cc plugins/gang_scheduling.cc scheduler.cc
    signature_cache.cc withdrawals.cc writes.cc)
