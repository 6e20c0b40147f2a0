berth_room(NAME plane ROOMS base api client dra scheduling binding health engine controllers workloads)
