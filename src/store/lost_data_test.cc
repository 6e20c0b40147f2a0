// Directories that have lost something: told from crashes, which lose nothing.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "store/test_tools.h"

namespace berth::store {
namespace {

// A directory with acknowledged writes, as a killed process leaves it.
class CrashImage {
 public:
  CrashImage() {
    TemporaryDirectory running;
    const std::unique_ptr<Store> store = open_store({.directory = running.path()}).value();
    for (int i = 0; i < kWrites; ++i)
      EXPECT_TRUE(store->write(create(pod("p" + std::to_string(i)), std::string(9'000, 'x'))).ok());
    std::filesystem::copy(running.path(), directory_.path(), std::filesystem::copy_options::recursive);
  }
  static constexpr int kWrites = 20;

  std::string path(const char* file) const { return directory_.path() + "/" + file; }
  void damage(const char* file, std::uintmax_t at) const {
    std::fstream bytes(path(file), std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(static_cast<std::streamoff>(at));
    bytes.write("\xde\xad\xbe\xef", 4);
  }
  Result<std::unique_ptr<Store>> open(bool accept_loss = false) const {
    return open_store({.directory = directory_.path(), .accept_data_loss = accept_loss});
  }
  // Objects there are when the loss is accepted, after the start without that was refused.
  std::size_t left_after_refusal(const char* sentence) const {
    EXPECT_FALSE(open().ok());
    const auto refused = open();
    EXPECT_FALSE(refused.ok()) << "as often as it is tried";
    if (refused.ok()) return 0;
    EXPECT_EQ(refused.error().code(), ErrorCode::Gone);
    EXPECT_NE(refused.error().text().find(sentence), std::string::npos) << refused.error().text();
    EXPECT_NE(refused.error().text().find("--accept-data-loss"), std::string::npos);
    const auto left = open(true);
    EXPECT_TRUE(left.ok());
    return left.ok() ? (*left)->count("pods") : 0;
  }

 private:
  TemporaryDirectory directory_;
};

TEST(LostData, ACrashLosesNothing) {
  const CrashImage image;
  for (int start = 0; start < 2; ++start) EXPECT_EQ((*image.open())->count("pods"), 20u);
}

TEST(LostData, AMissingOrEmptyDatabaseIsNoNewCluster) {
  const CrashImage removed;
  std::filesystem::remove(removed.path("berth.db"));
  EXPECT_EQ(removed.left_after_refusal("the database is missing"), 0u);
  const CrashImage emptied;
  std::filesystem::resize_file(emptied.path("berth.db"), 0);
  EXPECT_EQ(emptied.left_after_refusal("the database is empty"), 0u);
}

TEST(LostData, AMissingLogIsSaid) {
  const CrashImage image;
  std::filesystem::remove(image.path("berth.db-wal"));
  EXPECT_LT(image.left_after_refusal("the write-ahead log is missing"), 20u);
  EXPECT_TRUE(image.open().ok()) << "once accepted, it is done with";
  std::filesystem::remove(image.path("berth.db-wal"));
  EXPECT_TRUE(image.open().ok()) << "after a clean end the log holds nothing";
}

TEST(LostData, ALogDamagedInTheMiddleIsSaid) {
  const CrashImage image;
  const std::uintmax_t bytes = std::filesystem::file_size(image.path("berth.db-wal"));
  image.damage("berth.db-wal", bytes / 2);
  const std::size_t left = image.left_after_refusal("the write-ahead log is damaged");
  EXPECT_GT(left, 0u);
  EXPECT_LT(left, 20u);
  const CrashImage of_header;
  of_header.damage("berth.db-wal", 16);
  EXPECT_EQ(of_header.left_after_refusal("the write-ahead log is damaged"), 0u);
}

// What is gone leaves no trace in the log; the mark beside it knows how far it went.
TEST(LostData, ALogCutAtItsEndIsSaid) {
  constexpr std::uintmax_t kHeaderBytes = 32;
  const std::uintmax_t whole = std::filesystem::file_size(CrashImage().path("berth.db-wal"));
  for (const std::uintmax_t left :
       {std::uintmax_t{0}, std::uintmax_t{20}, kHeaderBytes, whole / 2, whole - 1}) {
    SCOPED_TRACE(left);
    const CrashImage image;
    std::filesystem::resize_file(image.path("berth.db-wal"), left);
    EXPECT_LT(image.left_after_refusal("to 20 are lost"), 20u);
    const auto again = image.open();
    ASSERT_TRUE(again.ok()) << "once accepted, it is done with";
    EXPECT_EQ((*again)->revision(), 20u) << "no version is given out twice";
  }
}

TEST(LostData, AnOlderDatabaseIsSaid) {
  const CrashImage image;
  const std::string kept = image.path("kept.db");
  {
    EXPECT_TRUE(image.open().ok());
  }  // everything moves into the database
  std::filesystem::copy_file(image.path("berth.db"), kept);
  EXPECT_TRUE((*image.open())->write(create(pod("later"))).ok());
  std::filesystem::rename(kept, image.path("berth.db"));
  EXPECT_EQ(image.left_after_refusal("the accepted writes from version 21 to 21 are lost"), 20u);
}

// What a power cut leaves of a commit that nobody was told of: the mark does not know it.
TEST(LostData, ATornEndIsNone) {
  const CrashImage image;
  std::ofstream(image.path("berth.db.mark"), std::ios::trunc) << "open\n";
  const std::uintmax_t bytes = std::filesystem::file_size(image.path("berth.db-wal"));
  image.damage("berth.db-wal", bytes - 2'000);
  const auto store = image.open();
  ASSERT_TRUE(store.ok()) << store.error().text();
  EXPECT_EQ((*store)->count("pods"), 19u);
}

// A directory whose server ended well: everything is in the database.
class ShutImage {
 public:
  ShutImage() {
    const std::unique_ptr<Store> store = open_store({.directory = directory_.path()}).value();
    for (const char* name : {"a", "b", "c", "d", "e"})
      EXPECT_TRUE(store->write(create(pod(name), std::string("content-of-") + name)).ok());
    EXPECT_TRUE(store->write(remove(pod("e"))).ok());
  }
  std::string database() const { return directory_.path() + "/berth.db"; }
  Result<std::unique_ptr<Store>> open(bool accept_loss = false) const {
    return open_store({.directory = directory_.path(), .accept_data_loss = accept_loss});
  }
  void expect_refusal(const char* sentence) const {
    const auto refused = open();
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code(), ErrorCode::Gone);
    EXPECT_NE(refused.error().text().find(sentence), std::string::npos) << refused.error().text();
  }

 private:
  TemporaryDirectory directory_;
};

TEST(LostData, ADamagedObjectIsNamedAndTheOthersAreLeft) {
  const ShutImage image;
  std::fstream file(image.database(), std::ios::in | std::ios::out | std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  const std::size_t at = bytes.find("content-of-b");
  ASSERT_NE(at, std::string::npos);
  file.seekp(static_cast<std::streamoff>(at));
  file.put('C');
  file.close();
  image.expect_refusal("1 object is damaged and lost: pods default/b");
  {
    const auto left = image.open(true);
    ASSERT_TRUE(left.ok()) << left.error().text();
    EXPECT_EQ((*left)->count("pods"), 3u);
    EXPECT_EQ((*left)->get(pod("b")), nullptr);
    EXPECT_TRUE((*left)->write(create(pod("b"))).ok());
  }
  EXPECT_TRUE(image.open().ok()) << "once accepted, it is done with";
}

TEST(LostData, RowsThatAreMissingOrStaleAreSaid) {
  for (const char* statements : {"DELETE FROM objects WHERE name = 'c'", "UPDATE state SET sum = sum + 1",
                                 "INSERT INTO objects SELECT 5, 5, resource, ns, 'e', uid, bytes, NULL FROM "
                                 "objects WHERE name = 'd'"}) {
    SCOPED_TRACE(statements);
    const ShutImage image;
    run_sql(image.database(), statements);
    image.expect_refusal("the checksum of the newest commit is not that of the objects");
    EXPECT_TRUE(image.open(true).ok());
    EXPECT_TRUE(image.open().ok()) << "once accepted, it is done with";
  }
}

TEST(LostData, ADatabaseOfTheFirstSchemaGetsItsChecksum) {
  const ShutImage image;
  run_sql(image.database(),
          "ALTER TABLE objects DROP COLUMN sum; ALTER TABLE state DROP COLUMN sum; PRAGMA user_version = 1");
  {
    const auto store = image.open();
    ASSERT_TRUE(store.ok()) << store.error().text();
    EXPECT_EQ((*store)->count("pods"), 4u);
    EXPECT_EQ((*store)->revision(), 6u);
    EXPECT_TRUE((*store)->write(update(pod("a"))).ok());
  }
  EXPECT_TRUE(image.open().ok());
  run_sql(image.database(), "UPDATE objects SET bytes = 'other' WHERE name = 'c'");
  image.expect_refusal("the checksum of the newest commit is not that of the objects");
}

}  // namespace
}  // namespace berth::store
