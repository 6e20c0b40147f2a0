#include "store/sqlite_log.h"

#include <sqlite3.h>

#include <filesystem>

#include "base/log.h"
#include "store/vfs.h"
#include "store/wal_check.h"

namespace berth::store {
namespace {

constexpr int kSchema = 1;
constexpr int kApplicationId = 0x42727468;  // "Brth"
constexpr const char* kFileName = "berth.db";
// Beside the database and outside of it: whether there is one, and whether its log is a part of it.
constexpr const char* kMarkSuffix = ".mark";
constexpr std::string_view kMarkOpen = "open\n";
constexpr std::string_view kMarkShut = "shut\n";
constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kUsefulShare = 8;  // tidying pays, when quiet, from this part of the log's bound on

// Exclusive locking comes first: it keeps the WAL index off shared memory. Tidying is ours (checkpoint()).
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
    " ns TEXT NOT NULL, name TEXT NOT NULL, uid TEXT NOT NULL, bytes BLOB NOT NULL);"
    "CREATE TABLE state (id INTEGER PRIMARY KEY CHECK (id = 0), revision INTEGER NOT NULL);"
    "INSERT INTO state VALUES (0, 0);"
    "PRAGMA application_id = 1114797160;"
    "PRAGMA user_version = 1;"
    "COMMIT;";
static_assert(kApplicationId == 1114797160 && kSchema == 1, "the statement above spells both out");

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
  SqliteLogFile(std::string directory, Disk& disk, std::size_t log_bytes_max, bool accept_loss)
      : log_pages_max_(log_bytes_max / kPageBytes),
        accept_loss_(accept_loss),
        disk_(disk),
        directory_(std::move(directory)),
        path_((std::filesystem::path(directory_) / kFileName).string()),
        vfs_(disk) {}

  // The log stays as a file, so that one that is missing was taken away; emptied, it is not missed either.
  ~SqliteLogFile() override {
    if (started_ && checkpoint_all().ok()) (void)write_mark(kMarkShut);
  }

  Status start() {
    const std::string mark = TRY(read_mark());
    TRY(check_files(mark));
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
    TRY(run(kDatabaseSetup));
    if (empty_) TRY(run(kMakeTables));
    put_ = TRY(prepared("INSERT OR REPLACE INTO objects VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"));
    remove_ = TRY(prepared("DELETE FROM objects WHERE created = ?1"));
    advance_ = TRY(prepared("UPDATE state SET revision = ?1 WHERE id = 0"));
    begin_ = TRY(prepared("BEGIN IMMEDIATE"));
    commit_ = TRY(prepared("COMMIT"));
    sqlite3_wal_hook(connection_.get(), &SqliteLogFile::note_log_pages, this);
    // What a power cut left behind the last commit goes, so that a log never holds rests of several. A disk
    // without room leaves it as it is.
    if (Status emptied = checkpoint_all(); !emptied && !is_full()) return emptied;
    if (mark != kMarkOpen)
      if (Status marked = write_mark(kMarkOpen); !marked && marked.error().code() != ErrorCode::TooLarge)
        return marked;
    started_ = true;
    return {};
  }

  Result<Contents> load() override {
    Contents contents;
    contents.revision = TRY(revision());
    const Statement rows = TRY(
        prepared("SELECT created, revision, resource, ns, name, uid, bytes FROM objects ORDER BY created"));
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
      if (object->revision > contents.revision || object->created > object->revision)
        return Error(ErrorCode::Internal, path_, "is damaged: an object is newer than the store's revision");
      contents.objects.push_back(std::move(object));
    }
    if (code != SQLITE_DONE) return failure("cannot read the objects");
    return contents;
  }

  Result<Revision> revision() override {
    return static_cast<Revision>(TRY(number("SELECT revision FROM state WHERE id = 0")));
  }

  Status commit(std::span<const EventPtr> events, Revision revision) override {
    TRY(step(begin_));
    for (const EventPtr& event : events) {
      const Object& object = *event->object;
      Statement& statement = event->kind == Event::Kind::Deleted ? remove_ : put_;
      sqlite3_bind_int64(statement.get(), 1, static_cast<sqlite3_int64>(object.created));
      if (event->kind != Event::Kind::Deleted) bind_version(object);
      TRY(step(statement));
    }
    sqlite3_bind_int64(advance_.get(), 1, static_cast<sqlite3_int64>(revision));
    TRY(step(advance_));
    return step(commit_);
  }

