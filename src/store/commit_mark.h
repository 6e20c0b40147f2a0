// The file next to a database. It says whether there is a database, whether its log is a part of it, and up
// to which revision commits were acknowledged. It shows what database and log have lost.
//
// A revision is written after its commit is durable and before anybody hears of it. That write is not synced:
// it survives the end of the process. After a power cut the file may have an earlier revision, never a later
// one than the durable commits. Two records take turns: the one that was synced stays until the other one is.
// Owner: SqliteLog, one thread. Cost of a revision: one write of 48 bytes.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/disk.h"
#include "store/store.h"

namespace berth::store {

class CommitMark {
 public:
  // None: there is no mark, so nothing is expected. Open: the log is a part of the database. Shut: it holds
  // nothing.
  enum class State { None, Open, Shut };

  // Reads the file; it need not exist. What is no record counts for nothing.
  static Result<CommitMark> read(std::string path, Disk& disk);

  State state() const { return state_; }
  // Every revision up to here was acknowledged.
  Revision acknowledged() const { return acknowledged_; }

  // Durable when it returns; makes the file. TooLarge: the disk has no room for it.
  Status set_state(State state);
  // Commits up to `revision` are durable. Nothing happens to a lower one, or while there is no file.
  Status note(Revision revision);
  // Whether the newest revision would not survive a power cut.
  bool is_behind() const { return behind_; }
  Status sync();

 private:
  CommitMark(std::string path, Disk& disk) : path_(std::move(path)), disk_(&disk) {}
  void read_records(std::string_view text);

  std::string path_;
  Disk* disk_;
  std::unique_ptr<DiskFile> file_;  // null: not opened for writing yet
  State state_ = State::None;
  Revision acknowledged_ = 0;
  std::size_t next_record_ = 0;  // the other one is synced
  bool behind_ = false;
};

}  // namespace berth::store
