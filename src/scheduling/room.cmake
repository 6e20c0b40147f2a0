berth_room(NAME scheduling ROOMS base api client model dra topology TEST_LINK rapidcheck)
