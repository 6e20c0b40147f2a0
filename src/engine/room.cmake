berth_room(NAME engine ROOMS base api client TEST_LINK rapidcheck)
