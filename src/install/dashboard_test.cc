#include "install/dashboard.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "api/metric_table.h"
#include "install/objects.h"
#include "install/testing/stored_text.h"

namespace berth::install {
namespace {

std::vector<Json> metric_panels() {
  std::vector<Json> found;
  const Json document = grafana_dashboard();
  for (const Json& panel : document.items_at("panels"))
    if (panel.string_at("type") != "row") found.push_back(panel);
  return found;
}

TEST(Dashboard, IsTheOneOfTheTree) {
  expect_stored("deploy/grafana/berth.json", InstallOptions::dashboard_text());
}

TEST(Dashboard, HasEachMetricInOnePanel) {
  std::map<std::string_view, int> panels;
  const std::vector<Json> all = metric_panels();
  for (const Json& panel : all)
    for (const api::MetricRow& row : api::metric_table())
      for (const Json& target : panel.items_at("targets")) {
        const std::string_view expression = target.string_at("expr");
        const std::size_t at = expression.find(row.family.name);
        if (at == std::string_view::npos) continue;
        const std::string_view after = expression.substr(at + row.family.name.size());
        if (!after.starts_with("{") && !after.starts_with("_bucket{")) continue;
        ++panels[row.family.name];
        EXPECT_EQ(panel.string_at("title"), row.family.name);
        EXPECT_EQ(panel.string_at("description"), row.family.help);
        break;
      }
  EXPECT_EQ(all.size(), api::metric_table().size());
  for (const api::MetricRow& row : api::metric_table())
    EXPECT_EQ(panels[row.family.name], 1) << row.family.name;
}

// Of the family's first query.
std::pair<std::string, std::string> query_of(std::string_view name) {
  for (const Json& panel : metric_panels())
    if (panel.string_at("title") == name)
      return {std::string(panel.items_at("targets")[0].string_at("expr")),
              std::string(panel.part("fieldConfig").part("defaults").string_at("unit"))};
  return {};
}

TEST(Dashboard, AsksByTypeAndUnit) {
  using Query = std::pair<std::string, std::string>;
  EXPECT_EQ(query_of("scheduler_schedule_attempts_total"),
            (Query{R"(sum by (result, profile) (rate(scheduler_schedule_attempts_total{job=~"$job"})"
                   R"([$__rate_interval])))",
                   "cps"}));
  EXPECT_EQ(query_of("berth_model_repairs_total"),
            (Query{R"(sum(rate(berth_model_repairs_total{job=~"$job"}[$__rate_interval])))", "cps"}));
  EXPECT_EQ(query_of("scheduler_pending_pods"), (Query{R"(scheduler_pending_pods{job=~"$job"})", "short"}));
  EXPECT_EQ(query_of("leader_election_master_status").second, "bool_yes_no");
  EXPECT_EQ(query_of("berth_api_server_clock_offset_milliseconds").second, "ms");
  EXPECT_EQ(query_of("scheduler_dra_bindingconditions_wait_duration_seconds"),
            (Query{R"(histogram_quantile(0.5, sum by (profile, driver, status, le) (rate()"
                   R"(scheduler_dra_bindingconditions_wait_duration_seconds_bucket{job=~"$job"})"
                   R"([$__rate_interval]))))",
                   "s"}));
  EXPECT_EQ(query_of("nothing"), Query());
}

TEST(Dashboard, HasPanelsThatDoNotOverlap) {
  std::set<std::pair<std::int64_t, std::int64_t>> taken;
  std::set<std::int64_t> ids;
  const Json document = grafana_dashboard();
  for (const Json& panel : document.items_at("panels")) {
    EXPECT_TRUE(ids.insert(panel.part("id").as_int()).second);
    const Json& place = panel.part("gridPos");
    const std::int64_t x = place.part("x").as_int(), y = place.part("y").as_int();
    EXPECT_LE(x + place.part("w").as_int(), 24);
    for (std::int64_t i = 0; i < place.part("w").as_int(); ++i)
      for (std::int64_t j = 0; j < place.part("h").as_int(); ++j)
        EXPECT_TRUE(taken.insert({x + i, y + j}).second) << panel.string_at("title");
  }
}

// Units stand in names, as Prometheus wants them; rows of a subject stand together.
TEST(MetricTable, NamesSayTypeAndUnit) {
  std::set<std::string_view> names;
  std::set<api::MetricSubject> seen;
  api::MetricSubject last{};
  for (const api::MetricRow& row : api::metric_table()) {
    const std::string_view name = row.family.name;
    EXPECT_TRUE(names.insert(name).second) << name;
    // kube-apiserver's own names of counters end so.
    const bool is_kubernetes_count = name.starts_with("apiserver_admission_") && name.ends_with("_count");
    EXPECT_EQ(name.ends_with("_total") || is_kubernetes_count, row.family.type == MetricType::Counter)
        << name;
    EXPECT_EQ(name.ends_with("_seconds"), row.unit == api::MetricUnit::Seconds) << name;
    EXPECT_EQ(name.ends_with("_milliseconds"), row.unit == api::MetricUnit::Milliseconds) << name;
    EXPECT_TRUE(row.family.help.ends_with(".")) << name;
    if (row.subject != last) {
      EXPECT_TRUE(seen.insert(last).second && !seen.contains(row.subject)) << name;
    }
    last = row.subject;
  }
}

TEST(Dashboard, StandsInAConfigMapThatTheSidecarFinds) {
  InstallOptions options;
  options.dashboards = true;
  const Json map = installation(options).back();
  EXPECT_EQ(title_of(map), "ConfigMap berth-system/berth-dashboard");
  EXPECT_EQ(map.part("metadata").part("labels").string_at("grafana_dashboard"), "1");
  EXPECT_EQ(parse_json(map.part("data").string_at("berth.json")).value(), grafana_dashboard());
}

}  // namespace
}  // namespace berth::install
