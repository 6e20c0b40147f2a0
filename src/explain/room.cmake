berth_room(NAME explain ROOMS base api scheduling)
