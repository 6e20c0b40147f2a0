#include "base/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace berth {
namespace {

Error unreadable(const std::string& path, int reason) {
  const ErrorCode code = reason == ENOENT ? ErrorCode::NotFound : ErrorCode::Unavailable;
  return Error(code, path, std::string("cannot be read: ") + std::strerror(reason));
}

std::string size_text(std::size_t bytes) {
  constexpr std::size_t kMiB = 1u << 20;
  return bytes % kMiB == 0 ? std::to_string(bytes / kMiB) + " MiB" : std::to_string(bytes) + " bytes";
}

Error unwritable(const std::string& path) {
  return Error(ErrorCode::Unavailable, path, std::string("cannot be written: ") + std::strerror(errno));
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t size = ::write(file, text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

// The entry of a renamed file is durable once its folder is.
bool sync_folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool synced = ::fsync(descriptor) == 0;
  ::close(descriptor);
  return synced;
}

constexpr mode_t kOwnerOnly = S_IRUSR | S_IWUSR;

// Whether the file has this text already, for its owner alone: a full disk has no room for another copy.
bool is_written(const std::string& path, std::string_view text) {
  struct stat facts{};
  if (::lstat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return false;
  if ((facts.st_mode & ACCESSPERMS) != kOwnerOnly || facts.st_size != static_cast<off_t>(text.size()))
    return false;
  const Result<std::string> there = read_text_file(path, text.size());
  return there && *there == text;
}

}  // namespace

Status replace_text_file(const std::string& path, std::string_view text) {
  if (is_written(path, text)) return {};
  const std::string draft = path + ".new";
  const int file = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kOwnerOnly);
  if (file < 0) return unwritable(draft);
  const bool whole = ::fchmod(file, kOwnerOnly) == 0 && write_all(file, text) && ::fsync(file) == 0;
  if (!whole) {
    const Error error = unwritable(draft);
    ::close(file);
    ::unlink(draft.c_str());
    return error;
  }
  ::close(file);
  if (::rename(draft.c_str(), path.c_str()) != 0 || !sync_folder_of(path)) return unwritable(path);
  return {};
}

Result<std::string> read_text(int descriptor, const std::string& name, std::size_t bytes_max) {
  std::string text;
  std::array<char, 1 << 16> bytes;
  ssize_t size = 0;
  while (text.size() <= bytes_max && (size = ::read(descriptor, bytes.data(), bytes.size())) > 0)
    text.append(bytes.data(), static_cast<std::size_t>(size));
  if (size < 0) return unreadable(name, errno);
  if (text.size() > bytes_max)
    return Error(ErrorCode::TooLarge, name, "is larger than " + size_text(bytes_max));
  return text;
}

Result<std::string> read_text_file(const std::string& path, std::size_t bytes_max) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return unreadable(path, errno);
  Result<std::string> text = read_text(file, path, bytes_max);
  ::close(file);
  return text;
}

}  // namespace berth
