// The durable record of the store: every current object and the newest revision, in one SQLite database.
//
// An object is one row, found by the revision of its create, so that creates append and nothing else needs an
// index. One thread at a time. After a failed commit the journal must not be used again: what is durable is
// then unknown.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/disk.h"
#include "store/store.h"

namespace berth::store {

class SqliteLog {
 public:
  struct Contents {
    std::vector<ObjectPtr> objects;  // by created
    Revision revision = 0;
  };

  virtual ~SqliteLog() = default;

  // Opens or makes the database in `directory` and keeps it locked. Refuses one that another opener holds
  // (Unavailable), a newer schema and a foreign file (Unsupported), and unless `accept_loss` one that has
  // lost commits (Gone): its database or log is missing, or the log is damaged before its end.
  static Result<std::unique_ptr<SqliteLog>> open(const std::string& directory, Disk& disk,
                                                 std::size_t log_bytes_max, bool accept_loss);

  virtual Result<Contents> load() = 0;
  // The newest durable revision.
  virtual Result<Revision> revision() = 0;
  // Returns once the events and the revision would survive a power cut; all of them or none. `events` are
  // those of one commit, in order. Cost: a few microseconds an event and one sync.
  virtual Status commit(std::span<const EventPtr> events, Revision revision) = 0;

  // The write-ahead log has grown: checkpoint() when nothing else waits.
  virtual bool checkpoint_useful() const = 0;
  // It has reached `log_bytes_max`: checkpoint() must not wait for quiet.
  virtual bool checkpoint_due() const = 0;
  // Moves the write-ahead log into the database. Cost: two syncs and a copy of the log.
  virtual Status checkpoint() = 0;
};

}  // namespace berth::store
