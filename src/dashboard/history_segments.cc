#include "dashboard/history_segments.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/text_file.h"

namespace berth::dashboard {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kUnfinished = ".new";  // of replace_text_file

class MemorySegments final : public SegmentStore {
 public:
  bool is_on_disk() const override { return false; }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const auto& [name, bytes] : segments_) names.push_back(name);
    return names;
  }
  Result<std::string> read(const std::string& name) const override {
    const auto found = segments_.find(name);
    if (found == segments_.end()) return Error(ErrorCode::NotFound, "there is no segment " + name);
    return found->second;
  }
  Result<Beginning> read_beginning(const std::string& name, std::size_t bytes_max) const override {
    const std::string bytes = TRY(read(name));
    return Beginning{bytes.substr(0, bytes_max), bytes.size()};
  }
  Status write(const std::string& name, std::string_view bytes) override {
    segments_.insert_or_assign(name, std::string(bytes));
    return {};
  }
  // What is appended is of no use after the process.
  Status append(const std::string&, std::string_view) override { return {}; }
  void remove(const std::string& name) override { segments_.erase(name); }

 private:
  std::map<std::string, std::string> segments_;
};

class FolderSegments final : public SegmentStore {
 public:
  explicit FolderSegments(fs::path folder) : folder_(std::move(folder)) {}
  bool is_on_disk() const override { return true; }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    std::error_code failed;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_, failed))
      names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  Result<std::string> read(const std::string& name) const override {
    return read_text_file(folder_ / name, kSegmentTextBytesMax);
  }
  Result<Beginning> read_beginning(const std::string& name, std::size_t bytes_max) const override {
    Beginning beginning;
    std::error_code failed;
    beginning.size = fs::file_size(folder_ / name, failed);
    if (failed) return Error(ErrorCode::Unavailable, (folder_ / name).native(), failed.message());
    std::ifstream file(folder_ / name, std::ios::binary);
    beginning.bytes.resize(std::min(beginning.size, bytes_max));
    file.read(beginning.bytes.data(), static_cast<std::streamsize>(beginning.bytes.size()));
    if (!file) return failure(name);
    return beginning;
  }
  Status write(const std::string& name, std::string_view bytes) override {
    return replace_text_file(folder_ / name, bytes);
  }
  Status append(const std::string& name, std::string_view bytes) override {
    const int file =
        ::open((folder_ / name).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (file < 0) return failure(name);
    while (!bytes.empty()) {
      const ssize_t written = ::write(file, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) {
        Error error = failure(name);
        ::close(file);
        return error;
      }
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    ::close(file);
    return {};
  }
  void remove(const std::string& name) override {
    std::error_code failed;
    fs::remove(folder_ / name, failed);
  }

 private:
  Error failure(const std::string& name) const {
    return Error(ErrorCode::Unavailable, (folder_ / name).native(), std::strerror(errno));
  }

  const fs::path folder_;
};

}  // namespace

std::unique_ptr<SegmentStore> segments_in_memory() {
  return std::make_unique<MemorySegments>();
}

Result<std::unique_ptr<SegmentStore>> segments_in_folder(const std::string& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  std::vector<fs::path> unfinished;
  if (!failed)
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, failed))
      if (entry.path().native().ends_with(kUnfinished)) unfinished.push_back(entry.path());
  if (failed) return Error(ErrorCode::Unavailable, folder, failed.message());
  for (const fs::path& path : unfinished) fs::remove(path, failed);
  return std::unique_ptr<SegmentStore>(std::make_unique<FolderSegments>(folder));
}

}  // namespace berth::dashboard
