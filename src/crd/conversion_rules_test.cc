// Judge: conversions with what the validation of apiextensions-apiserver 1.37 says of them
// (testdata/conversions.json).
#include "crd/conversion_rules.h"

#include <gtest/gtest.h>

#include "crd/test_schema.h"

namespace berth::crd {
namespace {

TEST(ConversionRules, AreThoseOfKubernetes) {
  const Json data = json_file("src/crd/testdata/conversions.json");
  ASSERT_GE(data.items_at("rows").size(), 100u);
  for (const Json& row : data.items_at("rows")) {
    Json old;
    if (const Json* conversion = row.find("old")) {
      old["spec"]["conversion"] = *conversion;
      old["status"]["conditions"] =
          Json::array({Json::object({{"type", "Established"}, {"status", "True"}})});
    }
    std::vector<std::string> said, expected;
    for (const api::FieldError& error :
         check_conversion(row.part("conversion"), api::FieldPath("spec.conversion"), old))
      said.push_back(error.path + ": " + error.body);
    for (const Json& error : row.items_at("errors")) expected.push_back(error.as_string());
    EXPECT_EQ(said, expected) << to_string(row);
  }
}

}  // namespace
}  // namespace berth::crd
