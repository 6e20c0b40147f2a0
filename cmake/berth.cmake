# How a room becomes a library, a test program and a benchmark program.
#
# A room is a folder below src/ with a room.cmake that lists what it may use:
#   berth_room(NAME <room> ROOMS <rooms it includes> LINK <packages> PRIVATE_LINK <packages of its .cc files>
#     TEST_LINK <packages of its tests> PROTO <names of proto/*.proto to generate messages and services from>
#     SEPARATE <pattern of sources that are alike by design and use the same names: never compiled as one>
#     MUSEUM <sources that ask for a switch of base/known_defects.h>)
# Every *.cc becomes part of the library, every *_test.cc part of <room>_test, every *_main.cc a program.
# museum_test.cc of a room, and the bench that it uses (test_bench_test.cc), are in museum_test as well;
# sim/museum_storm_main.cc is the museum's (below).
# What stands in src/<room>/testing/ becomes berth_<room>_testing: for this room's tests, and for those of
# rooms that name it in TEST_LINK.
# bench/*_bench.cc and fuzz/*_fuzz.cc become programs; their first line names the rooms: // rooms: base store
# The targets berth_programs, berth_tests and berth_benches build all of a kind.

option(BERTH_TESTS "build the test programs" ON)
option(BERTH_BENCH "build the benchmark programs" OFF)
option(BERTH_FUZZ "build the fuzz targets (clang only)" OFF)
option(BERTH_UNITY "compile several sources of a room as one" OFF)
option(BERTH_STATIC "link every library but glibc into berth (static.cmake)" OFF)
set(BERTH_UNITY_SOURCES 20)

add_custom_target(berth_programs)
add_custom_target(berth_tests)
add_custom_target(berth_benches)

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(GTest REQUIRED)

