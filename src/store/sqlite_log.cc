#include "store/sqlite_log.h"

#include <sqlite3.h>

#include <filesystem>
#include <optional>

#include "base/log.h"
#include "store/commit_mark.h"
#include "store/object_hash.h"
#include "store/vfs.h"
#include "store/wal_check.h"

namespace berth::store {
namespace {

constexpr int kSchema = 2;
constexpr int kApplicationId = 0x42727468;  // "Brth"
constexpr const char* kFileName = "berth.db";
constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kUsefulShare = 8;  // an idle checkpoint pays from this fraction of the log's bound on
constexpr std::size_t kBackupShare = 8;  // while a backup copies, the log may grow to this multiple of it
constexpr std::size_t kNamedMax = 3;     // damaged objects that a sentence names

// Exclusive locking comes first: it keeps the WAL index off shared memory. Checkpoints are explicit
// (checkpoint()).
constexpr const char* kConnectionSetup =
    "PRAGMA locking_mode = EXCLUSIVE;"
    "PRAGMA page_size = 4096;"
    "PRAGMA temp_store = MEMORY;"
    "PRAGMA cache_spill = OFF;"  // a commit writes each page once (wal_check.h)
    "PRAGMA cache_size = -32768;";
constexpr const char* kDatabaseSetup =
    "PRAGMA journal_mode = WAL;"
    "PRAGMA synchronous = FULL;"
    "PRAGMA wal_autocheckpoint = 0;";
constexpr const char* kMakeTables =
    "BEGIN EXCLUSIVE;"
    "CREATE TABLE objects (created INTEGER PRIMARY KEY, revision INTEGER NOT NULL, resource TEXT NOT NULL,"
    " ns TEXT NOT NULL, name TEXT NOT NULL, uid TEXT NOT NULL, bytes BLOB NOT NULL, sum INTEGER);"
    "CREATE TABLE state (id INTEGER PRIMARY KEY CHECK (id = 0), revision INTEGER NOT NULL,"
    " sum INTEGER NOT NULL);"
    "INSERT INTO state VALUES (0, 0, 0);"
    "PRAGMA application_id = 1114797160;"
    "PRAGMA user_version = 2;"
    "COMMIT;";
// Schema 1 had no sums. The rows that it left have none until they are written again; the state has the sum
// of all.
constexpr const char* kAddSums =
    "ALTER TABLE objects ADD COLUMN sum INTEGER;"
    "ALTER TABLE state ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;"
    "PRAGMA user_version = 2;";
static_assert(kApplicationId == 1114797160 && kSchema == 2, "the statements above spell both out");

struct CloseConnection {
  void operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }
};
struct FinishStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Connection = std::unique_ptr<sqlite3, CloseConnection>;
using Statement = std::unique_ptr<sqlite3_stmt, FinishStatement>;

int bind_text(sqlite3_stmt* statement, int column, const std::string& text) {
  return sqlite3_bind_text(statement, column, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
}

std::string text_of(sqlite3_stmt* statement, int column) {
  const void* bytes = sqlite3_column_blob(statement, column);
  const int count = sqlite3_column_bytes(statement, column);
  return bytes == nullptr ? std::string()
                          : std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(count));
}

class SqliteLogFile final : public SqliteLog {
 public:
  SqliteLogFile(std::string database, Disk& disk, std::size_t log_bytes_max, bool accept_loss)
      : log_pages_max_(log_bytes_max / kPageBytes),
        accept_loss_(accept_loss),
        disk_(disk),
        path_(std::move(database)),
        vfs_(disk) {}

  // The log stays as a file, so that one that is missing was taken away; emptied, it is not missed either.
  ~SqliteLogFile() override {
    if (started_ && !together_ && checkpoint_all().ok()) (void)mark_->set_state(CommitMark::State::Shut);
  }

