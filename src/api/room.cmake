find_package(simdjson REQUIRED)
find_package(fmt REQUIRED)
find_package(absl REQUIRED)
pkg_check_modules(yaml REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(zlib REQUIRED IMPORTED_TARGET zlib)

berth_room(NAME api ROOMS base
  PRIVATE_LINK simdjson::simdjson fmt::fmt absl::time PkgConfig::yaml TEST_LINK rapidcheck
  SEPARATE "/kinds/")
