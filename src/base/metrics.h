// Metrics as Prometheus reads them: the text form, written from values that are kept elsewhere.
//
// One writer a scrape, one thread. Cost: linear in the text. Source: Prometheus exposition format 0.0.4.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace berth {

enum class MetricType { Counter, Gauge };

struct MetricLabel {
  std::string_view name;
  std::string_view value;
};

class MetricsText {
 public:
  // Begins a family; its samples follow. Each name once.
  void family(std::string_view name, MetricType type, std::string_view help);
  // A sample of the family begun last.
  void sample(std::initializer_list<MetricLabel> labels, std::uint64_t value);
  // A family of one sample.
  void single(std::string_view name, MetricType type, std::string_view help, std::uint64_t value);

  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  std::string name_;
};

}  // namespace berth
