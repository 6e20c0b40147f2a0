berth_room(NAME rbac ROOMS base api TEST_LINK rapidcheck)
