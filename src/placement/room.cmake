berth_room(NAME placement ROOMS base api client model dra topology TEST_LINK rapidcheck
  MUSEUM bind_request.cc groups/group_members.cc index/signature_cache.cc plugins/claim_reservation.cc
    plugins/gang_scheduling.cc replacement/replacement.cc wishes/wish_levels.cc)
