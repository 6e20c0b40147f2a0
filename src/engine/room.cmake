berth_room(NAME control ROOMS base api client health dra scheduling binding TEST_LINK rapidcheck)
