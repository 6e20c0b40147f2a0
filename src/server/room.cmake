find_package(OpenSSL REQUIRED)

berth_room(NAME server ROOMS base api rbac cel admission crd apply store client
  PRIVATE_LINK OpenSSL::SSL OpenSSL::Crypto TEST_LINK berth_client_testing)
