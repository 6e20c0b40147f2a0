berth_room(NAME cli ROOMS base api cel store client dra placement scheduling planning simulate explain binding
  health engine controllers workloads groups plane server dashboard bench install
  TEST_LINK berth_install_testing)
