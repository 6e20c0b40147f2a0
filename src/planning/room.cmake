berth_room(NAME planning ROOMS base api client model dra topology placement workloads groups)
