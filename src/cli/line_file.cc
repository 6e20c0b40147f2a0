#include "cli/line_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/log.h"

namespace berth::cli {
namespace {

// Readable by its owner alone: decisions and audit records name users and pods.
std::FILE* open_for_append(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
  return descriptor < 0 ? nullptr : ::fdopen(descriptor, "a");
}

class OpenLineFile final : public LineFile {
 public:
  OpenLineFile(std::FILE* file, std::string path, std::string what, std::size_t bytes_max)
      : file_(file), path_(std::move(path)), what_(std::move(what)), bytes_max_(bytes_max) {
    std::fseek(file_, 0, SEEK_END);
    bytes_ = static_cast<std::size_t>(std::ftell(file_));
  }
  ~OpenLineFile() override {
    if (file_) std::fclose(file_);
  }

  void append(std::string_view lines) override {
    const std::lock_guard lock(mutex_);
    if (bytes_max_ != 0 && bytes_ + lines.size() > bytes_max_) turn_over();
    const bool written =
        file_ && std::fwrite(lines.data(), 1, lines.size(), file_) == lines.size() && std::fflush(file_) == 0;
    bytes_ += lines.size();
    if (!written && !std::exchange(complained_, true))
      log(LogLevel::Error, "a file cannot be written", {{"file", what_}, {"reason", std::strerror(errno)}});
  }

 private:
  void turn_over() {
    if (file_) std::fclose(file_);
    std::rename(path_.c_str(), (path_ + ".1").c_str());
    file_ = open_for_append(path_);
    bytes_ = 0;
  }

  std::mutex mutex_;
  std::FILE* file_;
  const std::string path_, what_;
  const std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  bool complained_ = false;
};

}  // namespace

Result<std::unique_ptr<LineFile>> LineFile::open(std::string file, std::string what, std::size_t bytes_max) {
  std::FILE* opened = open_for_append(file);
  if (!opened) return Error(ErrorCode::Unavailable, what, file + ": " + std::strerror(errno));
  return std::unique_ptr<LineFile>(
      std::make_unique<OpenLineFile>(opened, std::move(file), std::move(what), bytes_max));
}

}  // namespace berth::cli
