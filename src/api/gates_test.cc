#include <gtest/gtest.h>

#include "api/gates.h"

namespace berth::api {
namespace {

TEST(Gates, DefaultsDifferBetweenReleaseAndUp) {
  EXPECT_FALSE(Gates(GateDefaults::Release).enabled("GenericWorkload"));
  EXPECT_TRUE(Gates(GateDefaults::Up).enabled("GenericWorkload"));
  for (const GateInfo& gate : gate_table()) {
    const bool is_dra = gate.name.substr(0, 3) == "DRA";
    EXPECT_TRUE(!is_dra || Gates(GateDefaults::Up).enabled(gate.name)) << gate.name;
  }
}

TEST(Gates, ChangesAreCheckedAndNamed) {
  EXPECT_TRUE(Gates::parse(GateDefaults::Release, "GenericWorkload=true")->enabled("GenericWorkload"));
  const struct {
    const char* text;
    const char* says;
  } kRefused[] = {{"DRAPartitionableDevice=true", "did you mean DRAPartitionableDevices?"},
                  {"Foo=true", "known here; leave it out"},
                  {"GenericWorkload", "write NAME=true"},
                  {"GenericWorkload=yes", "takes true or false"},
                  {"DRAAdminAccess=false", "cannot be changed"},
                  {"CompositePodGroup=true", "needs GenericWorkload=true"}};
  for (const auto& [text, says] : kRefused) {
    const Result<Gates> gates = Gates::parse(GateDefaults::Release, text);
    ASSERT_FALSE(gates.ok()) << text;
    EXPECT_NE(gates.error().text().find(says), std::string::npos) << gates.error().text();
  }
}

TEST(Gates, TheTableIsSortedAndItsNeedsExist) {
  const auto table = gate_table();
  for (std::size_t i = 1; i < table.size(); ++i) EXPECT_LT(table[i - 1].name, table[i].name);
  EXPECT_TRUE(Gates::parse(GateDefaults::Up, "").ok());
  EXPECT_TRUE(Gates::parse(GateDefaults::Release, "").ok());
}

}  // namespace
}  // namespace berth::api
