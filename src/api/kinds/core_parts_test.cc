#include "api/kinds/core_parts.h"

#include <gtest/gtest.h>

namespace berth::api {
namespace {

std::vector<std::string> errors_of(const char* op, const char* value) {
  const JsonArray tolerations = {Json::object({{"key", "k"}, {"operator", op}, {"value", value}})};
  std::vector<std::string> texts;
  for (const FieldError& error : check_pod_tolerations(FieldPath("spec.tolerations"), tolerations))
    texts.push_back(error.path + ": " + error.body);
  return texts;
}

// The messages are those of 1.37.
TEST(Tolerations, ThatCompareNeedACanonicalNumber) {
  const std::string at = "spec.tolerations[0].value: Invalid value: ";
  using Texts = std::vector<std::string>;
  for (const char* op : {"Gt", "Lt"}) {
    for (const char* good : {"0", "950", "-1", "9223372036854775807", "-9223372036854775808"})
      EXPECT_EQ(errors_of(op, good), Texts()) << good;
    EXPECT_EQ(errors_of(op, ""), (Texts{at + R"("": must be non-empty)",
                                        at + R"("": strconv.ParseInt: parsing "": invalid syntax)"}));
    EXPECT_EQ(errors_of(op, "07"), Texts{at + R"("07": must be a valid decimal integer in canonical form)"});
    EXPECT_EQ(errors_of(op, "+5"), Texts{at + R"("+5": must be a valid decimal integer in canonical form)"});
    EXPECT_EQ(errors_of(op, "+-5"),
              (Texts{at + R"("+-5": must be a valid decimal integer in canonical form)",
                     at + R"("+-5": strconv.ParseInt: parsing "+-5": invalid syntax)"}));
    EXPECT_EQ(errors_of(op, "9x"), (Texts{at + R"("9x": must be a valid decimal integer in canonical form)",
                                          at + R"("9x": strconv.ParseInt: parsing "9x": invalid syntax)"}));
    EXPECT_EQ(errors_of(op, "9223372036854775808"),
              Texts{at + R"("9223372036854775808": strconv.ParseInt: parsing "9223372036854775808": )" +
                    "value out of range"});
  }
  EXPECT_EQ(errors_of("Ge", "1"),
            Texts{R"(spec.tolerations[0].operator: Unsupported value: "Ge": supported values: )"
                  R"("Equal", "Exists")"});
}

}  // namespace
}  // namespace berth::api
