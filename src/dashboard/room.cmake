# The files of web/dist become texts of the program, without node.
set(berth_web_dist ${CMAKE_BINARY_DIR}/web_dist/web_dist.inc)
set(berth_web_files index.html app.js app.css icon.svg)
list(TRANSFORM berth_web_files PREPEND ${CMAKE_SOURCE_DIR}/web/dist/)
add_custom_command(OUTPUT ${berth_web_dist}
  COMMAND ${CMAKE_COMMAND} -D FOLDER=${CMAKE_SOURCE_DIR}/web/dist -D OUT=${berth_web_dist}
    -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
  DEPENDS ${berth_web_files} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake VERBATIM)
add_custom_target(berth_web DEPENDS ${berth_web_dist})

berth_room(NAME dashboard ROOMS base api client placement scheduling explain health server
  PRIVATE_LINK PkgConfig::zlib TEST_LINK berth_engine_testing SEPARATE "/bundle\\.cc$")
add_dependencies(berth_dashboard berth_web)
target_include_directories(berth_dashboard PRIVATE ${CMAKE_BINARY_DIR}/web_dist)
