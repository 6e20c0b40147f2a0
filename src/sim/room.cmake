berth_room(NAME sim ROOMS base api model store client health scheduling control server)
