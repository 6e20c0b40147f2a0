// Backups of a store that is in use, and data directories made from them.
#include "store/backup.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "store/simulated_disk.h"
#include "store/sqlite_log.h"
#include "store/test_tools.h"

namespace berth::store {
namespace {

constexpr std::size_t kSmallLogBytes = 64 * 1024;
constexpr const char* kDirectory = "store";
constexpr const char* kFile = "backup";

// Calls `meddle` before each read of the database that a backup makes.
class MeddlingDisk final : public Disk {
 public:
  explicit MeddlingDisk(SimulatedDisk& disk) : disk_(disk) {}
  std::function<void()> meddle;

  Status make_directory(const std::string& path) override { return disk_.make_directory(path); }
  Status remove(const std::string& path) override { return disk_.remove(path); }
  Result<bool> exists(const std::string& path) override { return disk_.exists(path); }
  Status rename(const std::string& from, const std::string& to) override { return disk_.rename(from, to); }
  Result<std::unique_ptr<DiskFile>> open(const std::string& path, Opening opening) override {
    auto file = TRY(disk_.open(path, opening));
    if (path != database_of(kDirectory)) return file;
    return std::unique_ptr<DiskFile>(std::make_unique<File>(*this, std::move(file)));
  }

 private:
  class File final : public DiskFile {
   public:
    File(MeddlingDisk& disk, std::unique_ptr<DiskFile> file) : disk_(disk), file_(std::move(file)) {}
    Result<std::size_t> read(std::uint64_t offset, std::span<char> into) override {
      const Result<std::size_t> count = file_->read(offset, into);
      if (disk_.meddle) disk_.meddle();
      return count;
    }
    Status write(std::uint64_t at, std::span<const char> bytes) override { return file_->write(at, bytes); }
    Status truncate(std::uint64_t size) override { return file_->truncate(size); }
    Status sync() override { return file_->sync(); }
    Result<std::uint64_t> size() override { return file_->size(); }
    Status lock() override { return file_->lock(); }

   private:
    MeddlingDisk& disk_;
    std::unique_ptr<DiskFile> file_;
  };

