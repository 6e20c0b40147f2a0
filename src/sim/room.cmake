berth_room(NAME sim ROOMS base api store client control server)
