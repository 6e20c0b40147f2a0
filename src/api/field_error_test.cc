#include "api/field_error.h"

#include <gtest/gtest.h>

namespace berth::api {
namespace {

TEST(FieldErrors, AreBoundedInBytes) {
  FieldErrors errors;
  errors.push_back(invalid("first", std::string(2 * kFieldErrorBytesMax, 'x'), ""));
  EXPECT_EQ(errors.size(), 1u) << "the first one is kept whatever its length";
  EXPECT_FALSE(errors.full());
  errors.push_back(required("second"));
  EXPECT_EQ(errors.size(), 1u);
  EXPECT_TRUE(errors.full());

  FieldErrors many;
  const std::string value(1000, 'x');
  for (int i = 0; i < 2000; ++i) many.push_back(invalid("a", value, ""));
  EXPECT_LT(many.size(), 1100u);
  EXPECT_EQ(many.size() + many.left_off(), 2000u);
  many.push_back(required("b"));
  EXPECT_EQ(many.size() + many.left_off(), 2001u) << "what is left off has no gaps";
}

TEST(FieldErrors, TheLastAreForgottenWithWhatWasLeftOffBehindThem) {
  FieldErrors errors;
  errors.push_back(required("a"));
  while (!errors.full()) errors.push_back(invalid("b", std::string(kFieldErrorBytesMax / 4, 'x'), ""));
  const std::size_t size = errors.size();
  errors.cut(size);
  EXPECT_TRUE(errors.full());
  errors.cut(1);
  EXPECT_FALSE(errors.full());
  EXPECT_EQ(to_text(errors), "a: Required value");
  while (!errors.full()) errors.push_back(invalid("b", std::string(kFieldErrorBytesMax / 4, 'x'), ""));
  EXPECT_EQ(errors.size(), size) << "their bytes are free again";
}

TEST(FieldErrors, SayHowManyWereLeftOff) {
  FieldErrors errors, more;
  errors.push_back(required("a"));
  EXPECT_EQ(to_text(errors), "a: Required value");
  for (int i = 0; i < 3; ++i) more.push_back(invalid("b", std::string(kFieldErrorBytesMax, 'x'), ""));
  EXPECT_EQ(more.left_off(), 2u);
  append(errors, more);
  EXPECT_EQ(errors.left_off(), 3u);
  EXPECT_EQ(to_text(errors), "[a: Required value, and 3 more]");
}

}  // namespace
}  // namespace berth::api
