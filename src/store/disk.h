// The seam to the file system, as wide as the store's database needs it.
//
// The machine's disk and the simulated one (simulated_disk.h) are twins behind it; the database reaches
// either only through vfs.h. A Disk may be used from one thread at a time for each file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace berth::store {

// An open file. Closed, and its lock given back, when destroyed.
class DiskFile {
 public:
  virtual ~DiskFile() = default;
  // Fills `into` from `offset` on and answers how much there was; less than asked only at the end of the
  // file.
  virtual Result<std::size_t> read(std::uint64_t offset, std::span<char> into) = 0;
  // Writes all of `bytes`, growing the file when needed. Lost at a power cut unless synced; bytes outside the
  // written range are never harmed. TooLarge: the disk has no room.
  virtual Status write(std::uint64_t offset, std::span<const char> bytes) = 0;
  virtual Status truncate(std::uint64_t size) = 0;
  // Returns once everything written to this file would survive a power cut.
  virtual Status sync() = 0;
  virtual Result<std::uint64_t> size() = 0;
  // Makes this the only opener that holds the lock. Conflict when another one does, in this process or any
  // other.
  virtual Status lock() = 0;
};

class Disk {
 public:
  enum class Opening { Existing, OrCreate };

  virtual ~Disk() = default;
  // Makes the directory and its parents where absent, readable by its owner only.
  virtual Status make_directory(const std::string& path) = 0;
  // A created file survives a power cut (as an empty one) as soon as this returns. NotFound when absent.
  virtual Result<std::unique_ptr<DiskFile>> open(const std::string& path, Opening opening) = 0;
  // Survives a power cut as soon as it returns. NotFound when absent.
  virtual Status remove(const std::string& path) = 0;
  virtual Result<bool> exists(const std::string& path) = 0;
};

// The real one. Thread-safe; lives as long as the process.
Disk& machine_disk();

}  // namespace berth::store
