// A disk in memory that loses unsynced data when its power is cut, and fails on request.
//
// Replaces machine_disk() in the simulator and in tests. Deterministic: the same seed and calls give the same
// damage. Thread-safe. Files opened before a power cut return only errors afterwards.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "store/disk.h"

namespace berth::store {

class SimulatedDisk final : public Disk {
 public:
  // Ignored: the disk lies about syncs, for tests that prove that a loss is detected.
  enum class Syncs { Honoured, Ignored };

  explicit SimulatedDisk(std::uint64_t seed, Syncs syncs = Syncs::Honoured) : random_(seed), syncs_(syncs) {}

  // Cuts the power right before the `count`-th change (write, truncate, sync, create, remove, rename) from
  // now, counted from 1; until power_on() every call fails.
  void cut_power_before_change(std::uint64_t count);
  // Cuts the power if it is still on. Then decides for each unsynced write, in order, how much of it reached
  // the medium: all of it, nothing, or a random subset of its sectors. Clears pending faults and releases all
  // locks.
  void power_on();
  // The `count`-th operation (reads too) from now, counted from 1, fails once and changes nothing.
  void fail_operation(std::uint64_t count);
  // Whether files may not grow: writes that would are TooLarge.
  void fill(bool full);
  // Whether the fault asked for has not happened yet.
  bool fault_pending() const;

  Status make_directory(const std::string& path) override;
  Result<std::unique_ptr<DiskFile>> open(const std::string& path, Opening opening) override;
  Status remove(const std::string& path) override;
  Result<bool> exists(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;

 private:
  friend class SimulatedFile;
  enum class Operation { Query, Change };

  struct Change {
    std::uint64_t offset = 0;
    std::string bytes;
    std::optional<std::uint64_t> truncated_to;  // set: a truncation, not a write
  };
  struct Content {
    std::string now;              // what readers see
    std::string synced;           // what certainly survives
    std::vector<Change> changes;  // since the last sync, in order
    bool locked = false;
  };

  static void apply(const Change& change, std::string& bytes);
  void survive(Content& content);
  // Counts the operation and fails it when a fault is due. Called with the mutex held.
  Status pass(Operation operation, std::uint64_t power_cycle);

  mutable std::mutex mutex_;
  SeededRandom random_;
  Syncs syncs_;
  std::map<std::string, std::shared_ptr<Content>> files_;
  bool powered_ = true;
  bool full_ = false;
  std::uint64_t power_cycle_ = 0;
  std::uint64_t changes_until_cut_ = 0;         // 0: no cut requested
  std::uint64_t operations_until_failure_ = 0;  // 0: no failure requested
};

}  // namespace berth::store
