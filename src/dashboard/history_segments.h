// Named pieces of the history, in memory or as files of one folder.
//
// Owner: one History, which locks. Names are in order. Files are readable by their owner alone: they name
// users' pods.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace berth::dashboard {

inline constexpr std::size_t kSegmentTextBytesMax = 64u << 20;  // of lines; the recorder's are far shorter

class SegmentStore {
 public:
  virtual ~SegmentStore() = default;
  virtual bool is_on_disk() const = 0;
  virtual std::vector<std::string> names() const = 0;
  // Refuses a file of more than kSegmentTextBytesMax.
  virtual Result<std::string> read(const std::string& name) const = 0;
  struct Beginning {
    std::string bytes;
    std::size_t size = 0;  // of the whole segment
  };
  // Its first bytes, at most `bytes_max`.
  virtual Result<Beginning> read_beginning(const std::string& name, std::size_t bytes_max) const = 0;
  // Replaces it as a whole: a process that dies before the end leaves the old one.
  virtual Status write(const std::string& name, std::string_view bytes) = 0;
  virtual Status append(const std::string& name, std::string_view bytes) = 0;
  virtual void remove(const std::string& name) = 0;
};

std::unique_ptr<SegmentStore> segments_in_memory();
// Makes the folder, and removes what a process left there that died while it wrote. Refuses one that cannot
// be made or read.
Result<std::unique_ptr<SegmentStore>> segments_in_folder(const std::string& folder);

}  // namespace berth::dashboard
