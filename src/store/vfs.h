// SQLite on a Disk: a registered sqlite3_vfs that forwards every file operation to that Disk.
//
// For one connection at a time in exclusive locking mode: the WAL index is on SQLite's heap, so no shared
// memory is offered. Contiguous writes of a file are buffered and reach the Disk as one, before any other
// operation on that file can see or sync them. This requires synchronous=FULL: without its sync at each
// commit, a commit could end with buffered writes.
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

  // The name for sqlite3_open_v2. Unique in the process.
  const char* name() const;
  // The error of the latest failed operation; null without one.
  const Error* last_failure() const;

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace berth::store
