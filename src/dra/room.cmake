berth_room(NAME dra ROOMS base api cel client model TEST_LINK rapidcheck)
