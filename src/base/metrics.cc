#include "base/metrics.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

#include "base/assert.h"

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

std::span<const std::string_view> MetricFamily::label_names() const {
  const auto end = std::find(labels.begin(), labels.end(), std::string_view());
  return {labels.begin(), end};
}

void MetricsText::family(const MetricFamily& family) {
  family_ = family;
  text_.append("# HELP ").append(family.name).append(" ");
  append_escaped(text_, family.help, false);
  text_.append("\n# TYPE ").append(family.name);
  text_ += type_text(family.type);
}

void MetricsText::label(char before, std::string_view name, std::string_view value) {
  text_ += before;
  text_.append(name).append("=\"");
  append_escaped(text_, value, true);
  text_ += '"';
}

void MetricsText::line(std::string_view suffix, std::span<const std::string_view> labels,
                       std::string_view bound, std::string_view value) {
  const std::span<const std::string_view> names = family_.label_names();
  BERTH_ASSERT(labels.size() == names.size(), "a sample has a value for each label of its family");
  text_.append(family_.name).append(suffix);
  char before = '{';
  for (std::size_t i = 0; i < names.size(); ++i) label(std::exchange(before, ','), names[i], labels[i]);
  if (!bound.empty()) label(std::exchange(before, ','), "le", bound);
  text_.append(before == '{' ? " " : "} ").append(value).append("\n");
}

void MetricsText::sample(std::initializer_list<std::string_view> labels, std::uint64_t value) {
  line("", labels, "", std::to_string(value));
}

void MetricsText::histogram(std::initializer_list<std::string_view> labels, const Histogram& histogram) {
  std::uint64_t so_far = 0;
  for (std::size_t i = 0; i < histogram.counts_.size(); ++i) {
    so_far += histogram.counts_[i];
    line("_bucket", labels, i < histogram.bounds_.size() ? number(histogram.bounds_[i]) : "+Inf",
         std::to_string(so_far));
  }
  line("_sum", labels, "", number(histogram.sum_));
  line("_count", labels, "", std::to_string(so_far));
}

void MetricsText::single(const MetricFamily& family, std::uint64_t value) {
  this->family(family);
  sample({}, value);
}

}  // namespace berth