  Status start() {
    mark_.emplace(TRY(CommitMark::read(mark_of(path_), disk_)));
    TRY(check_files());
    sqlite3* opened = nullptr;
    const int code =
        sqlite3_open_v2(path_.c_str(), &opened,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, vfs_.name());
    connection_.reset(opened);
    if (code != SQLITE_OK) return failure("cannot open the store");
    TRY(run(kConnectionSetup));
    sqlite3_db_config(connection_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    TRY(check_schema());
    TRY(check_log());
    const Revision lost = TRY(lost_commits());
    TRY(run(kDatabaseSetup));
    if (empty_) TRY(run(kMakeTables));
    if (old_) TRY(upgrade());
    sum_ = static_cast<std::uint64_t>(TRY(number("SELECT sum FROM state WHERE id = 0")));
    put_ = TRY(prepared("INSERT OR REPLACE INTO objects VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"));
    remove_ = TRY(prepared("DELETE FROM objects WHERE created = ?1"));
    advance_ = TRY(prepared("UPDATE state SET revision = ?1, sum = ?2 WHERE id = 0"));
    begin_ = TRY(prepared("BEGIN IMMEDIATE"));
    commit_ = TRY(prepared("COMMIT"));
    sqlite3_wal_hook(connection_.get(), &SqliteLogFile::note_log_pages, this);
    // What a power cut left behind the last commit goes, so that a log never holds rests of several. A disk
    // without room leaves it as it is.
    if (Status emptied = checkpoint_all(); !emptied && !is_full()) return emptied;
    if (Status marked = mark_->set_state(CommitMark::State::Open);
        !marked && marked.error().code() != ErrorCode::TooLarge)
      return marked;
    // Clients know the lost revisions as those of other states.
    if (lost > 0) TRY(commit({}, mark_->acknowledged()));
    started_ = true;
    return {};
  }

  Result<Contents> load() override {
    Contents contents;
    contents.revision = TRY(revision());
    Damage damage;
    contents.objects = TRY(read_objects(damage));
    for (const ObjectPtr& object : contents.objects)
      if (object->revision > contents.revision || object->created > object->revision)
        return Error(ErrorCode::Internal, path_, "is damaged: an object is newer than the store's revision");
    if (damage.objects.empty() && damage.sum == sum_) return contents;
    TRY(lost(sentence_of(damage)));
    TRY(forget(damage, contents.revision));
    return contents;
  }

  Result<Revision> revision() override {
    return static_cast<Revision>(TRY(number("SELECT revision FROM state WHERE id = 0")));
  }

  Status commit(std::span<const WatchEventPtr> events, Revision revision) override {
    if (!together_) TRY(step(begin_));
    std::uint64_t sum = sum_;
    for (const WatchEventPtr& event : events) {
      if (event->previous) sum -= hash_of(*event->previous);
      if (event->kind == WatchEvent::Kind::Deleted) {
        TRY(remove(*event->object));
        continue;
      }
      const std::uint64_t hash = hash_of(*event->object);
      sum += hash;
      bind_version(*event->object, hash);
      TRY(step(put_));
    }
    TRY(advance(revision, sum));
    newest_ = revision;
    sum_ = sum;
    return together_ ? Status() : finish_commit();
  }

  Status begin_together() override {
    TRY(step(begin_));
    together_ = true;
    return {};
  }

  Status end_together() override {
    together_ = false;
    return finish_commit();
  }

  bool checkpoint_useful() const override {
    return !together_ && log_pages_ >= log_pages_max_ / kUsefulShare;
  }
  bool checkpoint_due() const override { return !together_ && log_pages_ >= log_pages_max_; }

  Status checkpoint() override {
    if (log_pages_ < kBackupShare * log_pages_max_ && TRY(backup_under_way())) return {};
    const int code =
        sqlite3_wal_checkpoint_v2(connection_.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
    if (code != SQLITE_OK) return failure("cannot tidy the write-ahead log");
    log_pages_ = 0;
    return mark_->sync();
  }

  bool mark_is_behind() const override { return mark_->is_behind(); }
  Status sync_mark() override { return mark_->sync(); }

 private:
  static int note_log_pages(void* self, sqlite3*, const char*, int pages) {
    static_cast<SqliteLogFile*>(self)->log_pages_ = static_cast<std::size_t>(pages);
    return SQLITE_OK;
  }

  // What load() found that is not what the newest commit left.
  struct Damage {
    std::vector<ObjectPtr> objects;
    std::uint64_t sum = 0;  // of the others
  };

  // Those that are as they were written, by created; the others go into `damage`.
  Result<std::vector<ObjectPtr>> read_objects(Damage& damage) {
    const Statement rows = TRY(prepared(
        "SELECT created, revision, resource, ns, name, uid, bytes, sum FROM objects ORDER BY created"));
    std::vector<ObjectPtr> objects;
    int code = SQLITE_OK;
    while ((code = sqlite3_step(rows.get())) == SQLITE_ROW) {
      auto object = std::make_shared<Object>();
      object->created = static_cast<Revision>(sqlite3_column_int64(rows.get(), 0));
      object->revision = static_cast<Revision>(sqlite3_column_int64(rows.get(), 1));
      object->key.resource = text_of(rows.get(), 2);
      object->key.ns = text_of(rows.get(), 3);
      object->key.name = text_of(rows.get(), 4);
      object->uid = text_of(rows.get(), 5);
      object->bytes = text_of(rows.get(), 6);
      const std::uint64_t sum = hash_of(*object);
      const bool known = sqlite3_column_type(rows.get(), 7) != SQLITE_NULL;
      if (known && static_cast<std::uint64_t>(sqlite3_column_int64(rows.get(), 7)) != sum) {
        damage.objects.push_back(std::move(object));
        continue;
      }
      damage.sum += sum;
      objects.push_back(std::move(object));
    }
    if (code != SQLITE_DONE) return failure("cannot read the objects");
    return objects;
  }

  static std::string sentence_of(const Damage& damage) {
    if (damage.objects.empty())
      return "the checksum of the newest commit is not that of the objects: some are missing or of an older "
             "state";
    const std::size_t count = damage.objects.size();
    std::string text = std::to_string(count) + (count == 1 ? " object is" : " objects are");
    text += " damaged and lost:";
    for (std::size_t i = 0; i < std::min(count, kNamedMax); ++i) {
      const Key& key = damage.objects[i]->key;
      text += (i == 0 ? " " : ", ") + key.resource + " " + (key.ns.empty() ? "" : key.ns + "/") + key.name;
    }
    return count > kNamedMax ? text + ", …" : text;
  }

  // Makes the objects that are left the contents.
  Status forget(const Damage& damage, Revision revision) {
    TRY(step(begin_));
    for (const ObjectPtr& object : damage.objects) TRY(remove(*object));
    TRY(advance(revision, damage.sum));
    TRY(step(commit_));
    sum_ = damage.sum;
    return {};
  }

  // A checkpoint that overwrote the log's beginning would take what a backup copies.
  Result<bool> backup_under_way() {
    const std::string path = backup_lock_of(path_);
    if (!TRY(disk_.exists(path))) return false;
    const Result<std::unique_ptr<DiskFile>> file = disk_.open(path, Disk::Opening::Existing);
    if (!file) return false;  // ended meanwhile
    const Status locked = (*file)->lock();
    return !locked && locked.error().code() == ErrorCode::Conflict;
  }

  Status finish_commit() {
    TRY(step(commit_));
    return mark_->note(newest_);
  }

  Status lost(const std::string& sentence) const {
    if (!accept_loss_)
      return Error(ErrorCode::Gone, path_,
                   sentence +
                       "; put the file back, restore a backup (berth restore), or go on with what is "
                       "left: --accept-data-loss");
    log(LogLevel::Warning, "data is lost, which was accepted", {{"file", path_}, {"what", sentence}});
    return {};
  }

  // Before anything is opened, which would make what is missing.
  Status check_files() {
    if (mark_->state() == CommitMark::State::None) return {};
    if (!TRY(disk_.exists(path_)))
      return lost("the database is missing: every object that was stored here is lost");
    const std::unique_ptr<DiskFile> file = TRY(disk_.open(path_, Disk::Opening::Existing));
    if (TRY(file->size()) == 0)
      return lost("the database is empty: every object that was stored here is lost");
    if (mark_->state() != CommitMark::State::Open || TRY(disk_.exists(log_of(path_)))) return {};
    return lost("the write-ahead log is missing: the newest writes are lost");
  }

  // Behind the first read, which took the lock.
  Status check_log() {
    if (!TRY(disk_.exists(log_of(path_)))) return {};
    const std::unique_ptr<DiskFile> file = TRY(disk_.open(log_of(path_), Disk::Opening::Existing));
    const WalReport report = TRY(inspect_wal(*file));
    if (!report.damaged) return {};
    return lost("the write-ahead log is damaged: " + std::to_string(report.commits) +
                " commits can be read, the writes in the " +
                std::to_string(report.bytes - report.whole_bytes) + " bytes behind them are lost");
  }

  // How many acknowledged commits neither the database nor its log has, which was accepted.
  Result<Revision> lost_commits() {
    const Revision found = empty_ ? 0 : TRY(revision());
    if (found >= mark_->acknowledged()) return Revision{0};
    const Revision count = mark_->acknowledged() - found;
    TRY(
        lost("the write-ahead log was cut, or a file was replaced by an older one: the accepted writes from "
             "version " +
             std::to_string(found + 1) + " to " + std::to_string(mark_->acknowledged()) + " are lost"));
    return count;
  }

  // Moves the whole log into the database and empties it.
  Status checkpoint_all() {
    const int code =
        sqlite3_wal_checkpoint_v2(connection_.get(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
    if (code != SQLITE_OK) return failure("cannot tidy the write-ahead log");
    log_pages_ = 0;
    return {};
  }

  bool is_full() const {
    const Error* reason = vfs_.last_failure();
    return reason != nullptr && reason->code() == ErrorCode::TooLarge;
  }

  // Reads only, so that a refused file stays as it is.
  Status check_schema() {
    const std::int64_t schema = TRY(number("PRAGMA user_version"));
    const std::int64_t application = TRY(number("PRAGMA application_id"));
    const std::int64_t tables = TRY(number("SELECT count(*) FROM sqlite_schema"));
    empty_ = tables == 0 && schema == 0;
    if (empty_) return {};
    if (application != kApplicationId)
      return Error(ErrorCode::Unsupported, path_,
                   "is a database, but not one of Berth's; choose another directory");
    if (schema > kSchema)
      return Error(ErrorCode::Unsupported, path_,
                   "was written by a newer Berth (schema " + std::to_string(schema) +
                       ", this one knows up to " + std::to_string(kSchema) +
                       "); start that version again or choose another directory");
    old_ = schema < kSchema;
    return {};
  }

  // From schema 1. All of it or nothing.
  Status upgrade() {
    TRY(run("BEGIN EXCLUSIVE;"));
    TRY(run(kAddSums));
    Damage unknown;
    (void)TRY(read_objects(unknown));
    const std::string keep_sum =
        "UPDATE state SET sum = " + std::to_string(static_cast<std::int64_t>(unknown.sum)) + "; COMMIT;";
    return run(keep_sum.c_str());
  }

  Status advance(Revision revision, std::uint64_t sum) {
    sqlite3_bind_int64(advance_.get(), 1, static_cast<sqlite3_int64>(revision));
    sqlite3_bind_int64(advance_.get(), 2, static_cast<sqlite3_int64>(sum));
    return step(advance_);
  }

  Status remove(const Object& object) {
    sqlite3_bind_int64(remove_.get(), 1, static_cast<sqlite3_int64>(object.created));
    return step(remove_);
  }

  void bind_version(const Object& object, std::uint64_t hash) {
    sqlite3_stmt* put = put_.get();
    sqlite3_bind_int64(put, 1, static_cast<sqlite3_int64>(object.created));
    sqlite3_bind_int64(put, 2, static_cast<sqlite3_int64>(object.revision));
    bind_text(put, 3, object.key.resource);
    bind_text(put, 4, object.key.ns);
    bind_text(put, 5, object.key.name);
    bind_text(put, 6, object.uid);
    sqlite3_bind_blob64(put, 7, object.bytes.data(), object.bytes.size(), SQLITE_STATIC);
    sqlite3_bind_int64(put, 8, static_cast<sqlite3_int64>(hash));
  }

  Status run(const char* statements) {
    if (sqlite3_exec(connection_.get(), statements, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
    return failure("cannot prepare the store");
  }

  Result<Statement> prepared(const char* text) {
    sqlite3_stmt* statement = nullptr;
    const int code =
        sqlite3_prepare_v3(connection_.get(), text, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (code != SQLITE_OK) return failure("cannot prepare the store");
    return Statement(statement);
  }

  Status step(const Statement& statement) {
    const int code = sqlite3_step(statement.get());
    if (code != SQLITE_DONE) {
      Error error = failure("cannot write to the store");
      sqlite3_reset(statement.get());
      return error;
    }
    sqlite3_reset(statement.get());
    return {};
  }

  Result<std::int64_t> number(const char* query) {
    const Statement statement = TRY(prepared(query));
    if (sqlite3_step(statement.get()) != SQLITE_ROW) return failure("cannot read the store");
    return static_cast<std::int64_t>(sqlite3_column_int64(statement.get(), 0));
  }

  Error failure(const char* sentence) const {
    const int code = sqlite3_errcode(connection_.get()) & 0xff;
    if (code == SQLITE_BUSY)
      return Error(ErrorCode::Unavailable, std::filesystem::path(path_).parent_path().string(),
                   "is in use by another process; stop that one or choose another directory");
    const Error error(ErrorCode::Internal, path_,
                      std::string(sentence) + " (" + sqlite3_errmsg(connection_.get()) + ")");
    return vfs_.last_failure() == nullptr ? error : error.because_of(*vfs_.last_failure());
  }

  const std::size_t log_pages_max_;
  const bool accept_loss_;
  Disk& disk_;
  std::string path_;
  Vfs vfs_;
  Connection connection_;
  Statement put_, remove_, advance_, begin_, commit_;  // after the connection: finalized before it closes
  bool empty_ = false;
  bool old_ = false;  // of an earlier schema
  bool started_ = false;
  bool together_ = false;  // between begin_together() and its end
  std::optional<CommitMark> mark_;
  Revision newest_ = 0;    // committed
  std::uint64_t sum_ = 0;  // of everything up to it
  std::size_t log_pages_ = 0;
};

}  // namespace

std::string database_of(const std::string& directory) {
  return (std::filesystem::path(directory) / kFileName).string();
}
std::string log_of(const std::string& database) {
  return database + "-wal";
}
std::string mark_of(const std::string& database) {
  return database + ".mark";
}
std::string backup_lock_of(const std::string& database) {
  return database + ".backup";
}

Result<std::unique_ptr<SqliteLog>> SqliteLog::open(const std::string& database, Disk& disk,
                                                   std::size_t log_bytes_max, bool accept_loss) {
  auto opened = std::make_unique<SqliteLogFile>(database, disk, log_bytes_max, accept_loss);
  TRY(opened->start());
  return std::unique_ptr<SqliteLog>(std::move(opened));
}

}  // namespace berth::store
