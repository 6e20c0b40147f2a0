// The durable record of the store: every current object, the newest revision and a checksum of the whole
// (object_hash.h) that each commit replaces, in one SQLite database.
//
// An object is one row with the revision of its create as key, so that creates append and no other index is
// needed. One thread at a time. After a failed commit the log must not be used again: it is then unknown what
// is durable.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/disk.h"
#include "store/store.h"

namespace berth::store {

// The database of a data directory.
std::string database_of(const std::string& directory);
// The write-ahead log of a database.
std::string log_of(const std::string& database);
// The file next to a database that says whether there is one, and whether its log is a part of it.
std::string mark_of(const std::string& database);
// The file whose lock a backup of the database holds while it copies: checkpoints wait, within a bound.
std::string backup_lock_of(const std::string& database);

class SqliteLog {
 public:
  struct Contents {
    std::vector<ObjectPtr> objects;  // by created
    Revision revision = 0;
  };

  virtual ~SqliteLog() = default;

  // Opens or makes the file `database`, in a directory that exists, and keeps it locked. Refuses one that
  // another opener holds (Unavailable), and a newer schema or a foreign file (Unsupported). Unless
  // `accept_loss` it refuses one that has lost commits (Gone). Then its database or log is missing, the log
  // is damaged before its end, or both end before the newest acknowledged commit (commit_mark.h). If loss is
  // accepted, the revisions continue after the lost ones. An older schema is upgraded.
  static Result<std::unique_ptr<SqliteLog>> open(const std::string& database, Disk& disk,
                                                 std::size_t log_bytes_max, bool accept_loss);

  // Everything that is stored. Gone, unless loss is accepted: an object is not what was written, or the
  // checksum of the newest commit is not that of the contents. Accepted, objects that are damaged are
  // removed.
  virtual Result<Contents> load() = 0;
  // The newest durable revision.
  virtual Result<Revision> revision() = 0;
  // Returns once the events and the revision would survive a power cut; all of them or none. `events` are
  // those of one commit, in order. Cost: a few microseconds an event and one sync.
  virtual Status commit(std::span<const WatchEventPtr> events, Revision revision) = 0;

  // The write-ahead log has grown: call checkpoint() when nothing else waits.
  virtual bool checkpoint_useful() const = 0;
  // The log has reached `log_bytes_max`: checkpoint() must not wait for an idle moment.
  virtual bool checkpoint_due() const = 0;
  // Moves the write-ahead log into the database. Cost: three syncs and a copy of the log.
  virtual Status checkpoint() = 0;

  // A power cut may leave an earlier revision than the newest as the acknowledged one: call sync_mark() when
  // nothing else waits.
  virtual bool mark_is_behind() const = 0;
  virtual Status sync_mark() = 0;

  // What is committed from now on is durable with end_together(), all of it or none.
  virtual Status begin_together() = 0;
  virtual Status end_together() = 0;
};

}  // namespace berth::store
