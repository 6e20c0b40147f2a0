// The decision log on disk: one JSON line a decision, appended, in the data directory.
//
// Owner: the scheduler's thread, which only adds to a buffer while it decides; flush() writes between
// decisions. A process that dies loses at most the decisions since its last step: these are either not in the
// API, or their objects have their ids.
#pragma once

#include <memory>
#include <string>

#include "cli/line_file.h"
#include "explain/decision_line.h"

namespace berth::cli {

inline constexpr std::size_t kDecisionFileBytesMax = 64u << 20;  // then a new file begins, one old is kept
inline constexpr std::size_t kDecisionBytesRead = 4u << 20;
// The buffer until the end of a step; more is written at once.
inline constexpr std::size_t kDecisionBufferBytesMax = 4u << 20;

class DecisionFile final : public explain::DecisionSink {
 public:
  static Result<std::unique_ptr<DecisionFile>> open(const std::string& directory);

  // The end of an earlier process's log: whole lines, at most kDecisionBytesRead.
  static std::string tail(const std::string& directory);

  void append(std::string_view line) override;
  void flush() override;

 private:
  explicit DecisionFile(std::unique_ptr<LineFile> file) : file_(std::move(file)) {}
  std::unique_ptr<LineFile> file_;
  std::string lines_;
};

}  // namespace berth::cli
