berth_room(NAME sim ROOMS base api model store client health scheduling engine controllers plane server
  TEST_LINK berth_planning berth_dra)
