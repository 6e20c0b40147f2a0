// The seam to the file system, with the operations that the store's database needs.
//
// The machine's disk and the simulated one (simulated_disk.h) implement it; the database reaches either only
// through vfs.h. Each file of a Disk may be used from one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace berth::store {

// An open file. The destructor closes it and releases its lock.
class DiskFile {
 public:
  virtual ~DiskFile() = default;
  // Fills `into` from `offset` on and returns the number of bytes; fewer than requested only at the end of
  // the file.
  virtual Result<std::size_t> read(std::uint64_t offset, std::span<char> into) = 0;
  // Writes all of `bytes`, growing the file when needed. Lost at a power cut unless synced; bytes outside the
  // written range are never harmed. TooLarge: the disk has no room.
  virtual Status write(std::uint64_t offset, std::span<const char> bytes) = 0;
  virtual Status truncate(std::uint64_t size) = 0;
  // Returns when everything written to this file is durable.
  virtual Status sync() = 0;
  virtual Result<std::uint64_t> size() = 0;
  // Takes the exclusive lock. Conflict when another opener holds it, in this process or any other.
  virtual Status lock() = 0;
};

class Disk {
 public:
  enum class Opening { Existing, OrCreate };

  virtual ~Disk() = default;
  // Creates the directory and its parents where absent, readable by its owner only.
  virtual Status make_directory(const std::string& path) = 0;
  // A created file (still empty) is durable when this returns. NotFound when absent.
  virtual Result<std::unique_ptr<DiskFile>> open(const std::string& path, Opening opening) = 0;
  // Durable when it returns. NotFound when absent.
  virtual Status remove(const std::string& path) = 0;
  virtual Result<bool> exists(const std::string& path) = 0;
  // Replaces `to` in one step, which is durable when this returns; the contents are as durable as they were.
  // NotFound when `from` is absent.
  virtual Status rename(const std::string& from, const std::string& to) = 0;
};

// The real disk. Thread-safe; static lifetime.
Disk& machine_disk();

}  // namespace berth::store
