pkg_check_modules(RE2 REQUIRED IMPORTED_TARGET re2)

berth_room(NAME cel ROOMS base PRIVATE_LINK PkgConfig::RE2 TEST_LINK rapidcheck)