  bool checkpoint_useful() const override { return log_pages_ >= log_pages_max_ / kUsefulShare; }
  bool checkpoint_due() const override { return log_pages_ >= log_pages_max_; }

  Status checkpoint() override {
    const int code =
        sqlite3_wal_checkpoint_v2(connection_.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
    if (code != SQLITE_OK) return failure("cannot tidy the write-ahead log");
    log_pages_ = 0;
    return {};
  }

 private:
  static int note_log_pages(void* self, sqlite3*, const char*, int pages) {
    static_cast<SqliteLogFile*>(self)->log_pages_ = static_cast<std::size_t>(pages);
    return SQLITE_OK;
  }

  std::string mark_path() const { return path_ + kMarkSuffix; }

  Result<std::string> read_mark() {
    if (!TRY(disk_.exists(mark_path()))) return std::string();
    const std::unique_ptr<DiskFile> file = TRY(disk_.open(mark_path(), Disk::Opening::Existing));
    std::string text(kMarkOpen.size(), '\0');
    text.resize(TRY(file->read(0, text)));
    return text;
  }

  Status write_mark(std::string_view text) {
    const std::unique_ptr<DiskFile> file = TRY(disk_.open(mark_path(), Disk::Opening::OrCreate));
    TRY(file->write(0, text));
    return file->sync();
  }

  Status lost(const std::string& sentence) const {
    if (!accept_loss_)
      return Error(ErrorCode::Gone, path_,
                   sentence + "; put the file back, or go on with what is left: --accept-data-loss");
    log(LogLevel::Warning, "data is lost, which was accepted", {{"file", path_}, {"what", sentence}});
    return {};
  }

  // Before anything is opened, which would make what is missing.
  Status check_files(const std::string& mark) {
    if (mark.empty()) return {};
    if (!TRY(disk_.exists(path_)))
      return lost("the database is missing: every object that was stored here is lost");
    const std::unique_ptr<DiskFile> file = TRY(disk_.open(path_, Disk::Opening::Existing));
    if (TRY(file->size()) == 0)
      return lost("the database is empty: every object that was stored here is lost");
    if (mark != kMarkOpen || TRY(disk_.exists(path_ + "-wal"))) return {};
    return lost("the write-ahead log is missing: the newest writes are lost");
  }

  // Behind the first read, which took the lock.
  Status check_log() {
    if (!TRY(disk_.exists(path_ + "-wal"))) return {};
    const std::unique_ptr<DiskFile> file = TRY(disk_.open(path_ + "-wal", Disk::Opening::Existing));
    const WalReport report = TRY(inspect_wal(*file));
    if (!report.damaged) return {};
    return lost("the write-ahead log is damaged: " + std::to_string(report.commits) +
                " commits can be read, the writes in the " +
                std::to_string(report.bytes - report.whole_bytes) + " bytes behind them are lost");
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
    return {};
  }

  void bind_version(const Object& object) {
    sqlite3_stmt* put = put_.get();
    sqlite3_bind_int64(put, 2, static_cast<sqlite3_int64>(object.revision));
    bind_text(put, 3, object.key.resource);
    bind_text(put, 4, object.key.ns);
    bind_text(put, 5, object.key.name);
    bind_text(put, 6, object.uid);
    sqlite3_bind_blob64(put, 7, object.bytes.data(), object.bytes.size(), SQLITE_STATIC);
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
      return Error(ErrorCode::Unavailable, directory_,
                   "is in use by another process; stop that one or choose another directory");
    const Error error(ErrorCode::Internal, path_,
                      std::string(sentence) + " (" + sqlite3_errmsg(connection_.get()) + ")");
    return vfs_.last_failure() == nullptr ? error : error.because_of(*vfs_.last_failure());
  }

  const std::size_t log_pages_max_;
  const bool accept_loss_;
  Disk& disk_;
  std::string directory_;
  std::string path_;
  Vfs vfs_;
  Connection connection_;
  Statement put_, remove_, advance_, begin_, commit_;  // behind the connection: finished before it closes
  bool empty_ = false;
  bool started_ = false;
  std::size_t log_pages_ = 0;
};

}  // namespace

Result<std::unique_ptr<SqliteLog>> SqliteLog::open(const std::string& directory, Disk& disk,
                                                   std::size_t log_bytes_max, bool accept_loss) {
  TRY(disk.make_directory(directory));
  auto opened = std::make_unique<SqliteLogFile>(directory, disk, log_bytes_max, accept_loss);
  TRY(opened->start());
  return std::unique_ptr<SqliteLog>(std::move(opened));
}

}  // namespace berth::store
