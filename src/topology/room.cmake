berth_room(NAME topology ROOMS base api model TEST_LINK rapidcheck)
