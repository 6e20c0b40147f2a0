berth_room(NAME binding ROOMS base api client TEST_LINK berth_engine_testing rapidcheck
  MUSEUM bind_cycle.cc claim_deallocator.cc dynamic_resources.cc gang_barrier.cc gang_minima.cc
    pending_allocations.cc reservation.cc term_fence.cc)
