find_package(CURL REQUIRED)

berth_room(NAME client ROOMS base api PRIVATE_LINK CURL::libcurl)
