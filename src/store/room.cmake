find_package(SQLite3 REQUIRED)

berth_room(NAME store ROOMS base PRIVATE_LINK SQLite::SQLite3 TEST_LINK rapidcheck SQLite::SQLite3)
if(TARGET store_test)
  add_dependencies(store_test store-crash-child)
endif()
