berth_room(NAME install ROOMS base api client TEST_LINK berth_base_testing GTest::gtest)
