berth_room(NAME crd ROOMS base api cel)
