find_package(fmt REQUIRED)

berth_room(NAME cli ROOMS base api cel store client dra scheduling binding planning explain health
  engine controllers plane server bench
  PRIVATE_LINK fmt::fmt)
