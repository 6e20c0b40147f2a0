#include "store/vfs.h"

#include <sqlite3.h>

#include <atomic>
#include <cstring>
#include <optional>
#include <vector>

#include "base/random.h"

namespace berth::store {

struct Vfs::State {
  sqlite3_vfs vfs{};
  Disk* disk = nullptr;
  std::string name;
  std::optional<Error> failure;
};

namespace {

constexpr int kPathBytesMax = 4096;
constexpr int kReportedSectorBytes = 4096;
constexpr std::size_t kGatheredBytesMax = 256 * 1024;

// SQLite allocates this, as raw memory of szOsFile bytes.
struct OpenFile {
  sqlite3_file base;
  Vfs::State* state;
  DiskFile* file;
  std::vector<char>* gathered;
  sqlite3_int64 gathered_at;
};

OpenFile& open_file(sqlite3_file* file) {
  return *reinterpret_cast<OpenFile*>(file);
}
Vfs::State& state_of(sqlite3_vfs* vfs) {
  return *static_cast<Vfs::State*>(vfs->pAppData);
}

int failed(Vfs::State& state, const Error& error, int code) {
  state.failure = error;
  return code;
}

int flush(OpenFile& open) {
  if (open.gathered->empty()) return SQLITE_OK;
  const Status written = open.file->write(static_cast<std::uint64_t>(open.gathered_at), *open.gathered);
  open.gathered->clear();
  if (written.ok()) return SQLITE_OK;
  const bool full = written.error().code() == ErrorCode::TooLarge;
  return failed(*open.state, written.error(), full ? SQLITE_FULL : SQLITE_IOERR_WRITE);
}

int close_file(sqlite3_file* file) {
  OpenFile& open = open_file(file);
  const int flushed = flush(open);
  delete open.file;
  delete open.gathered;
  return flushed;
}

int read_file(sqlite3_file* file, void* into, int count, sqlite3_int64 offset) {
  OpenFile& open = open_file(file);
  if (const int flushed = flush(open); flushed != SQLITE_OK) return flushed;
  const std::span<char> bytes(static_cast<char*>(into), static_cast<std::size_t>(count));
  const Result<std::size_t> got = open.file->read(static_cast<std::uint64_t>(offset), bytes);
  if (!got.ok()) return failed(*open.state, got.error(), SQLITE_IOERR_READ);
  if (*got == bytes.size()) return SQLITE_OK;
  std::memset(bytes.data() + *got, 0, bytes.size() - *got);
  return SQLITE_IOERR_SHORT_READ;
}

int write_file(sqlite3_file* file, const void* from, int count, sqlite3_int64 offset) {
  OpenFile& open = open_file(file);
  const auto gathered_bytes = static_cast<sqlite3_int64>(open.gathered->size());
  const bool follows = offset == open.gathered_at + gathered_bytes;
  if (!follows || open.gathered->size() + static_cast<std::size_t>(count) > kGatheredBytesMax) {
    if (const int flushed = flush(open); flushed != SQLITE_OK) return flushed;
  }
  if (open.gathered->empty()) open.gathered_at = offset;
  const char* bytes = static_cast<const char*>(from);
  open.gathered->insert(open.gathered->end(), bytes, bytes + count);
  return SQLITE_OK;
}

int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
  OpenFile& open = open_file(file);
  if (const int flushed = flush(open); flushed != SQLITE_OK) return flushed;
  const Status done = open.file->truncate(static_cast<std::uint64_t>(size));
  return done.ok() ? SQLITE_OK : failed(*open.state, done.error(), SQLITE_IOERR_TRUNCATE);
}

int sync_file(sqlite3_file* file, int) {
  OpenFile& open = open_file(file);
  if (const int flushed = flush(open); flushed != SQLITE_OK) return flushed;
  const Status done = open.file->sync();
  return done.ok() ? SQLITE_OK : failed(*open.state, done.error(), SQLITE_IOERR_FSYNC);
}

int file_size(sqlite3_file* file, sqlite3_int64* size) {
  OpenFile& open = open_file(file);
  if (const int flushed = flush(open); flushed != SQLITE_OK) return flushed;
  const Result<std::uint64_t> answer = open.file->size();
  if (!answer.ok()) return failed(*open.state, answer.error(), SQLITE_IOERR_FSTAT);
  *size = static_cast<sqlite3_int64>(*answer);
  return SQLITE_OK;
}

// Any level is the one exclusive lock: there is a single connection, and it keeps the lock until it closes.
int lock_file(sqlite3_file* file, int) {
  OpenFile& open = open_file(file);
  const Status done = open.file->lock();
  if (done.ok()) return SQLITE_OK;
  return failed(*open.state, done.error(),
                done.error().code() == ErrorCode::Conflict ? SQLITE_BUSY : SQLITE_IOERR_LOCK);
}

int unlock_file(sqlite3_file*, int) {
  return SQLITE_OK;
}

int check_reserved_lock(sqlite3_file*, int* reserved) {
  *reserved = 0;
  return SQLITE_OK;
}

int file_control(sqlite3_file*, int, void*) {
  return SQLITE_NOTFOUND;
}
int sector_size(sqlite3_file*) {
  return kReportedSectorBytes;
}
int device_characteristics(sqlite3_file*) {
  return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

constexpr sqlite3_io_methods kFileMethods = {
    .iVersion = 1,
    .xClose = close_file,
    .xRead = read_file,
    .xWrite = write_file,
    .xTruncate = truncate_file,
    .xSync = sync_file,
    .xFileSize = file_size,
    .xLock = lock_file,
    .xUnlock = unlock_file,
    .xCheckReservedLock = check_reserved_lock,
    .xFileControl = file_control,
    .xSectorSize = sector_size,
    .xDeviceCharacteristics = device_characteristics,
};

int open_path(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* out_flags) {
  Vfs::State& state = state_of(vfs);
  OpenFile& open = open_file(file);
  open.base.pMethods = nullptr;
  if (path == nullptr) return SQLITE_CANTOPEN;  // a temporary file: temp_store keeps those in memory
  const auto opening = (flags & SQLITE_OPEN_CREATE) != 0 ? Disk::Opening::OrCreate : Disk::Opening::Existing;
  Result<std::unique_ptr<DiskFile>> opened = state.disk->open(path, opening);
  if (!opened.ok()) return failed(state, opened.error(), SQLITE_CANTOPEN);
  open.state = &state;
  open.file = opened->release();
  open.gathered = new std::vector<char>();
  open.gathered_at = 0;
  open.base.pMethods = &kFileMethods;
  if (out_flags != nullptr) *out_flags = flags;
  return SQLITE_OK;
}

int delete_path(sqlite3_vfs* vfs, const char* path, int) {
  const Status done = state_of(vfs).disk->remove(path);
  if (done.ok()) return SQLITE_OK;
  if (done.error().code() == ErrorCode::NotFound) return SQLITE_IOERR_DELETE_NOENT;
  return failed(state_of(vfs), done.error(), SQLITE_IOERR_DELETE);
}

int access_path(sqlite3_vfs* vfs, const char* path, int, int* answer) {
  const Result<bool> found = state_of(vfs).disk->exists(path);
  if (!found.ok()) return failed(state_of(vfs), found.error(), SQLITE_IOERR_ACCESS);
  *answer = *found ? 1 : 0;
  return SQLITE_OK;
}

int full_path(sqlite3_vfs*, const char* path, int out_bytes, char* out) {
  const std::size_t length = std::strlen(path);
  if (length >= static_cast<std::size_t>(out_bytes)) return SQLITE_CANTOPEN;
  std::memcpy(out, path, length + 1);
  return SQLITE_OK;
}

int random_bytes(sqlite3_vfs*, int count, char* out) {
  SystemRandom random;
  for (int i = 0; i < count; ++i) out[i] = static_cast<char>(random.next());
  return count;
}

// The store's statements use neither pauses nor the date.
int sleep_microseconds(sqlite3_vfs*, int) {
  return 0;
}
int current_time(sqlite3_vfs*, double* julian_day) {
  *julian_day = 0;
  return SQLITE_OK;
}
int last_error(sqlite3_vfs*, int, char*) {
  return 0;
}

}  // namespace

Vfs::Vfs(Disk& disk) : state_(std::make_unique<State>()) {
  static std::atomic<std::uint64_t> serial{0};
  state_->disk = &disk;
  state_->name = "berth-" + std::to_string(serial.fetch_add(1));
  sqlite3_vfs& vfs = state_->vfs;
  vfs.iVersion = 1;
  vfs.szOsFile = sizeof(OpenFile);
  vfs.mxPathname = kPathBytesMax;
  vfs.zName = state_->name.c_str();
  vfs.pAppData = state_.get();
  vfs.xOpen = open_path;
  vfs.xDelete = delete_path;
  vfs.xAccess = access_path;
  vfs.xFullPathname = full_path;
  vfs.xRandomness = random_bytes;
  vfs.xSleep = sleep_microseconds;
  vfs.xCurrentTime = current_time;
  vfs.xGetLastError = last_error;
  const int registered = sqlite3_vfs_register(&vfs, 0);
  BERTH_ASSERT(registered == SQLITE_OK, "registering only fails without memory");
}

Vfs::~Vfs() {
  sqlite3_vfs_unregister(&state_->vfs);
}

const char* Vfs::name() const {
  return state_->name.c_str();
}
const Error* Vfs::last_failure() const {
  return state_->failure ? &*state_->failure : nullptr;
}

}  // namespace berth::store
