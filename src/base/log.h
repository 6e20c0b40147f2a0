// Log lines for operators: a sentence and named fields, as text or JSON lines on stderr.
//
// Thread-safe. Deciders never log; the engine does it for them. Lines below the level cost one comparison.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace berth {

enum class LogLevel { Debug, Info, Warning, Error, Off };
enum class LogFormat { Text, Json };

struct LogField {
  std::string_view key;
  std::string value;
};

void configure_log(LogLevel level, LogFormat format);
void log(LogLevel level, std::string_view sentence, std::initializer_list<LogField> fields = {});

}  // namespace berth
