berth_room(NAME control ROOMS base api client TEST_LINK rapidcheck)
