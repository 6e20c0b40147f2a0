// One JSON line per request, in the order of the responses: the lines of `--audit-log`.
#pragma once

#include <string>

#include "server/api_server.h"

namespace berth::cli {

// With its newline.
std::string audit_line(const server::AuditRecord& record);

}  // namespace berth::cli
