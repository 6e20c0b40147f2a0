berth_room(NAME cel ROOMS base)
