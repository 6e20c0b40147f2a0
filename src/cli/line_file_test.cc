#include "cli/line_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/decision_file.h"

namespace berth::cli {
namespace {

std::string text_of(const std::filesystem::path& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

class Files : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(directory);
    std::filesystem::create_directories(directory);
  }
  const std::filesystem::path directory = std::filesystem::path(testing::TempDir()) / "berth-line-file";
};

TEST_F(Files, GrowAndTurnOver) {
  const std::string file = directory / "lines";
  {
    auto lines = LineFile::open(file, "lines", 12).value();
    lines->append("one\n");
    lines->append("two\n");
  }
  auto again = LineFile::open(file, "lines", 12).value();
  again->append("three\n");  // 14 bytes would be too many
  again->append("four\n");
  EXPECT_EQ(text_of(file + ".1"), "one\ntwo\n");
  EXPECT_EQ(text_of(file), "three\nfour\n");
}

TEST_F(Files, ThatCannotBeOpenedAreRefusedByName) {
  const auto lines = LineFile::open(directory / "no" / "such", "--audit-log");
  ASSERT_FALSE(lines.ok());
  EXPECT_TRUE(lines.error().text().starts_with("--audit-log: ")) << lines.error().text();
}

TEST_F(Files, DecisionsAreLines) {
  auto decisions = DecisionFile::open(directory).value();
  scheduling::DecisionRecord record{"d1-0", Time::from_seconds(1'000'000'000), scheduling::DecisionKind::Pod,
                                    "ns", "p"};
  record.placed = {{"p", "n1"}};
  decisions->append(explain::decision_line(record));
  placement::Refusal refusal;
  refusal.of = {"ns", "p", placement::EntityKind::Pod};
  refusal.node_count = 3;
  refusal.nodes.reasons = {
      {&placement::reason_row("NoFreePorts"), "no ports", "", 2, {{"n2", ""}, {"n3", "why"}}, {}, {}}};
  record.placed.clear();
  record.result = placement::DecisionResult::Unschedulable;
  record.refusal = std::make_shared<placement::Refusal>(refusal);
  decisions->append(explain::decision_line(record));
  EXPECT_EQ(text_of(directory / "decisions.jsonl"), "") << "nothing is written while deciding";
  decisions->flush();
  EXPECT_EQ(
      text_of(directory / "decisions.jsonl"),
      R"({"id":"d1-0","time":"2001-09-09T01:46:40.000000Z","kind":"Pod","namespace":"ns","name":"p",)"
      R"("result":"Placed","reason":"Scheduled","message":"","placed":[{"pod":"p","node":"n1"}],)"
      R"("inputsDigest":"0"})"
      "\n"
      R"({"id":"d1-0","time":"2001-09-09T01:46:40.000000Z","kind":"Pod","namespace":"ns","name":"p",)"
      R"("result":"Unschedulable","reason":"Unschedulable","message":"0/3 nodes are available: 2 no )"
      R"(ports. pod ns/p waits: 2 of 3 nodes have one of its host ports in use (n2, n3: n3: why).",)"
      R"("placed":[],"refused":[{"plugin":"NodePorts","id":"NoFreePorts","reason":"no ports",)"
      R"("nodes":2,"examples":[{"node":"n2"},{"node":"n3","why":"why"}]}],)"
      R"("explanation":"pod ns/p waits: 2 of 3 nodes have one of its host ports in use (n2, n3: n3: why).",)"
      R"("inputsDigest":"0"})"
      "\n");
}

}  // namespace
}  // namespace berth::cli
