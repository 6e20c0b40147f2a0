berth_room(NAME apply ROOMS base api TEST_LINK rapidcheck)
