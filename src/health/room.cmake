find_package(Protobuf REQUIRED)
find_package(gRPC CONFIG REQUIRED)

berth_room(NAME health ROOMS base api client
  PROTO registration dra_health_v1 dra_health_v1alpha1 node_health dra_v1 dra_v1beta1
    device_plugin_v1beta1 pod_resources_v1
  TEST_LINK rapidcheck berth_health_proto)
