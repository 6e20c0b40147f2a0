berth_room(NAME binding ROOMS base api client TEST_LINK berth_engine_testing rapidcheck)