add_library(berth_flags INTERFACE)
target_include_directories(berth_flags INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_compile_options(berth_flags INTERFACE -Wall -Wextra -Werror -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # This library's stable_sort uses what it marks as deprecated itself.
  target_compile_options(berth_flags INTERFACE -Wno-gnu-statement-expression -Wno-deprecated-declarations)
endif()
target_link_libraries(berth_flags INTERFACE Threads::Threads)

find_program(BERTH_MOLD mold)
if(BERTH_MOLD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_link_options(berth_flags INTERFACE -fuse-ld=mold)
endif()
find_program(BERTH_CCACHE ccache)
if(BERTH_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${BERTH_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${BERTH_CCACHE})
endif()

if(BERTH_SANITIZE)
  target_compile_options(berth_flags INTERFACE
    -fsanitize=${BERTH_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(berth_flags INTERFACE -fsanitize=${BERTH_SANITIZE})
endif()
if(BERTH_FUZZ)
  target_compile_options(berth_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

enable_testing()

# A library berth_<room>_proto of what protoc and its gRPC plugin make of src/<room>/proto/*.proto.
# Not our code: it is built without our warnings, and its headers count as a system's. The target
# berth_protos only writes the files, for what reads sources without building them.
function(berth_proto room)
  set(folder ${CMAKE_SOURCE_DIR}/src/${room}/proto)
  set(out ${CMAKE_BINARY_DIR}/proto/${room})
  file(MAKE_DIRECTORY ${out})
  set(generated)
  foreach(proto ${ARGN})
    set(files ${out}/${proto}.pb.cc ${out}/${proto}.pb.h ${out}/${proto}.grpc.pb.cc ${out}/${proto}.grpc.pb.h)
    add_custom_command(OUTPUT ${files}
      COMMAND protobuf::protoc -I ${folder} --cpp_out=${out} --grpc_out=${out}
        --plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin> ${folder}/${proto}.proto
      DEPENDS ${folder}/${proto}.proto VERBATIM)
    list(APPEND generated ${files})
    # Services name what is theirs after themselves; messages do not, and compile apart.
    set_source_files_properties(${out}/${proto}.grpc.pb.cc PROPERTIES UNITY_GROUP services)
  endforeach()
  add_custom_target(berth_${room}_proto_files DEPENDS ${generated})
  if(NOT TARGET berth_protos)
    add_custom_target(berth_protos)
  endif()
  add_dependencies(berth_protos berth_${room}_proto_files)
  add_library(berth_${room}_proto STATIC ${generated})
  add_dependencies(berth_${room}_proto berth_${room}_proto_files)
  target_include_directories(berth_${room}_proto SYSTEM PUBLIC ${out})
  target_link_libraries(berth_${room}_proto PUBLIC gRPC::grpc++ protobuf::libprotobuf)
  if(BERTH_UNITY)
    set_target_properties(berth_${room}_proto PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  endif()
  if(BERTH_SANITIZE)
    target_compile_options(berth_${room}_proto PRIVATE -fsanitize=${BERTH_SANITIZE} -fno-omit-frame-pointer)
  endif()
endfunction()

# Several sources of a room compile as one: a build from nothing costs a third, one after a change of a
# single source costs more (the preset `develop` has it off). Most of the time goes to the same headers and
# templates; a batch of 20 reads them once, needs 2 GB, and costs 0.6 of three batches of 7. Unnamed
# namespaces of a room share their names then (tools/check unnamed). Two warnings of GCC are wrong there:
# members of unnamed types still belong to one source, and more inlining makes it doubt values that are set
# (the other presets keep them on).
function(berth_unity target)
  cmake_parse_arguments(UNITY "" "SEPARATE" "" ${ARGN})
  if(NOT BERTH_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  if(ROOM_MUSEUM)
    set_source_files_properties(${ROOM_MUSEUM} PROPERTIES UNITY_GROUP switched)
    list(REMOVE_ITEM sources ${ROOM_MUSEUM})
  endif()
  if(UNITY_SEPARATE)
    list(FILTER sources EXCLUDE REGEX ${UNITY_SEPARATE})  # without a group, each compiles alone
  endif()
  list(LENGTH sources count)
  math(EXPR batches "(${count} + ${BERTH_UNITY_SOURCES} - 1) / ${BERTH_UNITY_SOURCES}")
  set(index 0)
  foreach(source ${sources})
    math(EXPR batch "${index} * ${batches} / ${count}")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${batch})
    math(EXPR index "${index} + 1")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
endfunction()

# The museum's programs (docs/reliability.md#museum), museum_test and museum-storm: the sources that have a
# switch are compiled once more for them, with it. They are a batch, linked as one object, which defines all
# that the same batch of the archive would. No other program has a switch. Nothing is built before a target
# asks for one of the two, so a build from nothing costs what it would without a museum.
macro(berth_museum_room)
  if(ROOM_MUSEUM)
    add_library(berth_${ROOM_NAME}_museum OBJECT EXCLUDE_FROM_ALL ${ROOM_MUSEUM})
    target_compile_definitions(berth_${ROOM_NAME}_museum PRIVATE BERTH_MUSEUM)
    target_compile_options(berth_${ROOM_NAME}_museum PRIVATE $<$<CONFIG:Release>:-Og>)
    target_link_libraries(berth_${ROOM_NAME}_museum PRIVATE berth_${ROOM_NAME} ${ROOM_PRIVATE_LINK})
    berth_unity(berth_${ROOM_NAME}_museum)
    set_property(GLOBAL APPEND PROPERTY BERTH_MUSEUM_ROOMS berth_${ROOM_NAME}_museum)
  endif()
  if(museum_tests)
    set_property(GLOBAL APPEND PROPERTY BERTH_MUSEUM_TESTS ${museum_tests})
    set_property(GLOBAL APPEND PROPERTY BERTH_MUSEUM_LINK berth_${ROOM_NAME} ${ROOM_TEST_LINK})
  endif()
endmacro()

function(berth_museum)
  foreach(property ROOMS TESTS LINK)
    get_property(${property} GLOBAL PROPERTY BERTH_MUSEUM_${property})
  endforeach()
  list(REMOVE_DUPLICATES LINK)
  add_executable(museum_test EXCLUDE_FROM_ALL ${TESTS})
  add_executable(museum-storm EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/src/sim/museum_storm_main.cc)
  foreach(program museum_test museum-storm)
    target_compile_definitions(${program} PRIVATE BERTH_MUSEUM)
    target_compile_options(${program} PRIVATE $<$<CONFIG:Release>:-Og>)
    target_link_libraries(${program} PRIVATE ${ROOMS} ${LINK} berth_base_testing)
  endforeach()
  target_link_libraries(museum_test PRIVATE GTest::gtest GTest::gtest_main)
endfunction()

function(berth_room)
  cmake_parse_arguments(ROOM "" "NAME;SEPARATE" "ROOMS;LINK;PRIVATE_LINK;TEST_LINK;PROTO;MUSEUM" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${ROOM_NAME}/*.cc)
  set(tests ${sources})
  set(mains ${sources})
  set(testing ${sources})
  list(FILTER sources EXCLUDE REGEX "(_(test|main)\\.cc$|/testing/)")
  list(FILTER testing INCLUDE REGEX "/testing/")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER mains INCLUDE REGEX "_main\\.cc$")
  set(museum_tests ${tests})
  list(FILTER museum_tests INCLUDE REGEX "/(museum|test_bench)_test\\.cc$")
  list(FILTER mains EXCLUDE REGEX "/museum_storm_main\\.cc$")
  if(ROOM_MUSEUM)
    list(TRANSFORM ROOM_MUSEUM PREPEND ${CMAKE_SOURCE_DIR}/src/${ROOM_NAME}/)
  endif()

  if(ROOM_PROTO)
    berth_proto(${ROOM_NAME} ${ROOM_PROTO})
    list(APPEND ROOM_PRIVATE_LINK berth_${ROOM_NAME}_proto)
  endif()
  list(TRANSFORM ROOM_ROOMS PREPEND berth_)
  if(sources)
    add_library(berth_${ROOM_NAME} STATIC ${sources})
    target_link_libraries(berth_${ROOM_NAME}
      PUBLIC berth_flags ${ROOM_ROOMS} ${ROOM_LINK} PRIVATE ${ROOM_PRIVATE_LINK})
    add_dependencies(berth_programs berth_${ROOM_NAME})
    berth_unity(berth_${ROOM_NAME} SEPARATE ${ROOM_SEPARATE})
  else()
    add_library(berth_${ROOM_NAME} INTERFACE)
    target_link_libraries(berth_${ROOM_NAME} INTERFACE berth_flags ${ROOM_ROOMS} ${ROOM_LINK})
  endif()

  if(testing AND BERTH_TESTS)
    add_library(berth_${ROOM_NAME}_testing STATIC ${testing})
    target_link_libraries(berth_${ROOM_NAME}_testing PUBLIC berth_${ROOM_NAME} ${ROOM_TEST_LINK})
    if(ROOM_NAME STREQUAL base)
      # Other objects are the same in every checkout, and ccache finds them.
      target_compile_definitions(berth_base_testing PRIVATE BERTH_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    endif()
    berth_unity(berth_${ROOM_NAME}_testing)
    target_compile_options(berth_${ROOM_NAME}_testing PRIVATE $<$<CONFIG:Release>:-Og>)
    list(PREPEND ROOM_TEST_LINK berth_${ROOM_NAME}_testing)
  endif()
  if(tests AND BERTH_TESTS)
    add_executable(${ROOM_NAME}_test ${tests})
    target_link_libraries(${ROOM_NAME}_test PRIVATE
      berth_${ROOM_NAME} ${ROOM_TEST_LINK} berth_base_testing GTest::gtest GTest::gtest_main)
    add_dependencies(berth_tests ${ROOM_NAME}_test)
    berth_unity(${ROOM_NAME}_test)
    # A third less to build; what they test stays optimized.
    target_compile_options(${ROOM_NAME}_test PRIVATE $<$<CONFIG:Release>:-Og>)
    add_test(NAME ${ROOM_NAME} COMMAND ${ROOM_NAME}_test)
  endif()
  if(BERTH_TESTS)
    berth_museum_room()
  endif()
  if(NOT BERTH_TESTS)
    list(FILTER ROOM_TEST_LINK EXCLUDE REGEX "_testing$")  # there are none then
  endif()
  foreach(main ${mains})
    get_filename_component(program ${main} NAME_WE)
    string(REGEX REPLACE "_main$" "" program ${program})
    string(REPLACE "_" "-" program ${program})
    add_executable(${program} ${main})
    target_link_libraries(${program} PRIVATE berth_${ROOM_NAME} ${ROOM_TEST_LINK})
    add_dependencies(berth_programs ${program})
  endforeach()
endfunction()

# The programs of a folder whose sources name their rooms in the first line.
function(berth_single_file_programs pattern aggregate)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${pattern})
  foreach(source ${sources})
    get_filename_component(program ${source} NAME_WE)
    file(STRINGS ${source} first_line LIMIT_COUNT 1)
    if(NOT first_line MATCHES "^// rooms: ([a-z_ ]+)$")
      message(FATAL_ERROR "${source}: the first line must name the rooms, as in '// rooms: base store'")
    endif()
    separate_arguments(rooms UNIX_COMMAND "${CMAKE_MATCH_1}")
    list(TRANSFORM rooms PREPEND berth_)
    add_executable(${program} ${source})
    target_link_libraries(${program} PRIVATE ${rooms} ${ARGN})
    add_dependencies(${aggregate} ${program})
  endforeach()
endfunction()

macro(berth_rooms)
  foreach(room ${ARGN})
    if(EXISTS ${CMAKE_SOURCE_DIR}/src/${room}/room.cmake)
      include(${CMAKE_SOURCE_DIR}/src/${room}/room.cmake)
    endif()
  endforeach()
  if(BERTH_TESTS)
    berth_museum()
  endif()
  if(BERTH_BENCH)
    find_package(benchmark REQUIRED)
    berth_single_file_programs(bench/*_bench.cc berth_benches benchmark::benchmark benchmark::benchmark_main)
  endif()
  if(BERTH_FUZZ)
    berth_single_file_programs(fuzz/*_fuzz.cc berth_programs -fsanitize=fuzzer)
  endif()
endmacro()
