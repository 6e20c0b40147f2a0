#include "store/commit_mark.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <utility>

#include "base/fnv.h"

namespace berth::store {
namespace {

constexpr std::string_view kMarkOpen = "open\n";
constexpr std::string_view kMarkShut = "shut\n";
// In sectors of their own: a write that a power cut tears harms one of them alone.
constexpr std::size_t kMarkSectorBytes = 512;
constexpr std::array<std::size_t, 2> kRecordsAt = {kMarkSectorBytes, 2 * kMarkSectorBytes};
constexpr std::size_t kMarkBytes = 3 * kMarkSectorBytes;
constexpr std::size_t kRevisionDigits = 20;

// "00000000000000000017 0123456789abcdef\n": the revision and a hash of its digits.
std::string record_of(Revision revision) {
  char digits[kRevisionDigits + 1];
  std::snprintf(digits, sizeof digits, "%020llu", static_cast<unsigned long long>(revision));
  char hash[20];
  std::snprintf(hash, sizeof hash, " %016llx\n",
                static_cast<unsigned long long>(fnv1a(std::string_view(digits, kRevisionDigits))));
  return std::string(digits) + hash;
}

// 0 for what is no record.
Revision revision_in(std::string_view record) {
  Revision revision = 0;
  const char* end = record.data() + std::min(record.size(), kRevisionDigits);
  const auto [stop, error] = std::from_chars(record.data(), end, revision);
  if (error != std::errc() || stop != end) return 0;
  return record.starts_with(record_of(revision)) ? revision : 0;
}

}  // namespace

Result<CommitMark> CommitMark::read(std::string path, Disk& disk) {
  CommitMark mark(std::move(path), disk);
  if (!TRY(disk.exists(mark.path_))) return mark;
  const std::unique_ptr<DiskFile> file = TRY(disk.open(mark.path_, Disk::Opening::Existing));
  std::string text(kMarkBytes, '\0');
  text.resize(TRY(file->read(0, text)));
  if (text.starts_with(kMarkOpen)) mark.state_ = State::Open;
  if (text.starts_with(kMarkShut)) mark.state_ = State::Shut;
  mark.read_records(text);
  return mark;
}

void CommitMark::read_records(std::string_view text) {
  std::array<Revision, kRecordsAt.size()> found = {};
  for (std::size_t i = 0; i < found.size(); ++i)
    if (kRecordsAt[i] < text.size()) found[i] = revision_in(text.substr(kRecordsAt[i]));
  next_record_ = found[0] <= found[1] ? 0 : 1;
  acknowledged_ = std::max(found[0], found[1]);
}

Status CommitMark::set_state(State state) {
  if (!file_) {
    file_ = TRY(disk_->open(path_, Disk::Opening::OrCreate));
    const std::uint64_t bytes = TRY(file_->size());
    if (bytes < kMarkBytes) TRY(file_->write(bytes, std::string(kMarkBytes - bytes, '\0')));
  }
  TRY(file_->write(0, state == State::Open ? kMarkOpen : kMarkShut));
  TRY(file_->sync());
  state_ = state;
  if (std::exchange(behind_, false)) next_record_ = 1 - next_record_;
  return {};
}

Status CommitMark::note(Revision revision) {
  if (!file_ || revision <= acknowledged_) return {};
  TRY(file_->write(kRecordsAt[next_record_], record_of(revision)));
  acknowledged_ = revision;
  behind_ = true;
  return {};
}

Status CommitMark::sync() {
  if (!behind_) return {};
  TRY(file_->sync());
  behind_ = false;
  next_record_ = 1 - next_record_;
  return {};
}

}  // namespace berth::store
