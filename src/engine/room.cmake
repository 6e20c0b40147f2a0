berth_room(NAME engine ROOMS base api client TEST_LINK rapidcheck
  MUSEUM effect_executor.cc engine.cc shared_informers.cc)
