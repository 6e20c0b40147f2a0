berth_room(NAME simulate ROOMS base api client model dra placement planning)
