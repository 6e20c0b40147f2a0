#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>

#include "base/json.h"
#include "base/printable.h"

namespace berth {
namespace {

std::atomic<LogFormat> format_in_use{LogFormat::Text};

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> kLogger = [] {
    auto made = std::make_shared<spdlog::logger>("berth", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%Y-%m-%dT%H:%M:%S.%fZ %L %v", spdlog::pattern_time_type::utc);
    return made;
  }();
  return *kLogger;
}

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::Debug:
      return spdlog::level::debug;
    case LogLevel::Info:
      return spdlog::level::info;
    case LogLevel::Warning:
      return spdlog::level::warn;
    case LogLevel::Error:
      return spdlog::level::err;
    case LogLevel::Off:
      return spdlog::level::off;
  }
  return spdlog::level::off;
}

void append_text_fields(std::string& line, std::initializer_list<LogField> fields) {
  for (const LogField& field : fields) {
    line.append(" ").append(field.key).append("=");
    const bool plain = !field.value.empty() && field.value.find_first_of(" \"\n=") == std::string::npos;
    if (plain)
      line += field.value;
    else
      append_json_string(line, field.value);
  }
}

}  // namespace

void configure_log(LogLevel level, LogFormat format) {
  format_in_use = format;
  logger().set_pattern(format == LogFormat::Json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%fZ","level":"%l",%v})"
                                                 : "%Y-%m-%dT%H:%M:%S.%fZ %L %v",
                       spdlog::pattern_time_type::utc);
  logger().set_level(spdlog_level(level));
}

void log(LogLevel level, std::string_view sentence, std::initializer_list<LogField> fields) {
  if (!logger().should_log(spdlog_level(level))) return;
  std::string line;
  if (format_in_use == LogFormat::Json) {
    line = "\"message\":";
    append_json_string(line, sentence);
    for (const LogField& field : fields) {
      line += ',';
      append_json_string(line, field.key);
      line += ':';
      append_json_string(line, field.value);
    }
  } else {
    line = sentence;
    append_text_fields(line, fields);
    line = printable_line(line);  // names and messages of others must not steer the terminal
  }
  logger().log(spdlog_level(level), line);
}

}  // namespace berth
