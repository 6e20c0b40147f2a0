berth_room(NAME sim ROOMS base api model store client scheduling control server)
