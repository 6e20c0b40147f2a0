berth_room(NAME control ROOMS base api client dra scheduling binding TEST_LINK rapidcheck)
