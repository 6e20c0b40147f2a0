#include "store/simulated_disk.h"

#include <algorithm>
#include <cstring>

namespace berth::store {
namespace {

constexpr std::size_t kSectorBytes = 512;  // a disk writes a sector whole or not at all

}  // namespace

class SimulatedFile final : public DiskFile {
 public:
  SimulatedFile(SimulatedDisk& disk, std::shared_ptr<SimulatedDisk::Content> content)
      : disk_(disk), content_(std::move(content)), power_cycle_(disk.power_cycle_) {}

  ~SimulatedFile() override {
    std::lock_guard lock(disk_.mutex_);
    if (holds_lock_ && power_cycle_ == disk_.power_cycle_) content_->locked = false;
  }

  Result<std::size_t> read(std::uint64_t offset, std::span<char> into) override {
    std::lock_guard lock(disk_.mutex_);
    TRY(disk_.pass(SimulatedDisk::Operation::Query, power_cycle_));
    const std::string& bytes = content_->now;
    if (offset >= bytes.size()) return std::size_t{0};
    const std::size_t count = std::min(into.size(), bytes.size() - static_cast<std::size_t>(offset));
    std::memcpy(into.data(), bytes.data() + offset, count);
    return count;
  }

  Status write(std::uint64_t offset, std::span<const char> bytes) override {
    return change({.offset = offset, .bytes = std::string(bytes.data(), bytes.size())});
  }

  Status truncate(std::uint64_t size) override { return change({.truncated_to = size}); }

  Status sync() override {
    std::lock_guard lock(disk_.mutex_);
    TRY(disk_.pass(SimulatedDisk::Operation::Change, power_cycle_));
    if (disk_.syncs_ == SimulatedDisk::Syncs::Ignored) return {};
    for (const SimulatedDisk::Change& change : content_->changes)
      SimulatedDisk::apply(change, content_->synced);
    content_->changes.clear();
    return {};
  }

  Result<std::uint64_t> size() override {
    std::lock_guard lock(disk_.mutex_);
    TRY(disk_.pass(SimulatedDisk::Operation::Query, power_cycle_));
    return static_cast<std::uint64_t>(content_->now.size());
  }

  Status lock() override {
    std::lock_guard lock(disk_.mutex_);
    TRY(disk_.pass(SimulatedDisk::Operation::Query, power_cycle_));
    if (content_->locked && !holds_lock_) return Error(ErrorCode::Conflict, "is in use by another process");
    content_->locked = holds_lock_ = true;
    return {};
  }

 private:
  Status change(SimulatedDisk::Change change) {
    std::lock_guard lock(disk_.mutex_);
    TRY(disk_.pass(SimulatedDisk::Operation::Change, power_cycle_));
    if (disk_.full_ && change.offset + change.bytes.size() > content_->now.size())
      return Error(ErrorCode::TooLarge, "no room is left on the disk");
    SimulatedDisk::apply(change, content_->now);
    content_->changes.push_back(std::move(change));
    return {};
  }

  SimulatedDisk& disk_;
  std::shared_ptr<SimulatedDisk::Content> content_;
  std::uint64_t power_cycle_;
  bool holds_lock_ = false;
};

void SimulatedDisk::apply(const Change& change, std::string& bytes) {
  if (change.truncated_to) {
    bytes.resize(static_cast<std::size_t>(*change.truncated_to), '\0');
    return;
  }
  const std::size_t end = static_cast<std::size_t>(change.offset) + change.bytes.size();
  if (bytes.size() < end) bytes.resize(end, '\0');
  std::memcpy(bytes.data() + change.offset, change.bytes.data(), change.bytes.size());
}

void SimulatedDisk::survive(Content& content) {
  enum Fate { Whole, Lost, Torn, kFates };
  for (const Change& change : content.changes) {
    const std::uint64_t fate = random_.below(kFates);
    if (fate == Lost) continue;
    if (fate == Whole || change.truncated_to) {
      apply(change, content.synced);
      continue;
    }
    for (std::size_t begin = 0; begin < change.bytes.size();) {
      const std::size_t in_sector = (static_cast<std::size_t>(change.offset) + begin) % kSectorBytes;
      const std::size_t count = std::min(kSectorBytes - in_sector, change.bytes.size() - begin);
      if (random_.below(2) == 0)
        apply({.offset = change.offset + begin, .bytes = change.bytes.substr(begin, count)}, content.synced);
      begin += count;
    }
  }
  content.changes.clear();
  content.now = content.synced;
  content.locked = false;
}

Status SimulatedDisk::pass(Operation operation, std::uint64_t power_cycle) {
  if (operation == Operation::Change && changes_until_cut_ > 0 && --changes_until_cut_ == 0) powered_ = false;
  if (!powered_ || power_cycle != power_cycle_) return Error(ErrorCode::Internal, "the disk has no power");
  if (operations_until_failure_ > 0 && --operations_until_failure_ == 0)
    return Error(ErrorCode::Internal, "the disk failed on request");
  return {};
}

void SimulatedDisk::cut_power_before_change(std::uint64_t count) {
  std::lock_guard lock(mutex_);
  changes_until_cut_ = count;
}

void SimulatedDisk::power_on() {
  std::lock_guard lock(mutex_);
  ++power_cycle_;
  powered_ = true;
  changes_until_cut_ = 0;
  operations_until_failure_ = 0;
  for (auto& [path, content] : files_) survive(*content);
}

void SimulatedDisk::fail_operation(std::uint64_t count) {
  std::lock_guard lock(mutex_);
  operations_until_failure_ = count;
}

void SimulatedDisk::fill(bool full) {
  std::lock_guard lock(mutex_);
  full_ = full;
}

bool SimulatedDisk::fault_pending() const {
  std::lock_guard lock(mutex_);
  return changes_until_cut_ > 0 || operations_until_failure_ > 0;
}

Status SimulatedDisk::make_directory(const std::string&) {
  std::lock_guard lock(mutex_);
  return pass(Operation::Query, power_cycle_);
}

Result<std::unique_ptr<DiskFile>> SimulatedDisk::open(const std::string& path, Opening opening) {
  std::lock_guard lock(mutex_);
  auto found = files_.find(path);
  TRY(pass(found == files_.end() ? Operation::Change : Operation::Query, power_cycle_));
  if (found == files_.end()) {
    if (opening == Opening::Existing) return Error(ErrorCode::NotFound, path, "does not exist");
    found = files_.emplace(path, std::make_shared<Content>()).first;
  }
  return std::unique_ptr<DiskFile>(std::make_unique<SimulatedFile>(*this, found->second));
}

Status SimulatedDisk::remove(const std::string& path) {
  std::lock_guard lock(mutex_);
  TRY(pass(Operation::Change, power_cycle_));
  if (files_.erase(path) == 0) return Error(ErrorCode::NotFound, path, "does not exist");
  return {};
}

Result<bool> SimulatedDisk::exists(const std::string& path) {
  std::lock_guard lock(mutex_);
  TRY(pass(Operation::Query, power_cycle_));
  return files_.contains(path);
}

Status SimulatedDisk::rename(const std::string& from, const std::string& to) {
  std::lock_guard lock(mutex_);
  TRY(pass(Operation::Change, power_cycle_));
  auto moved = files_.extract(from);
  if (moved.empty()) return Error(ErrorCode::NotFound, from, "does not exist");
  files_.insert_or_assign(to, std::move(moved.mapped()));
  return {};
}

}  // namespace berth::store
