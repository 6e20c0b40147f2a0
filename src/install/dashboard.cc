#include "install/dashboard.h"

#include <string>

#include "api/metric_table.h"

namespace berth::install {
namespace {

using api::MetricRow;

constexpr std::int64_t kSchemaVersion = 39;
constexpr std::int64_t kPanelWidth = 8;  // three stand side by side: Grafana's grid is 24 wide
constexpr std::int64_t kGridWidth = 24;
constexpr std::int64_t kPanelHeight = 8;

// By MetricSubject.
constexpr std::string_view kTitles[api::kMetricSubjectCount] = {
    "Decisions",
    "Queues",
    "Binding",
    "Writes to the API",
    "DRA: binding conditions of devices",
    "Leadership and clocks",
    "Deciders",
    "Embedded API server",
};

struct QuantileRow {
  std::string_view value;
  std::string_view title;
};
constexpr QuantileRow kQuantiles[] = {{"0.5", "p50"}, {"0.9", "p90"}, {"0.99", "p99"}};

// kube-scheduler has metrics of these names, too: the variable lists the jobs of Berth's own, and "All" means
// those.
constexpr std::string_view kJobs = R"(label_values({__name__=~"berth_.+"}, job))";
constexpr std::string_view kSelector = R"({job=~"$job"})";

Json data_source() {
  return Json::object({{"type", "prometheus"}, {"uid", "${datasource}"}});
}

// As Grafana names them.
std::string_view unit_of(const MetricRow& row) {
  if (row.family.type == MetricType::Counter) return "cps";
  switch (row.unit) {
    case api::MetricUnit::Seconds:
      return "s";
    case api::MetricUnit::Milliseconds:
      return "ms";
    case api::MetricUnit::Flag:
      return "bool_yes_no";
    case api::MetricUnit::Count:
      break;
  }
  return "short";
}

// "result, profile"
std::string label_list(const MetricFamily& family) {
  std::string list;
  for (const std::string_view label : family.label_names())
    list.append(list.empty() ? "" : ", ").append(label);
  return list;
}

// "{{result}} {{profile}}"
std::string legend(const MetricFamily& family) {
  std::string text;
  for (const std::string_view label : family.label_names())
    text.append(text.empty() ? "{{" : " {{").append(label).append("}}");
  return text;
}

std::string rate_by(const MetricFamily& family, std::string_view suffix, std::string_view more_labels) {
  std::string labels = label_list(family);
  if (!more_labels.empty()) labels.append(labels.empty() ? "" : ", ").append(more_labels);
  std::string expression = "sum";
  if (!labels.empty()) expression.append(" by (").append(labels).append(") ");
  expression.append("(rate(").append(family.name).append(suffix).append(kSelector);
  return expression.append("[$__rate_interval]))");
}

Json target(std::size_t index, std::string expression, std::string legend_format) {
  return Json::object({{"refId", std::string(1, static_cast<char>('A' + index))},
                       {"datasource", data_source()},
                       {"expr", std::move(expression)},
                       {"legendFormat", std::move(legend_format)}});
}

// A counter of all processes together; a gauge is a process's own.
Json targets_of(const MetricFamily& family) {
  Json targets = Json::array();
  const std::string series = legend(family);
  if (family.type == MetricType::Gauge) {
    const std::string of_process = "{{instance}}" + (series.empty() ? "" : " " + series);
    targets.as_array().push_back(target(0, std::string(family.name).append(kSelector), of_process));
  } else if (family.type == MetricType::Counter) {
    targets.as_array().push_back(target(0, rate_by(family, "", ""), series.empty() ? "all" : series));
  } else {
    for (const QuantileRow& quantile : kQuantiles) {
      const std::string rates = rate_by(family, "_bucket", "le");
      const std::string expression = "histogram_quantile(" + std::string(quantile.value) + ", " + rates + ")";
      targets.as_array().push_back(
          target(targets.as_array().size(), expression,
                 std::string(quantile.title).append(series.empty() ? "" : " ") + series));
    }
  }
  return targets;
}

Json grid_position(std::int64_t x, std::int64_t y, std::int64_t width, std::int64_t height) {
  return Json::object({{"x", x}, {"y", y}, {"w", width}, {"h", height}});
}

Json panel_of(const MetricRow& row) {
  Json defaults = Json::object({{"unit", unit_of(row)}});
  if (row.family.type != MetricType::Gauge || row.unit == api::MetricUnit::Count) defaults["min"] = 0;
  return Json::object(
      {{"type", "timeseries"},
       {"title", row.family.name},
       {"description", row.family.help},
       {"datasource", data_source()},
       {"fieldConfig", Json::object({{"defaults", std::move(defaults)}, {"overrides", Json::array()}})},
       {"targets", targets_of(row.family)}});
}

// Gives panels their ids and places, from top to bottom.
class Layout {
 public:
  void add_title(std::string_view title) {
    if (x_ > 0) end_line();
    Json row = Json::object({{"type", "row"}, {"title", title}, {"collapsed", false}});
    place(std::move(row), kGridWidth, 1);
    end_line();
  }
  void add(Json panel) {
    if (x_ + kPanelWidth > kGridWidth) end_line();
    place(std::move(panel), kPanelWidth, kPanelHeight);
  }
  Json take() { return std::move(panels_); }

 private:
  void place(Json panel, std::int64_t width, std::int64_t height) {
    panel["id"] = static_cast<std::int64_t>(panels_.as_array().size() + 1);
    panel["gridPos"] = grid_position(x_, y_, width, height);
    panels_.as_array().push_back(std::move(panel));
    x_ += width;
    line_height_ = height;
  }
  void end_line() {
    x_ = 0;
    y_ += line_height_;
  }

  Json panels_ = Json::array();
  std::int64_t x_ = 0, y_ = 0, line_height_ = 0;
};

Json panels() {
  Layout layout;
  for (std::size_t subject = 0; subject < api::kMetricSubjectCount; ++subject) {
    layout.add_title(kTitles[subject]);
    for (const MetricRow& row : api::metric_table())
      if (static_cast<std::size_t>(row.subject) == subject) layout.add(panel_of(row));
  }
  return layout.take();
}

Json variables() {
  const Json source = Json::object(
      {{"name", "datasource"}, {"label", "Data source"}, {"type", "datasource"}, {"query", "prometheus"}});
  const Json job = Json::object(
      {{"name", "job"},
       {"label", "Job"},
       {"type", "query"},
       {"datasource", data_source()},
       {"query", Json::object({{"query", kJobs}, {"refId", "jobs"}})},
       {"definition", kJobs},
       {"refresh", 2},  // when the time range changes
       {"multi", true},
       {"includeAll", true},
       {"current", Json::object({{"text", Json::array({"All"})}, {"value", Json::array({"$__all"})}})}});
  return Json::object({{"list", Json::array({source, job})}});
}

}  // namespace

Json grafana_dashboard() {
  return Json::object({{"uid", "berth"},
                       {"title", "Berth"},
                       {"description", "Written by Berth itself, from src/api/metrics.def: change it there."},
                       {"tags", Json::array({"berth", "kubernetes", "scheduling"})},
                       {"schemaVersion", kSchemaVersion},
                       {"editable", true},
                       {"refresh", "30s"},
                       {"time", Json::object({{"from", "now-1h"}, {"to", "now"}})},
                       {"timezone", "browser"},
                       {"templating", variables()},
                       {"panels", panels()}});
}

}  // namespace berth::install
