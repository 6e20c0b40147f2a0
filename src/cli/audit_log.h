// One JSON line per request, in the order of their answers.
#pragma once

#include <memory>
#include <string>

#include "server/api_server.h"

namespace berth::cli {

// Thread-safe. Lines are written as they come; a full disk is logged once and does not stop the server.
class AuditLog {
 public:
  static Result<std::unique_ptr<AuditLog>> open(const std::string& file);
  virtual ~AuditLog() = default;
  virtual void write(const server::AuditRecord& record) = 0;
};

}  // namespace berth::cli
