// The table of placement fields and its page; what terms between pods mean.
#include "api/placement_fields.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "api/types/pod.h"
#include "base/testing/source_dir.h"

namespace berth::api {
namespace {

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

// docs/scheduling.md#fields has a row for each field, and no other.
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
    wanted.insert("| `" + std::string(row.path) + "`" + entry + " | " + std::string(row.kind) + " |");
  }
  EXPECT_EQ(lines, wanted);
}

}  // namespace
}  // namespace berth::api
