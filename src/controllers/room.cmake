berth_room(NAME controllers ROOMS base api client workloads cel crd admission TEST_LINK berth_engine_testing
  MUSEUM claim_release.cc)
