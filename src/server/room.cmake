find_package(OpenSSL REQUIRED)

berth_room(NAME server ROOMS base api store client control PRIVATE_LINK OpenSSL::SSL OpenSSL::Crypto)
