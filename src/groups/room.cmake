berth_room(NAME groups ROOMS base api client workloads TEST_LINK berth_engine_testing)
