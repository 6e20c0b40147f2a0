#include "cli/audit_log.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "base/log.h"

namespace berth::cli {
namespace {

class FileAuditLog final : public AuditLog {
 public:
  explicit FileAuditLog(std::FILE* file) : file_(file) {}
  ~FileAuditLog() override { std::fclose(file_); }

  void write(const server::AuditRecord& record) override {
    Json line = Json::object({{"time", format_micro_time(record.time)},
                              {"user", record.user},
                              {"verb", record.verb},
                              {"resource", record.resource},
                              {"name", record.ns.empty() ? record.name : record.ns + "/" + record.name},
                              {"code", record.code},
                              {"revision", static_cast<std::int64_t>(record.revision)}});
    const std::string text = to_string(line) + "\n";
    const std::lock_guard lock(mutex_);
    const bool written =
        std::fwrite(text.data(), 1, text.size(), file_) == text.size() && std::fflush(file_) == 0;
    if (!written && !std::exchange(complained_, true))
      log(LogLevel::Error, "the audit log cannot be written", {{"reason", std::strerror(errno)}});
  }

 private:
  std::mutex mutex_;
  std::FILE* file_;
  bool complained_ = false;
};

}  // namespace

Result<std::unique_ptr<AuditLog>> AuditLog::open(const std::string& file) {
  std::FILE* opened = std::fopen(file.c_str(), "ae");
  if (!opened) return Error(ErrorCode::Unavailable, "--audit-log", file + ": " + std::strerror(errno));
  return std::unique_ptr<AuditLog>(std::make_unique<FileAuditLog>(opened));
}

}  // namespace berth::cli
