// What SQLite's write-ahead log holds, read without SQLite: whether commits lie behind a damage.
//
// SQLite takes a log up to the first frame whose checksum is wrong, and says nothing of the rest. The rest of
// the last commit, which nobody was informed of, is what a power cut leaves; more than that is a loss.
// Pure but for reading. Cost: linear in the log. Source: sqlite.org/fileformat2.html#walformat.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "store/disk.h"

namespace berth::store {

struct WalReport {
  std::size_t commits = 0;        // whole, from the start
  bool damaged = false;           // commits lie behind what is not whole
  std::uint64_t whole_bytes = 0;  // up to the end of the last whole commit
  std::uint64_t bytes = 0;
};

Result<WalReport> inspect_wal(DiskFile& file);

}  // namespace berth::store
