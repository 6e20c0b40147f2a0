#include "cel/floats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace berth::cel {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Row {
  const char* text;
  std::optional<double> value;
};

// Results of strconv.ParseFloat of Go 1.26.
TEST(Floats, AreReadAsGoReadsThem) {
  const Row kRows[] = {
      {".5", 0.5},    {"5.", 5},        {"-2.5e3", -2500},  {"0x1p4", 16},       {"0X1P+4", 16},
      {"0x.8p1", 1},  {"0x1.8p1", 3},   {"1e-400", 0},      {"1_000", 1000},     {"1_23.50e+1_2", 1.235e+14},
      {"0x_1p4", 16}, {"0x1_0p4", 256}, {"inf", kInfinity}, {"+Inf", kInfinity}, {"-infinity", -kInfinity},
  };
  for (const Row& row : kRows) EXPECT_EQ(parse_float(row.text), row.value) << row.text;
  EXPECT_TRUE(std::isnan(parse_float("NaN").value()));
}

TEST(Floats, WhatIsNone) {
  for (const char* text : {"",      " ",    ".",   "+",    " 1",     "1 ",   "0x10",  "0x1p", "0x1p1025",
                           "1e400", "1e",   "1e+", "1e5f", "1d5",    "1p4",  "0b1",   "infi", "nan(1)",
                           "+nan",  "-nan", "_1",  "1_",   "1__0",   "1_.5", "1._5",  "1e_5", "1e5_",
                           "-_1",   "0x",   "0x_", "0xp1", "0x1_p1", "1-2",  "0x1p_1"})
    EXPECT_EQ(parse_float(text), std::nullopt) << '"' << text << '"';
}

}  // namespace
}  // namespace berth::cel
