berth_room(NAME model ROOMS base api client TEST_LINK rapidcheck
  MUSEUM cluster.cc ledger.cc)
