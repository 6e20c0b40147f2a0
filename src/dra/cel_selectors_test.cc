#include "dra/cel_selectors.h"

#include <gtest/gtest.h>

namespace berth::dra {
namespace {

struct DriverCase {
  const char* selector;
  const char* driver;  // empty: any
};

constexpr DriverCase kDriverCases[] = {
    {R"(device.driver == "a.example.com")", "a.example.com"},
    {R"("a.example.com" == device.driver)", "a.example.com"},
    {R"(device.driver == "a.example.com" && device.attributes["a.example.com"].kind == "gpu")",
     "a.example.com"},
    {R"(device.attributes["x"].big && (device.driver == "a.example.com" && device.attributes["x"].y > 1))",
     "a.example.com"},
    {R"(device.driver != "a.example.com")", ""},
    {R"(!(device.driver == "a.example.com"))", ""},
    {R"(device.driver == "a.example.com" || device.driver == "b.example.com")", ""},
    {R"(device.attributes["a.example.com"].kind == "gpu")", ""},
    {R"(device.driver.startsWith("a"))", ""},
    {"true", ""},
    {"no CEL", ""},
};

TEST(CelSelectors, TheDriverThatAConjunctionNames) {
  CelSelectors selectors;
  for (const DriverCase& one : kDriverCases)
    EXPECT_EQ(selectors.driver_of(one.selector).value_or(""), one.driver) << one.selector;
}

}  // namespace
}  // namespace berth::dra
