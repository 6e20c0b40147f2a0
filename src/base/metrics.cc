#include "base/metrics.h"

namespace berth {
namespace {

// Backslashes, line ends and, in label values, quotes.
void append_escaped(std::string& out, std::string_view text, bool quotes) {
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || (quotes && c == '"')) out += '\\';
    out += c;
  }
}

}  // namespace

void MetricsText::family(std::string_view name, MetricType type, std::string_view help) {
  name_ = name;
  text_ += "# HELP " + name_ + " ";
  append_escaped(text_, help, false);
  text_ += "\n# TYPE " + name_ + (type == MetricType::Counter ? " counter\n" : " gauge\n");
}

void MetricsText::sample(std::initializer_list<MetricLabel> labels, std::uint64_t value) {
  text_ += name_;
  char before = '{';
  for (const MetricLabel& label : labels) {
    text_ += before;
    text_ += label.name;
    text_ += "=\"";
    append_escaped(text_, label.value, true);
    text_ += '"';
    before = ',';
  }
  text_ += (labels.size() > 0 ? "} " : " ") + std::to_string(value) + "\n";
}

void MetricsText::single(std::string_view name, MetricType type, std::string_view help, std::uint64_t value) {
  family(name, type, help);
  sample({}, value);
}

}  // namespace berth
