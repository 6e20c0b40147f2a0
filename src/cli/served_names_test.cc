#include "cli/served_names.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/text_file.h"

namespace berth::cli {
namespace {

using Names = std::vector<std::string>;
const Names kMachine = {"10.0.0.5", "host-a"};

TEST(ServedNames, OneAddressIsItsOwnName) {
  const ListenAddress listen{"192.168.1.2", 6443};
  EXPECT_EQ(names_of(listen, {"berth.example.com"}, kMachine), (Names{"berth.example.com", "192.168.1.2"}));
  EXPECT_EQ(reachable_address(listen, {"berth.example.com"}, kMachine), "192.168.1.2");
}

TEST(ServedNames, AServerOnAllInterfacesHasTheMachinesNames) {
  for (const char* address : {"0.0.0.0", "::"}) {
    const ListenAddress listen{address, 6443};
    EXPECT_EQ(names_of(listen, {"berth.example.com"}, kMachine),
              (Names{"berth.example.com", "10.0.0.5", "host-a"}));
    EXPECT_EQ(reachable_address(listen, {"berth.example.com"}, kMachine), "berth.example.com");
    EXPECT_EQ(reachable_address(listen, {}, kMachine), "10.0.0.5");
    EXPECT_EQ(reachable_address(listen, {}, {}), "127.0.0.1");
  }
}

TEST(ServedNames, ThePortOfTheLastStartIsRemembered) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "berth-served-names";
  const std::string file = (folder / "port").string();
  std::filesystem::remove_all(folder);
  EXPECT_EQ(remembered_port(file), 0);
  ASSERT_TRUE(remember_port(file, 41773).ok());
  EXPECT_EQ(remembered_port(file), 41773);
  for (const char* damaged : {"", "none", "70000", "a file that is far too long"}) {
    ASSERT_TRUE(replace_text_file(file, damaged).ok());
    EXPECT_EQ(remembered_port(file), 0) << damaged;
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace berth::cli
