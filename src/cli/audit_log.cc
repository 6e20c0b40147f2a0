#include "cli/audit_log.h"

namespace berth::cli {

std::string audit_line(const server::AuditRecord& record) {
  Json line = Json::object({{"time", format_micro_time(record.time)},
                            {"user", record.user},
                            {"verb", record.verb},
                            {"resource", record.resource},
                            {"namespace", record.ns},
                            {"name", record.name},
                            {"code", record.code},
                            {"revision", static_cast<std::int64_t>(record.revision)}});
  if (!record.refused_by.empty()) line["refusedBy"] = record.refused_by;
  for (const auto& [key, value] : record.annotations) line["annotations"][key] = value;
  return to_string(line) + "\n";
}

}  // namespace berth::cli
