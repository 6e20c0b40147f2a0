berth_room(NAME plane ROOMS base api client model dra placement scheduling binding health engine controllers
  workloads groups)
