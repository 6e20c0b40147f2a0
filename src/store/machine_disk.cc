#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "store/disk.h"

namespace berth::store {
namespace {

constexpr mode_t kFileMode = 0600;  // the store holds Secrets
constexpr mode_t kDirectoryMode = 0700;

Error failure_of(const std::string& path, const char* action) {
  const int number = errno;
  const bool full = number == ENOSPC || number == EDQUOT;
  const ErrorCode code = number == ENOENT ? ErrorCode::NotFound
                         : full           ? ErrorCode::TooLarge
                                          : ErrorCode::Internal;
  return Error(code, path, std::string("cannot ") + action + ": " + std::generic_category().message(number));
}

template <class Call>
auto retried(Call call) {
  auto answer = call();
  while (answer < 0 && errno == EINTR) answer = call();
  return answer;
}

// Directory entries are data of the directory: a new or removed file is durable only after this.
Status sync_parent_of(const std::string& path) {
  std::string parent = std::filesystem::path(path).parent_path().string();
  if (parent.empty()) parent = ".";
  const int fd = retried([&] { return ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (fd < 0) return failure_of(parent, "open the directory");
  const int synced = retried([&] { return ::fsync(fd); });
  Status outcome = synced == 0 ? Status() : Status(failure_of(parent, "sync the directory"));
  ::close(fd);
  return outcome;
}

class MachineFile final : public DiskFile {
 public:
  MachineFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  ~MachineFile() override { ::close(fd_); }

  Result<std::size_t> read(std::uint64_t offset, std::span<char> into) override {
    std::size_t got = 0;
    while (got < into.size()) {
      const ssize_t n = retried([&] {
        return ::pread(fd_, into.data() + got, into.size() - got, static_cast<off_t>(offset + got));
      });
      if (n < 0) return failure_of(path_, "read");
      if (n == 0) break;
      got += static_cast<std::size_t>(n);
    }
    return got;
  }

  Status write(std::uint64_t offset, std::span<const char> bytes) override {
    std::size_t put = 0;
    while (put < bytes.size()) {
      const ssize_t n = retried([&] {
        return ::pwrite(fd_, bytes.data() + put, bytes.size() - put, static_cast<off_t>(offset + put));
      });
      if (n < 0) return failure_of(path_, "write");
      put += static_cast<std::size_t>(n);
    }
    return {};
  }

  Status truncate(std::uint64_t size) override {
    if (retried([&] { return ::ftruncate(fd_, static_cast<off_t>(size)); }) < 0)
      return failure_of(path_, "truncate");
    return {};
  }

  Status sync() override {
    if (retried([&] { return ::fdatasync(fd_); }) == 0) return {};
    // Whatever the reason, what was written before is in doubt: no failure that passes.
    return Error(ErrorCode::Internal, failure_of(path_, "sync").text());
  }

  Result<std::uint64_t> size() override {
    struct stat facts{};
    if (::fstat(fd_, &facts) < 0) return failure_of(path_, "read the size");
    return static_cast<std::uint64_t>(facts.st_size);
  }

  Status lock() override {
    if (retried([&] { return ::flock(fd_, LOCK_EX | LOCK_NB); }) == 0) return {};
    if (errno == EWOULDBLOCK) return Error(ErrorCode::Conflict, path_, "is in use by another process");
    return failure_of(path_, "lock");
  }

 private:
  std::string path_;
  int fd_;
};

class MachineDisk final : public Disk {
 public:
  Status make_directory(const std::string& path) override {
    std::error_code code;
    const bool made = std::filesystem::create_directories(path, code);
    if (code) return Error(ErrorCode::Internal, path, "cannot make the directory: " + code.message());
    if (!made) return {};
    if (::chmod(path.c_str(), kDirectoryMode) < 0) return failure_of(path, "protect the directory");
    return sync_parent_of(path);
  }

  Result<std::unique_ptr<DiskFile>> open(const std::string& path, Opening opening) override {
    constexpr int kFlags = O_RDWR | O_CLOEXEC;
    int fd = retried([&] { return ::open(path.c_str(), kFlags); });
    if (fd < 0 && errno == ENOENT && opening == Opening::OrCreate) {
      fd = retried([&] { return ::open(path.c_str(), kFlags | O_CREAT, kFileMode); });
      if (fd >= 0) {
        if (Status synced = sync_parent_of(path); !synced.ok()) {
          ::close(fd);
          return synced.error();
        }
      }
    }
    if (fd < 0) return failure_of(path, "open");
    return std::unique_ptr<DiskFile>(std::make_unique<MachineFile>(path, fd));
  }

  Status remove(const std::string& path) override {
    if (::unlink(path.c_str()) < 0) return failure_of(path, "remove");
    return sync_parent_of(path);
  }

  Status rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) < 0) return failure_of(from, "rename");
    return sync_parent_of(to);
  }

  Result<bool> exists(const std::string& path) override {
    if (::access(path.c_str(), F_OK) == 0) return true;
    if (errno == ENOENT || errno == ENOTDIR) return false;
    return failure_of(path, "look for");
  }
};

}  // namespace

Disk& machine_disk() {
  static MachineDisk disk;
  return disk;
}

}  // namespace berth::store