  SimulatedDisk& disk_;
};

// A store on a simulated disk, with the judge of what it must hold.
class Backups : public testing::Test {
 protected:
  void open() {
    StoreOptions options{.directory = kDirectory, .log_bytes_max = kSmallLogBytes, .synchronous = true};
    store_ = open_store(options, &disk_).value();
  }
  void put(const std::string& name, std::size_t bytes = 10) {
    const Key key = pod(name);
    const std::string content(bytes, 'x');
    const WriteRequest write = store_->get(key) ? update(key, 0, content) : create(key, content);
    judge_.write(write);
    ASSERT_TRUE(store_->write(write).ok());
  }
  // Ends the log several times, whatever a backup wishes.
  void write_much() {
    for (int i = 0; i < 40; ++i) put("much-" + std::to_string(i % 3), 30'000);
  }
  void fill() {
    open();
    for (int i = 0; i < 30; ++i) put("p" + std::to_string(i), 4'000);
  }
  void expect_a_whole_copy() {
    const auto made = back_up(kDirectory, kFile, disk_);
    ASSERT_TRUE(made.ok()) << made.error().text();
    EXPECT_EQ(made->objects, 30u);
    EXPECT_EQ(made->revision, 30u);
    EXPECT_EQ(difference_at(30), "");
  }
  // The state that a directory made from the backup has, compared with that of the judge at `revision`.
  std::string difference_at(Revision revision, const char* file = kFile) {
    const Result<BackupContents> made = restore(file, "other", 0, disk_);
    if (!made.ok()) return made.error().text();
    const auto opened = open_store({.directory = "other", .synchronous = true}, &disk_);
    if (!opened.ok()) return opened.error().text();
    if ((*opened)->revision() != revision)
      return "revision " + std::to_string((*opened)->revision()) + ", not " + std::to_string(revision);
    Judge of_then = judge_;
    of_then.forget_behind(revision);
    return difference(**opened, of_then, {"pods"});
  }

  SimulatedDisk disk_{1};
  Judge judge_;
  std::unique_ptr<Store> store_;
};

TEST_F(Backups, AreTheStateOfTheNewestCommit) {
  fill();
  expect_a_whole_copy();
}

TEST_F(Backups, NeedNoServer) {
  fill();
  store_.reset();
  expect_a_whole_copy();
}

// The writer is never held up, and every copy is the state of one commit.
TEST_F(Backups, OfAStoreThatIsWrittenMeanwhile) {
  MeddlingDisk meddling(disk_);
  open();
  int reads = 0;
  meddling.meddle = [&] { put("during-" + std::to_string(++reads % 7), 9'000); };
  for (int i = 0; i < 300; ++i) put("p" + std::to_string(i), 4'000);
  const auto made = back_up(kDirectory, kFile, meddling);
  ASSERT_TRUE(made.ok()) << made.error().text();
  EXPECT_GT(reads, 1);
  EXPECT_EQ(difference_at(made->revision), "");
}

TEST_F(Backups, AreMadeAgainWhenTheLogBeganAnew) {
  MeddlingDisk meddling(disk_);
  open();
  put("p");
  int times = 2;
  meddling.meddle = [&] {
    if (times-- > 0) write_much();
  };
  const auto made = back_up(kDirectory, kFile, meddling);
  ASSERT_TRUE(made.ok()) << made.error().text();
  EXPECT_EQ(made->revision, judge_.revision());
  EXPECT_EQ(difference_at(made->revision), "");
}

TEST_F(Backups, NoticeAnEmptyLogThatCameAndWent) {
  MeddlingDisk meddling(disk_);
  open();
  put("p");
  store_.reset();
  int times = 1;
  meddling.meddle = [&] {
    if (times-- <= 0) return;
    open();
    put("q");
    store_.reset();
  };
  const auto made = back_up(kDirectory, kFile, meddling);
  ASSERT_TRUE(made.ok()) << made.error().text();
  EXPECT_EQ(made->revision, 2u);
  EXPECT_EQ(difference_at(2), "");
}

TEST_F(Backups, GiveUpWhenTheLogNeverRests) {
  MeddlingDisk meddling(disk_);
  open();
  put("p");
  meddling.meddle = [&] { write_much(); };
  const auto made = back_up(kDirectory, kFile, meddling);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code(), ErrorCode::Unavailable);
  EXPECT_FALSE(disk_.exists(kFile).value());
  EXPECT_FALSE(disk_.exists(backup_lock_of(database_of(kDirectory))).value());
}

TEST_F(Backups, MakeCheckpointsWaitWithinABound) {
  open();
  const std::string lock = backup_lock_of(database_of(kDirectory));
  const auto log_bytes = [&] {
    return disk_.open(log_of(database_of(kDirectory)), Disk::Opening::Existing).value()->size().value();
  };
  {
    const auto held = disk_.open(lock, Disk::Opening::OrCreate).value();
    ASSERT_TRUE(held->lock().ok());
    for (int i = 0; i < 10; ++i) put("p", 30'000);
    EXPECT_GT(log_bytes(), 2 * kSmallLogBytes) << "a backup that runs is waited for";
    EXPECT_EQ(back_up(kDirectory, kFile, disk_).error().code(), ErrorCode::Unavailable);
    for (int i = 0; i < 40; ++i) put("p", 30'000);
    EXPECT_LT(log_bytes(), 12 * kSmallLogBytes) << "but not for ever";
  }
  EXPECT_TRUE(back_up(kDirectory, kFile, disk_).ok()) << "a lock without a holder is none";
}

TEST_F(Backups, RefuseWhatWouldOverwriteOrIsNotThere) {
  EXPECT_EQ(back_up("nowhere", kFile, disk_).error().code(), ErrorCode::NotFound);
  open();
  put("p");
  ASSERT_TRUE(back_up(kDirectory, kFile, disk_).ok());
  EXPECT_EQ(back_up(kDirectory, kFile, disk_).error().code(), ErrorCode::Exists);
  EXPECT_EQ(restore(kFile, kDirectory, 0, disk_).error().code(), ErrorCode::Exists);
  EXPECT_EQ(restore("no-file", "other", 0, disk_).error().code(), ErrorCode::NotFound);
}

TEST_F(Backups, ThatFailLeaveNothing) {
  fill();
  constexpr std::uint64_t kTriesMax = 2'000;
  std::uint64_t operation = 1;
  for (; operation < kTriesMax; ++operation) {
    disk_.fail_operation(operation);
    const auto made = back_up(kDirectory, kFile, disk_);
    if (disk_.fault_pending()) break;
    if (made.ok()) {  // what failed was not needed
      ASSERT_TRUE(disk_.remove(kFile).ok());
      continue;
    }
    for (const std::string rest : {"", ".partial", ".partial-wal", ".partial.mark"})
      EXPECT_FALSE(disk_.exists(kFile + rest).value()) << rest << ", operation " << operation;
  }
  EXPECT_GT(operation, 30u);
  EXPECT_LT(operation, kTriesMax);
}

TEST_F(Backups, ThatAreDamagedAreNotRestored) {
  open();
  for (int i = 0; i < 5; ++i) put("p" + std::to_string(i), 1'000);
  ASSERT_TRUE(back_up(kDirectory, kFile, disk_).ok());
  const auto file = disk_.open(kFile, Disk::Opening::Existing).value();
  std::string bytes(file->size().value(), '\0');
  ASSERT_TRUE(file->read(0, bytes).ok());
  ASSERT_TRUE(file->write(bytes.find("xxxx"), std::string_view("y")).ok());
  const auto refused = restore(kFile, "other", 0, disk_);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text().find("damaged"), std::string::npos) << refused.error().text();
  EXPECT_FALSE(disk_.exists(database_of("other")).value());
}

TEST_F(Backups, RestoredVersionsGoOnBehindThoseThatClientsKnow) {
  open();
  for (const char* name : {"a", "b", "c"}) put(name);
  ASSERT_TRUE(back_up(kDirectory, kFile, disk_).ok());
  put("d");
  const auto made = restore(kFile, "other", 1'000, disk_);
  ASSERT_TRUE(made.ok()) << made.error().text();
  EXPECT_EQ(made->revision, 1'000u);
  const auto other = open_store({.directory = "other", .synchronous = true}, &disk_).value();
  EXPECT_EQ(other->write(create(pod("e"))).value()->revision, 1'001u);
  RememberingSink sink;
  EXPECT_EQ(other->watch("pods", 4, sink).error().code(), ErrorCode::Gone);
}

TEST_F(Backups, APowerCutLeavesNoHalfOfARestoredStore) {
  open();
  for (int i = 0; i < 10; ++i) put("p" + std::to_string(i), 3'000);
  ASSERT_TRUE(back_up(kDirectory, kFile, disk_).ok());
  int whole = 0;
  constexpr std::uint64_t kChangesMax = 200;
  for (std::uint64_t change = 1; change < kChangesMax && whole == 0; ++change) {
    const std::string other = "other-" + std::to_string(change);
    disk_.cut_power_before_change(change);
    (void)restore(kFile, other, 0, disk_);
    whole += disk_.fault_pending() ? 1 : 0;
    disk_.power_on();
    if (!disk_.exists(database_of(other)).value()) {
      const auto again = restore(kFile, other, 0, disk_);
      ASSERT_TRUE(again.ok()) << "after change " << change << ": " << again.error().text();
    }
    const auto opened = open_store({.directory = other, .synchronous = true}, &disk_);
    ASSERT_TRUE(opened.ok()) << "after change " << change << ": " << opened.error().text();
    EXPECT_EQ((*opened)->count("pods"), 10u) << "after change " << change;
  }
  EXPECT_EQ(whole, 1) << "the cuts must reach the end of it";
}

// On the machine's disk, beside a committer on a thread of its own.
TEST(BackupOfALiveStore, IsOneOfItsStates) {
  TemporaryDirectory directory;
  StoreOptions options{.directory = directory.path(), .log_bytes_max = kSmallLogBytes};
  const std::unique_ptr<Store> store = open_store(options).value();
  Judge judge;
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (int i = 0; !stop && i < 4'000; ++i) {
      const Key key = pod("p" + std::to_string(i % 50));
      const std::string content(static_cast<std::size_t>(i % 7) * 900, 'x');
      const WriteRequest write = i < 50 ? create(key, content) : update(key, 0, content);
      judge.write(write);
      EXPECT_TRUE(store->write(write).ok());
    }
  });
  std::vector<BackupContents> made;
  std::vector<std::string> files;
  for (int i = 0; i < 5; ++i) {
    files.push_back(directory.path() + "/backup-" + std::to_string(i));
    const auto one = back_up(directory.path(), files.back(), machine_disk());
    EXPECT_TRUE(one.ok()) << one.error().text();
    if (one.ok()) made.push_back(*one);
  }
  stop = true;
  writer.join();
  ASSERT_EQ(made.size(), files.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string other = directory.path() + "/other-" + std::to_string(i);
    ASSERT_TRUE(restore(files[i], other, 0, machine_disk()).ok());
    Judge of_then = judge;
    of_then.forget_behind(made[i].revision);
    EXPECT_EQ(difference(*open_store({.directory = other}).value(), of_then, {"pods"}), "");
  }
}

}  // namespace
}  // namespace berth::store
