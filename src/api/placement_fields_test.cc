// The table of placement fields: its rows, its warnings, and its page.
#include "api/placement_fields.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "api/types/pod.h"
#include "base/testing/source_dir.h"

namespace berth::api {
namespace {

std::vector<const PlacementField*> warned_rows() {
  std::vector<const PlacementField*> rows;
  for (const PlacementField& row : kPlacementFields)
    if (row.honouring == Honouring::Warned) rows.push_back(&row);
  return rows;
}

// The spec that sets the list of a Warned row, with one entry.
Json spec_with(const PlacementField& row) {
  Json entry = Json::object();
  if (!row.entry_field.empty()) entry[row.entry_field] = row.entry_value;
  std::string_view path = row.path;
  Json object = Json::array({entry});
  for (std::size_t dot = path.rfind('.'); dot != std::string_view::npos; dot = path.rfind('.')) {
    Json around = Json::object();
    around[path.substr(dot + 1)] = std::move(object);
    object = std::move(around);
    path = path.substr(0, dot);
  }
  EXPECT_EQ(path, "spec") << row.path;
  return object;
}

Json object_with(Json spec) {
  return Json::object({{"spec", std::move(spec)}});
}

TEST(PlacementFields, PreferencesAreFoundInTheSpec) {
  for (const PlacementField* row : warned_rows()) {
    SCOPED_TRACE(row->text());
    EXPECT_EQ(preferences_set(spec_with(*row), row->kind), std::vector{row});
    EXPECT_TRUE(preferences_set(Json::object(), row->kind).empty());
  }
}

TEST(PlacementFields, WhoeverSetsOneIsWarnedOnce) {
  const Json nothing;
  for (const PlacementField* row : warned_rows()) {
    SCOPED_TRACE(row->text());
    const Json object = object_with(spec_with(*row));
    const std::vector<std::string> warnings = placement_warnings("", row->kind, object, nullptr);
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_TRUE(warnings.front().starts_with(row->text() + ": Berth ")) << warnings.front();
    EXPECT_TRUE(placement_warnings("", row->kind, object, &object).empty()) << "it was set before";
    EXPECT_EQ(placement_warnings("", row->kind, object, &nothing), warnings);
  }
}

TEST(PlacementFields, WorkloadsAreWarnedOfTheirPodTemplate) {
  const Json pod = object_with(spec_with(*warned_rows().front()));
  const Json workload = object_with(Json::object({{"template", pod}}));
  const Json cron_job = object_with(Json::object({{"jobTemplate", workload}}));
  for (const char* kind : {"DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"}) {
    const auto warnings = placement_warnings("apps", kind, workload, nullptr);
    ASSERT_EQ(warnings.size(), 1u) << kind;
    EXPECT_TRUE(warnings.front().starts_with("spec.template.spec.affinity.nodeAffinity."))
        << warnings.front();
  }
  EXPECT_EQ(placement_warnings("batch", "Job", workload, nullptr).size(), 1u);
  EXPECT_EQ(placement_warnings("", "ReplicationController", workload, nullptr).size(), 1u);
  ASSERT_EQ(placement_warnings("batch", "CronJob", cron_job, nullptr).size(), 1u);
  EXPECT_TRUE(placement_warnings("batch", "CronJob", cron_job, nullptr)
                  .front()
                  .starts_with("spec.jobTemplate.spec.template.spec."));
  EXPECT_TRUE(placement_warnings("x.io", "Deployment", workload, nullptr).empty());
}

TEST(PlacementFields, PodsOfOtherSchedulersAreTheirs) {
  Json spec = spec_with(*warned_rows().front());
  for (const auto& [scheduler, warned] :
       {std::pair("berth", 1u), std::pair("default-scheduler", 1u), std::pair("volcano", 0u)}) {
    spec["schedulerName"] = scheduler;
    EXPECT_EQ(placement_warnings("", "Pod", object_with(spec), nullptr).size(), warned) << scheduler;
  }
}

struct TermCase {
  std::string term;  // JSON
  std::string ns;
  bool means;  // a pod with app=web, rev=2
};

// The term of a pod with rev=2 in the namespace "own"; "labelled" has the label team=a.
TEST(PlacementFields, AnAffinityTermMeansPodsOfItsNamespaces) {
  const std::vector<TermCase> cases = {
      {R"({"labelSelector":{"matchLabels":{"app":"web"}}})", "own", true},
      {R"({"labelSelector":{"matchLabels":{"app":"web"}}})", "other", false},
      {R"({"labelSelector":{"matchLabels":{"app":"db"}}})", "own", false},
      {R"({"labelSelector":{}})", "own", true},
      {R"({})", "own", false},
      {R"({"labelSelector":{},"namespaces":["other"]})", "other", true},
      {R"({"labelSelector":{},"namespaces":["other"]})", "own", false},
      {R"({"labelSelector":{},"namespaceSelector":{}})", "other", true},
      {R"({"labelSelector":{},"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"x"}}})", "x",
       true},
      {R"({"labelSelector":{},"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"x"}}})",
       "own", false},
      {R"({"labelSelector":{},"namespaceSelector":{"matchLabels":{"team":"a"}}})", "labelled", true},
      {R"({"labelSelector":{},"namespaceSelector":{"matchLabels":{"team":"a"}}})", "own", false},
      {R"({"labelSelector":{},"namespaces":["own"],"namespaceSelector":{"matchLabels":{"team":"a"}}})", "own",
       true},
      {R"({"labelSelector":{},"matchLabelKeys":["rev","none"]})", "own", true},
      {R"({"labelSelector":{},"mismatchLabelKeys":["none"]})", "own", true},
      {R"({"labelSelector":{},"mismatchLabelKeys":["rev"]})", "own", false},
      {R"({"matchLabelKeys":["rev"]})", "own", false},
      // As the API server completed it, before the pod's own label changed.
      {R"({"labelSelector":{"matchExpressions":[{"key":"rev","operator":"In","values":["1"]}]},)"
       R"("matchLabelKeys":["rev"]})",
       "own", false},
  };
  for (const TermCase& one : cases) {
    SCOPED_TRACE(one.term + " in " + one.ns);
    const Pod pod =
        decode_pod(*parse_json(R"({"metadata":{"namespace":"own","labels":{"rev":"2"}},"spec":{"affinity":{)"
                               R"("podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[)" +
                               one.term + "]}}}}"),
                   nullptr);
    ASSERT_EQ(pod.required_anti_affinity.size(), 1u);
    StringMap ns{{"kubernetes.io/metadata.name", one.ns}};
    if (one.ns == "labelled") ns["team"] = "a";
    EXPECT_EQ(pod.required_anti_affinity.front().means(one.ns, {{"app", "web"}, {"rev", "2"}}, ns),
              one.means);
  }
}

// docs/scheduling.md#fields has a row for each field, under the word for what Berth does with it, and no
// other.
TEST(PlacementFields, StandOnTheirPage) {
  std::ifstream file(source_path("docs/scheduling.md"));
  std::set<std::string> lines, wanted;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) inside = line == "## Fields";
    if (inside && line.starts_with("| `")) lines.insert(line);
  }
  for (const PlacementField& row : kPlacementFields) {
    const std::string entry = row.entry_field.empty() ? ""
                                                      : ", `" + std::string(row.entry_field) + ": " +
                                                            std::string(row.entry_value) + "`";
    const std::string_view words[] = {"honoured", "ignored"};
    wanted.insert("| `" + std::string(row.path) + "`" + entry + " | " + std::string(row.kind) + " | " +
                  std::string(words[static_cast<std::size_t>(row.honouring)]) + " |");
  }
  EXPECT_EQ(lines, wanted);
}

}  // namespace
}  // namespace berth::api
