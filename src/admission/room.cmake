berth_room(NAME admission ROOMS base api cel crd)
