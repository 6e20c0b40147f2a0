berth_room(NAME dra ROOMS base api cel client model TEST_LINK rapidcheck
  MUSEUM pools/constraints.cc pools/inventory.cc search/device_trial.cc search/plain_search.cc
    search/search.cc)
