berth_room(NAME sim ROOMS base api model store client dra health placement scheduling engine controllers
  plane server TEST_LINK berth_planning)
