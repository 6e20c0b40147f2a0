#include "cli/decision_file.h"

#include <cstdio>

namespace berth::cli {
namespace {

constexpr const char* kFileName = "/decisions.jsonl";

}  // namespace

Result<std::unique_ptr<DecisionFile>> DecisionFile::open(const std::string& directory) {
  std::unique_ptr<LineFile> file =
      TRY(LineFile::open(directory + kFileName, "decision log", kDecisionFileBytesMax));
  return std::unique_ptr<DecisionFile>(new DecisionFile(std::move(file)));
}

std::string DecisionFile::tail(const std::string& directory) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      std::fopen((directory + kFileName).c_str(), "rbe"), std::fclose);
  if (!file) return {};
  const bool cut = std::fseek(file.get(), -static_cast<long>(kDecisionBytesRead), SEEK_END) == 0;
  if (!cut) std::rewind(file.get());
  std::string text(kDecisionBytesRead, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (cut) text.erase(0, text.find('\n') + 1);
  return text;
}

void DecisionFile::append(std::string_view line) {
  lines_ += line;
  if (lines_.size() >= kDecisionBufferBytesMax) flush();
}

void DecisionFile::flush() {
  if (lines_.empty()) return;
  file_->append(lines_);
  lines_.clear();
}

}  // namespace berth::cli
