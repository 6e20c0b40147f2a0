berth_room(NAME api ROOMS base)
