#include "base/metrics.h"

#include <algorithm>
#include <charconv>
#include <numeric>

namespace berth {
namespace {

// Escapes backslashes, line ends and, in label values, quotes.
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

// The shortest text that parses to the same number.
std::string number(double value) {
  char text[32];
  const auto [end, error] = std::to_chars(std::begin(text), std::end(text), value);
  (void)error;
  return {text, end};
}

std::string_view type_text(MetricType type) {
  if (type == MetricType::Histogram) return " histogram\n";
  return type == MetricType::Counter ? " counter\n" : " gauge\n";
}

}  // namespace

void Histogram::observe(double value) {
  const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
  ++counts_[static_cast<std::size_t>(bucket)];
  sum_ += value;
}

std::uint64_t Histogram::count() const {
  return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
}

void MetricsText::family(std::string_view name, MetricType type, std::string_view help) {
  name_ = name;
  text_ += "# HELP " + name_ + " ";
  append_escaped(text_, help, false);
  text_ += "\n# TYPE " + name_;
  text_ += type_text(type);
}

void MetricsText::line(std::string_view suffix, std::span<const MetricLabel> labels, std::string_view value) {
  text_.append(name_).append(suffix);
  char before = '{';
  for (const MetricLabel& label : labels) {
    text_ += before;
    text_ += label.name;
    text_ += "=\"";
    append_escaped(text_, label.value, true);
    text_ += '"';
    before = ',';
  }
  text_.append(labels.empty() ? " " : "} ").append(value).append("\n");
}

void MetricsText::sample(std::initializer_list<MetricLabel> labels, std::uint64_t value) {
  line("", labels, std::to_string(value));
}

void MetricsText::histogram(std::initializer_list<MetricLabel> labels, const Histogram& histogram) {
  std::vector<MetricLabel> bounded(labels);
  bounded.push_back({"le", ""});
  std::uint64_t so_far = 0;
  for (std::size_t i = 0; i < histogram.counts_.size(); ++i) {
    const std::string bound = i < histogram.bounds_.size() ? number(histogram.bounds_[i]) : "+Inf";
    bounded.back().value = bound;
    so_far += histogram.counts_[i];
    line("_bucket", bounded, std::to_string(so_far));
  }
  line("_sum", labels, number(histogram.sum_));
  line("_count", labels, std::to_string(so_far));
}

void MetricsText::single(std::string_view name, MetricType type, std::string_view help, std::uint64_t value) {
  family(name, type, help);
  sample({}, value);
}

}  // namespace berth
