// Lets SQLite work on a Disk: a registered sqlite3_vfs whose every file operation goes to that Disk.
//
// For one connection at a time in exclusive locking mode: the WAL index lives on SQLite's heap, so no shared
// memory is offered. A file's writes that follow one another are gathered and reach the Disk as one, before
// any other operation on that file can see or sync them. That asks for synchronous=FULL: without its sync at
// each commit, a commit could end while its writes are still gathered.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "store/disk.h"

namespace berth::store {

class Vfs {
 public:
  // `disk` outlives the Vfs; the Vfs outlives its connection.
  explicit Vfs(Disk& disk);
  ~Vfs();
  Vfs(const Vfs&) = delete;
  Vfs& operator=(const Vfs&) = delete;

  // What sqlite3_open_v2 takes. Unique in the process.
  const char* name() const;
  // Why the latest operation that failed did so; null when none has.
  const Error* last_failure() const;

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace berth::store
