berth_room(NAME explain ROOMS base api client placement scheduling)
