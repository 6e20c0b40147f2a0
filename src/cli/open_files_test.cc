#include "cli/open_files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace berth::cli {
namespace {

rlimit open_files() {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  return files;
}

TEST(OpenFiles, TheSoftLimitBecomesTheHardOneAndALowOneIsNamed) {
  const rlimit before = open_files();
  rlimit lower = before;
  lower.rlim_cur = before.rlim_max - 1;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &lower), 0);
  EXPECT_TRUE(raise_open_files(0).ok());
  EXPECT_EQ(open_files().rlim_cur, before.rlim_max);

  const auto limit = static_cast<std::size_t>(before.rlim_max);
  EXPECT_TRUE(raise_open_files(limit - kOtherFilesMax).ok());
  const Status refused = raise_open_files(limit);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message(),
            "only " + std::to_string(limit) + " files may be open, so not all of " + std::to_string(limit) +
                " connections can be: `ulimit -Hn`, or LimitNOFILE of a service, must be at least " +
                std::to_string(limit + kOtherFilesMax));
  ::setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace
}  // namespace berth::cli
