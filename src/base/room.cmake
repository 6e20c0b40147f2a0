find_package(simdjson REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)

berth_room(NAME base PRIVATE_LINK simdjson::simdjson fmt::fmt spdlog::spdlog)
