// Sets of completion indexes, as Job writes them: "0-3,5,7".
//
// Pure; any thread. Cost of every call: O(ranges). Bounded by the Job's completions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth::workloads {

class IndexRanges {
 public:
  // Text beyond `end` and text that is no list is left out.
  static IndexRanges parse(std::string_view text, std::int64_t end);

  void add(std::int64_t index);
  bool has(std::int64_t index) const;
  std::int64_t count() const;
  std::string text() const;

 private:
  struct Range {
    std::int64_t first, last;
  };
  std::vector<Range> ranges_;  // ascending, apart from each other
};

}  // namespace berth::workloads
