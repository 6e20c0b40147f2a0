#include "store/backup.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "store/sqlite_log.h"

namespace berth::store {
namespace {

constexpr std::size_t kChunkBytes = 1024 * 1024;
constexpr std::size_t kLogHeaderBytes = 32;
constexpr std::size_t kLogBytesMax = 16 * 1024 * 1024;  // of the copy, while it is checked
constexpr const char* kPartial = ".partial";

// Reads as many bytes as the file has at the beginning.
Result<std::uint64_t> copy(DiskFile& from, DiskFile& to) {
  const std::uint64_t size = TRY(from.size());
  std::vector<char> chunk(kChunkBytes);
  std::uint64_t at = 0;
  while (at < size) {
    const std::size_t wanted = static_cast<std::size_t>(std::min<std::uint64_t>(kChunkBytes, size - at));
    const std::size_t count = TRY(from.read(at, std::span(chunk).first(wanted)));
    if (count == 0) break;
    TRY(to.write(at, std::span(chunk).first(count)));
    at += count;
  }
  return at;
}

Result<bool> are_equal(DiskFile& a, DiskFile& b) {
  std::vector<char> of_a(kChunkBytes), of_b(kChunkBytes);
  for (std::uint64_t at = 0;; at += kChunkBytes) {
    const std::size_t count = TRY(a.read(at, of_a));
    if (TRY(b.read(at, of_b)) != count) return false;
    if (!std::equal(of_a.begin(), of_a.begin() + static_cast<std::ptrdiff_t>(count), of_b.begin()))
      return false;
    if (count < kChunkBytes) return true;
  }
}

Status remove_if_there(const std::string& path, Disk& disk) {
  return TRY(disk.exists(path)) ? disk.remove(path) : Status();
}

// A database that is not finished, with what is beside it.
Status remove_unfinished(const std::string& path, Disk& disk) {
  for (const std::string& old : {path, log_of(path), mark_of(path)}) TRY(remove_if_there(old, disk));
  return {};
}

Result<std::unique_ptr<DiskFile>> make_anew(const std::string& path, Disk& disk) {
  TRY(remove_unfinished(path, disk));
  return disk.open(path, Disk::Opening::OrCreate);
}

// What a failed try has made goes; a disk that refuses that too keeps it for the next one.
template <class Made>
Made without_rests(Made made, const std::string& partial, Disk& disk) {
  if (!made.ok()) (void)remove_unfinished(partial, disk);
  return made;
}

// Checks the database `path` and gives it its name. `at_least`: a revision that it gets when its own is
// lower.
Result<BackupContents> finish(const std::string& path, const std::string& name, Revision at_least,
                              Disk& disk) {
  BackupContents contents;
  {
    const std::unique_ptr<SqliteLog> log = TRY(SqliteLog::open(path, disk, kLogBytesMax, false));
    const SqliteLog::Contents loaded = TRY(log->load());
    contents = {loaded.objects.size(), std::max(loaded.revision, at_least)};
    if (contents.revision != loaded.revision) TRY(log->commit({}, contents.revision));
    TRY(log->checkpoint());
  }
  const std::unique_ptr<DiskFile> file = TRY(disk.open(path, Disk::Opening::Existing));
  TRY(file->sync());
  for (const std::string& rest : {log_of(path), mark_of(path)}) TRY(remove_if_there(rest, disk));
  TRY(disk.rename(path, name));
  return contents;
}

// A database and its write-ahead log, as a server uses them.
class LiveDatabase {
 public:
  static Result<LiveDatabase> open(const std::string& path, Disk& disk) {
    LiveDatabase live;
    live.database_ = TRY(disk.open(path, Disk::Opening::Existing));
    if (TRY(disk.exists(log_of(path)))) live.log_ = TRY(disk.open(log_of(path), Disk::Opening::Existing));
    return live;
  }

  // False: the log began anew meanwhile, so the two copies may be of different states. As long as it does
  // not, whatever a checkpoint moves into the database while that is copied stands in the log as well, and
  // the log is copied later.
  Result<bool> copy_to(const std::string& path, Disk& disk) {
    const std::string before = TRY(log_header());
    const std::unique_ptr<DiskFile> copied = TRY(make_anew(path, disk));
    TRY(copy(*database_, *copied));
    if (!before.empty()) {
      const std::unique_ptr<DiskFile> log = TRY(disk.open(log_of(path), Disk::Opening::OrCreate));
      TRY(copy(*log_, *log));
    }
    if (TRY(log_header()) != before) return false;
    // An empty log looks the same after one that came and went. Its commits have changed the revision.
    return !before.empty() || TRY(are_equal(*database_, *copied));
  }

 private:
  // Differs for every beginning of the log: SQLite draws its salts.
  Result<std::string> log_header() {
    std::string header(kLogHeaderBytes, '\0');
    header.resize(log_ ? TRY(log_->read(0, header)) : 0);
    return header;
  }

  std::unique_ptr<DiskFile> database_;
  std::unique_ptr<DiskFile> log_;  // null: there is none
};

Result<BackupContents> copy_and_check(const std::string& database, const std::string& file,
                                      const std::string& partial, Disk& disk) {
  for (int i = 0; i < kBackupTriesMax; ++i) {
    LiveDatabase live = TRY(LiveDatabase::open(database, disk));
    if (TRY(live.copy_to(partial, disk))) return finish(partial, file, 0, disk);
  }
  return Error(ErrorCode::Unavailable, database,
               "its log began again during each of " + std::to_string(kBackupTriesMax) +
                   " copies; try again when fewer objects are written");
}

Result<BackupContents> copy_back(const std::string& file, const std::string& database,
                                 const std::string& partial, Revision at_least, Disk& disk) {
  const std::unique_ptr<DiskFile> backup = TRY(disk.open(file, Disk::Opening::Existing));
  TRY(copy(*backup, *TRY(make_anew(partial, disk))));
  return finish(partial, database, at_least, disk);
}

}  // namespace

Result<BackupContents> back_up(const std::string& directory, const std::string& file, Disk& disk) {
  const std::string database = database_of(directory);
  if (!TRY(disk.exists(database)))
    return Error(ErrorCode::NotFound, directory, "holds no objects of Berth; name a data directory");
  if (TRY(disk.exists(file)))
    return Error(ErrorCode::Exists, file, "exists already; choose another name for the backup");
  const std::string lock = backup_lock_of(database);
  const std::unique_ptr<DiskFile> held = TRY(disk.open(lock, Disk::Opening::OrCreate));
  if (const Status locked = held->lock(); !locked)
    return Error(ErrorCode::Unavailable, directory, "another backup of it runs; wait until that one is done")
        .because_of(locked.error());
  const std::string partial = file + kPartial;
  Result<BackupContents> contents =
      without_rests(copy_and_check(database, file, partial, disk), partial, disk);
  (void)disk.remove(lock);  // one that stays is held by nobody
  return contents;
}

Result<BackupContents> restore(const std::string& file, const std::string& directory, Revision at_least,
                               Disk& disk) {
  if (!TRY(disk.exists(file))) return Error(ErrorCode::NotFound, file, "does not exist");
  const std::string database = database_of(directory);
  for (const std::string& path : {database, mark_of(database)})
    if (TRY(disk.exists(path)))
      return Error(ErrorCode::Exists, directory,
                   "holds objects already; restore into another directory, or move this one away");
  TRY(disk.make_directory(directory));
  const std::string partial = database + kPartial;
  return without_rests(copy_back(file, database, partial, at_least, disk), partial, disk);
}

}  // namespace berth::store
