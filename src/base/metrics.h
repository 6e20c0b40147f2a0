// Metrics in Prometheus' text format, written from values that are kept elsewhere.
//
// One writer per scrape, one thread. Cost: linear in the text. Source: Prometheus exposition format 0.0.4.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

enum class MetricType { Counter, Gauge, Histogram };

inline constexpr std::size_t kMetricLabelsMax = 5;

struct MetricFamily {
  std::string_view name;
  MetricType type;
  std::string_view help;
  std::array<std::string_view, kMetricLabelsMax> labels{};  // names; the first empty one ends them

  std::span<const std::string_view> label_names() const;
};

// Counts observations by upper bound. A copy is a snapshot.
class Histogram {
 public:
  // Ascending; static storage.
  explicit Histogram(std::span<const double> bounds) : bounds_(bounds), counts_(bounds.size() + 1) {}
  void observe(double value);
  std::uint64_t count() const;

 private:
  friend class MetricsText;
  std::span<const double> bounds_;
  std::vector<std::uint64_t> counts_;  // by bucket, the last without a bound; not cumulative
  double sum_ = 0;
};

class MetricsText {
 public:
  // Begins a family; its samples follow. Each name at most once.
  void family(const MetricFamily& family);
  // A sample of the current family: a value for each of its labels.
  void sample(std::initializer_list<std::string_view> labels, std::uint64_t value);
  void histogram(std::initializer_list<std::string_view> labels, const Histogram& histogram);
  // A family of one sample, without labels.
  void single(const MetricFamily& family, std::uint64_t value);

  std::string take() { return std::move(text_); }

 private:
  // `bound`: of a bucket; empty: not of a bucket.
  void line(std::string_view suffix, std::span<const std::string_view> labels, std::string_view bound,
            std::string_view value);
  void label(char before, std::string_view name, std::string_view value);

  std::string text_;
  MetricFamily family_{};
};

}  // namespace berth
