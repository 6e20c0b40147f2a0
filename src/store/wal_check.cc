#include "store/wal_check.h"

#include <set>
#include <string>

namespace berth::store {
namespace {

constexpr std::uint32_t kWalMagic = 0x377f0682;  // the lowest bit: checksums of big-endian words
constexpr std::size_t kWalHeaderBytes = 32;
constexpr std::size_t kSummedHeaderBytes = 24;
constexpr std::size_t kFrameHeaderBytes = 24;
constexpr std::size_t kSummedFrameHeaderBytes = 8;
constexpr std::uint32_t kWalPageBytesMax = 65536;

std::uint32_t big_endian(const char* at) {
  std::uint32_t word = 0;
  for (int i = 0; i < 4; ++i) word = word << 8 | static_cast<unsigned char>(at[i]);
  return word;
}

std::uint32_t little_endian(const char* at) {
  std::uint32_t word = 0;
  for (int i = 3; i >= 0; --i) word = word << 8 | static_cast<unsigned char>(at[i]);
  return word;
}

struct WalSum {
  bool of_big_endian = false;
  std::uint32_t first = 0;
  std::uint32_t second = 0;

  void add(std::string_view bytes) {
    const auto word = of_big_endian ? big_endian : little_endian;
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      first += word(bytes.data() + at) + second;
      second += word(bytes.data() + at + 4) + first;
    }
  }
  bool is_at(const char* at) const { return big_endian(at) == first && big_endian(at + 4) == second; }
};

// What follows the last whole commit.
struct WalTail {
  std::set<std::uint32_t> pages;
  bool ended = false;    // by the frame that ends a commit
  bool several = false;  // frames of more than one commit: one writes a page once, and ends with its end

  void add(std::uint32_t page, bool ends_commit) {
    several |= ended || !pages.insert(page).second;
    ended |= ends_commit;
  }
};

}  // namespace

Result<WalReport> inspect_wal(DiskFile& file) {
  WalReport report;
  report.bytes = TRY(file.size());
  std::string header(kWalHeaderBytes, '\0');
  if (TRY(file.read(0, header)) < kWalHeaderBytes) return report;
  WalSum sum{.of_big_endian = (big_endian(header.data()) & 1) != 0};
  sum.add(std::string_view(header).substr(0, kSummedHeaderBytes));
  const std::uint32_t page_bytes = big_endian(header.data() + 8);
  const bool readable = (big_endian(header.data()) & ~1U) == kWalMagic && page_bytes <= kWalPageBytesMax &&
                        sum.is_at(header.data() + kSummedHeaderBytes);
  // The header is synced before any frame is written.
  report.damaged = !readable && report.bytes > kWalHeaderBytes;
  if (!readable) return report;
  const std::string salts = header.substr(16, 8);
  std::string frame(kFrameHeaderBytes + page_bytes, '\0');
  bool whole = true;
  WalTail tail;
  for (std::uint64_t at = kWalHeaderBytes;; at += frame.size()) {
    if (TRY(file.read(at, frame)) < frame.size()) break;
    const bool of_this_log = frame.compare(8, salts.size(), salts) == 0;
    const bool ends_commit = big_endian(frame.data() + 4) != 0;
    sum.add(std::string_view(frame).substr(0, kSummedFrameHeaderBytes));
    sum.add(std::string_view(frame).substr(kFrameHeaderBytes));
    whole = whole && of_this_log && sum.is_at(frame.data() + 16);
    if (of_this_log) tail.add(big_endian(frame.data()), ends_commit);
    if (!whole || !ends_commit) continue;
    ++report.commits;
    report.whole_bytes = at + frame.size();
    tail = {};
  }
  report.damaged = tail.several;
  return report;
}

}  // namespace berth::store
