find_package(CURL REQUIRED)
find_package(OpenSSL REQUIRED)
pkg_check_modules(NGHTTP2 REQUIRED IMPORTED_TARGET libnghttp2)

berth_room(NAME client ROOMS base api
  PRIVATE_LINK CURL::libcurl PkgConfig::NGHTTP2 OpenSSL::SSL OpenSSL::Crypto
  TEST_LINK rapidcheck
  MUSEUM decider.cc lease_fence.cc)
