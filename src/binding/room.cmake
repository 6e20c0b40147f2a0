berth_room(NAME binding ROOMS base api client TEST_LINK rapidcheck)
