#include "api/types/group_domain.h"

#include <gtest/gtest.h>

namespace berth::api {
namespace {

TEST(GroupDomain, IsReadAsItWasRecorded) {
  struct Row {
    std::vector<std::string> keys;
    std::string record;
    std::vector<std::string> read;
    std::optional<std::string> path;
  };
  const StringMap labels{{"a.com/block", "b1"}, {"a.com/rack", "r1"}, {"rack", "r2"}};
  const Row rows[] = {
      {{"a.com/rack"}, "a.com/rack=r1", {"a.com/rack"}, "r1"},
      {{"a.com/rack", "a.com/block"}, "a.com/rack=r1,a.com/block=b1", {"a.com/block", "a.com/rack"}, "b1/r1"},
      {{"a.com/rack", "rack"}, "a.com/rack=r1,rack=r2", {"rack"}, "r2"},
      {{"rack"}, "rack=r2", {"a.com/rack"}, std::nullopt},
      {{"rack", "zone"}, "", {"rack"}, std::nullopt},
      {{}, "", {"rack"}, std::nullopt},
      {{"rack"}, "rack=r2", {}, ""},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(record_domain(row.keys, labels), row.record);
    EXPECT_EQ(recorded_path(row.record, row.read), row.path) << row.record;
  }
  const std::string long_key(kGroupDomainBytesMax, 'k');
  EXPECT_EQ(record_domain({{long_key}}, {{long_key, "v"}}), "");
}

}  // namespace
}  // namespace berth::api
