#include "cli/cel_lines.h"

#include <gtest/gtest.h>

#include <vector>

namespace berth::cli {
namespace {

TEST(CelLines, AnswersAsPromised) {
  static constexpr struct {
    const char* asked;
    const char* answer;
  } kLines[] = {
      {R"({"id":1,"expr":"device.attributes['a'].x == 1","device":{"attributes":{"a/x":{"int":1}}}})",
       R"({"id":1,"value":true,"type":"bool","cost":5})"},
      {R"({"id":2,"expr":"x + 1","vars":{"x":{"int":"41"}}})",
       R"({"id":2,"value":"42","type":"int","cost":2})"},
      {R"({"id":"a","expr":"b + b'c'","vars":{"b":{"bytes":"YWI="}}})",
       R"({"id":"a","value":"YWJj","type":"bytes","cost":2})"},
      {R"({"id":3,"expr":"d + d","vars":{"d":{"duration":"45m"}}})",
       R"({"id":3,"value":"5400s","type":"duration","cost":3})"},
      {R"({"id":4,"expr":"m.k","vars":{"m":{"map":{"k":{"double":2.5}}}}})",
       R"({"id":4,"value":2.5,"type":"double","cost":2})"},
      {R"({"id":5,"expr":"null"})", R"({"id":5,"value":null,"type":"null","cost":0})"},
      {R"({"id":6,"expr":"1 / 0"})", R"({"id":6,"error":"runtime","text":"division by zero","cost":1})"},
  };
  for (const auto& [asked, answer] : kLines) EXPECT_EQ(to_string(answer_cel(asked)), answer);
}

TEST(CelLines, SaysWhatIsWrong) {
  static constexpr struct {
    const char* asked;
    const char* contains[2];
  } kLines[] = {
      {R"({"id":1,"expr":"1 +"})", {R"("error":"compile")", R"("line":1,"column":4)"}},
      {R"({"id":1,"expr":"1","device":{"driver":"d"}})", {R"("error":"compile")", "bool"}},
      {R"({"id":1,"expr":"lists.range(100000).all(x, lists.range(1000) != [x]) "})",
       {R"("error":"cost")", "cost limit"}},
      {"nonsense", {R"("id":null,"error":"input")", "no JSON"}},
      {R"({"id":1})", {R"("error":"input")", "expr"}},
      {R"({"id":1,"expr":"x","vars":{"x":{"number":1}}})", {R"("error":"input")", "vars.x: number"}},
      {R"({"id":1,"expr":"true","device":{"driver":"d","capacity":{"m":{"value":"1Kx"}}}})",
       {R"("error":"input")", "device.capacity[m].value"}},
  };
  for (const auto& [asked, contains] : kLines) {
    const std::string answer = to_string(answer_cel(asked));
    for (const char* part : contains)
      EXPECT_NE(answer.find(part), std::string::npos) << asked << " → " << answer;
  }
}

TEST(CelLines, KeepsNoMoreOfALineThanItsBound) {
  std::FILE* input = std::tmpfile();
  ASSERT_NE(input, nullptr);
  std::fputs("short\nmuch too long\n\nlast", input);
  std::rewind(input);
  std::string line;
  std::vector<std::string> lines;
  while (read_line(input, 5, line)) lines.push_back(line);
  std::fclose(input);
  EXPECT_EQ(lines, (std::vector<std::string>{"short", "much t", "", "last"}));
  EXPECT_NE(to_string(answer_too_long()).find("16 MiB"), std::string::npos);
}

}  // namespace
}  // namespace berth::cli
