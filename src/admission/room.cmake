berth_room(NAME admission ROOMS base api rbac cel crd)
