# BERTH_STATIC: every library but glibc goes into the program, so that the file can be copied.
#
# An imported library is replaced by the archive that its Debian package has beside it. Four packages have
# none, or (libcurl4-openssl-dev) one that needs GSSAPI and LDAP, which have none: tools/setup.sh fetches
# their Debian sources, patches included, and they are built here. Their headers stay those of the packages,
# and so do the versions. curl is built without what Berth never asks for: HTTP alone, over OpenSSL.

include(ExternalProject)

set(BERTH_SOURCES ${CMAKE_SOURCE_DIR}/build/static-sources)
set(BERTH_ARCHIVES ${CMAKE_BINARY_DIR}/archives)
foreach(needed curl simdjson fmtlib spdlog)
  if(NOT EXISTS ${BERTH_SOURCES}/${needed}/version)
    message(FATAL_ERROR "BERTH_STATIC: ${BERTH_SOURCES}/${needed} is missing — run tools/setup.sh dist")
  endif()
endforeach()

# An archive of a package's own sources, compiled as users of its headers expect.
function(berth_source_archive name like)
  add_library(static_${name} STATIC EXCLUDE_FROM_ALL ${ARGN})
  set_target_properties(static_${name} PROPERTIES
    OUTPUT_NAME ${name} ARCHIVE_OUTPUT_DIRECTORY ${BERTH_ARCHIVES} UNITY_BUILD OFF)
  target_compile_definitions(static_${name} PRIVATE
    $<TARGET_PROPERTY:${like},INTERFACE_COMPILE_DEFINITIONS>)
  add_dependencies(berth static_${name})
endfunction()

# Assertions name their source: without this, the folder of the checkout stands in the program.
string(APPEND CMAKE_CXX_FLAGS " -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=")
set_target_properties(berth PROPERTIES SKIP_BUILD_RPATH ON)
target_link_options(berth PRIVATE
  -static-libgcc -static-libstdc++ -Wl,-s -Wl,-z,relro,-z,now -Wl,--as-needed)

berth_source_archive(simdjson simdjson::simdjson ${BERTH_SOURCES}/simdjson/tree/singleheader/simdjson.cpp)
berth_source_archive(fmt fmt::fmt
  ${BERTH_SOURCES}/fmtlib/tree/src/format.cc ${BERTH_SOURCES}/fmtlib/tree/src/os.cc)
file(GLOB spdlog_sources ${BERTH_SOURCES}/spdlog/tree/src/*.cpp)
berth_source_archive(spdlog spdlog::spdlog ${spdlog_sources})

ExternalProject_Add(static_curl
  SOURCE_DIR ${BERTH_SOURCES}/curl/tree
  CMAKE_ARGS -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=<INSTALL_DIR> -DCMAKE_INSTALL_LIBDIR=lib
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_C_COMPILER_LAUNCHER=${CMAKE_C_COMPILER_LAUNCHER}
    -DCMAKE_C_FLAGS=-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=
    -DBUILD_SHARED_LIBS=OFF -DBUILD_CURL_EXE=OFF -DBUILD_TESTING=OFF -DENABLE_MANUAL=OFF
    -DHTTP_ONLY=ON -DUSE_NGHTTP2=OFF -DCURL_USE_OPENSSL=ON
    -DCURL_CA_BUNDLE=/etc/ssl/certs/ca-certificates.crt -DCURL_CA_PATH=/etc/ssl/certs
    -DUSE_LIBIDN2=OFF -DCURL_USE_LIBPSL=OFF -DCURL_USE_LIBSSH2=OFF -DCURL_BROTLI=OFF -DCURL_ZSTD=OFF
    -DCURL_ZLIB=OFF
  BUILD_BYPRODUCTS <BINARY_DIR>/lib/libcurl.a INSTALL_COMMAND "")
ExternalProject_Add_StepDependencies(static_curl configure ${BERTH_SOURCES}/curl/version)
ExternalProject_Get_Property(static_curl BINARY_DIR)
add_dependencies(berth static_curl)

# The archive for a library's path, or an error that names the library.
function(berth_archive_of library into)
  get_filename_component(name ${library} NAME)
  get_filename_component(folder ${library} DIRECTORY)
  string(REGEX REPLACE "\\.so.*$" "" stem ${name})
  if(stem MATCHES "^lib(simdjson|fmt|spdlog)$")
    set(${into} ${BERTH_ARCHIVES}/${stem}.a PARENT_SCOPE)
  elseif(stem STREQUAL libcurl)
    set(${into} ${BINARY_DIR}/lib/libcurl.a PARENT_SCOPE)
  elseif(EXISTS ${folder}/${stem}.a)
    set(${into} ${folder}/${stem}.a PARENT_SCOPE)
  else()
    message(FATAL_ERROR "BERTH_STATIC: ${library} has no archive beside it — "
      "add its source to tools/setup.sh dist")
  endif()
endfunction()

function(berth_use_archives target)
  foreach(property IMPORTED_LOCATION IMPORTED_LOCATION_NONE IMPORTED_LOCATION_RELEASE
      IMPORTED_LOCATION_RELWITHDEBINFO INTERFACE_LINK_LIBRARIES)
    get_target_property(values ${target} ${property})
    if(NOT values)
      continue()
    endif()
    set(replaced)
    foreach(value ${values})
      if(value MATCHES "^/.*\\.so[.0-9]*$")
        berth_archive_of(${value} value)
      elseif(value MATCHES "^-l" AND NOT value MATCHES "^-l(c|dl|m|pthread|rt)$")  # glibc's stay shared
        string(REGEX REPLACE "^-l(.+)$" "-l:lib\\1.a" value ${value})
      endif()
      list(APPEND replaced ${value})
    endforeach()
    set_target_properties(${target} PROPERTIES ${property} "${replaced}")
  endforeach()
endfunction()

# What berth links, and what that links: imported libraries of tests alone may stay as they are.
function(berth_collect_imported target)
  get_property(seen GLOBAL PROPERTY BERTH_COLLECTED)
  if(NOT TARGET ${target} OR target IN_LIST seen)
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY BERTH_COLLECTED ${target})
  get_target_property(aliased ${target} ALIASED_TARGET)
  if(aliased)
    berth_collect_imported(${aliased})
    return()
  endif()
  get_target_property(imported ${target} IMPORTED)
  if(imported)
    berth_use_archives(${target})
  endif()
  foreach(property LINK_LIBRARIES INTERFACE_LINK_LIBRARIES)
    get_target_property(libraries ${target} ${property})
    foreach(library ${libraries})
      if(library MATCHES "^\\$<LINK_ONLY:(.*)>$")
        set(library ${CMAKE_MATCH_1})
      endif()
      berth_collect_imported(${library})
    endforeach()
  endforeach()
endfunction()

berth_collect_imported(berth)
set_property(TARGET CURL::libcurl APPEND PROPERTY INTERFACE_LINK_LIBRARIES
  OpenSSL::SSL OpenSSL::Crypto)
