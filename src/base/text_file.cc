#include "base/text_file.h"

#include <fcntl.h>
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

}  // namespace

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
