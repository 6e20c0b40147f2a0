find_package(Protobuf REQUIRED)
find_package(gRPC CONFIG REQUIRED)

berth_room(NAME health ROOMS base api client
  PROTO registration dra_health_v1 dra_health_v1alpha1 node_health
  TEST_LINK rapidcheck)
