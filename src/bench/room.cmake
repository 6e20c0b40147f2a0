berth_room(NAME bench ROOMS base api client)
