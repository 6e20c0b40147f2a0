berth_room(NAME apply ROOMS base api crd TEST_LINK rapidcheck)
