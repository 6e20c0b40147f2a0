find_package(fmt REQUIRED)

berth_room(NAME cli ROOMS base api cel store client control server PRIVATE_LINK fmt::fmt)
