berth_room(NAME controllers ROOMS base api cel crd admission client rbac workloads
  TEST_LINK berth_engine_testing
  MUSEUM claim_release.cc)
