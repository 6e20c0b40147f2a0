berth_room(NAME workloads ROOMS base api client TEST_LINK berth_engine_testing)
