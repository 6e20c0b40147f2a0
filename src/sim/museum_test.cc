// Every defect of the museum is detected again: its stored plan breaks an invariant with the defect switched
// on (in museum_test), and none without it. docs/reliability.md#museum lists them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "base/log.h"
#include "base/testing/museum.h"
#include "base/testing/source_dir.h"
#include "sim/museum.h"
#include "sim/storm.h"

namespace berth::sim {
namespace {

const std::string kPlans = source_path("tests/storms/museum");
const std::string kDocument = source_path("docs/reliability.md");

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::set<std::string> names_of_plans() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kPlans)) names.insert(entry.path().stem());
  return names;
}

// The museum's table in the document: names, and how each is found.
std::map<std::string, std::string> documented() {
  std::istringstream lines(text_of(kDocument));
  std::map<std::string, std::string> rows;
  bool museum = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("## ")) museum = line == "## Museum";
    if (!museum || !line.starts_with("| `")) continue;
    const std::size_t end = line.find('`', 3), last = line.rfind('|', line.size() - 2);
    rows[line.substr(3, end - 3)] = line.substr(last + 2, line.size() - last - 4);
  }
  return rows;
}

StormResult storm_ignoring(const StormPlan& plan, std::vector<std::string> ignored) {
  configure_log(LogLevel::Off, LogFormat::Text);
  const Result<StormResult> result = run_storm(plan, {nullptr, std::move(ignored)});
  EXPECT_TRUE(result.ok()) << result.error().text();
  return *result;
}

TEST(Museum, EveryStoredPlanFindsItsDefectAndNothingElse) {
  for (const std::string& name : names_of_plans()) {
    const std::string path = kPlans + "/" + name + ".yaml";
    const Result<StormPlan> plan = parse_storm_plan(text_of(path), path);
    ASSERT_TRUE(plan.ok()) << plan.error().text();
    const KnownDefectRow* row = known_defect(name);
    ASSERT_TRUE(row) << path << " is named after no defect";
    const StormResult without = storm_ignoring(*plan, {});
    EXPECT_TRUE(without.broken.empty()) << name << ": " << without.broken.front();
    SCOPED_TRACE(name);
    expect_broken_by(row->defect, [&] { return storm_ignoring(*plan, not_finding(*row)).broken.empty(); });
  }
}

TEST(Museum, TheDocumentListsEveryDefect) {
  const std::map<std::string, std::string> rows = documented();
  const std::set<std::string> plans = names_of_plans();
  std::set<std::string> names;
  for (const KnownDefectRow& row : known_defects()) {
    const std::string name(row.name);
    EXPECT_TRUE(names.insert(name).second) << name << " stands twice";
    const auto documented_row = rows.find(name);
    ASSERT_TRUE(documented_row != rows.end()) << name << " is not in " << kDocument;
    const std::string& found = documented_row->second;
    EXPECT_EQ(plans.contains(name), !found.starts_with("by hand: ") && !found.starts_with("not found"))
        << name << ": " << found;
  }
  for (const auto& [name, found] : rows) EXPECT_TRUE(names.contains(name)) << name << " is no defect";
}

}  // namespace
}  // namespace berth::sim
