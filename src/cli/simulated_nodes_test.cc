#include "cli/simulated_nodes.h"

#include <gtest/gtest.h>

#include "controllers/controllers.h"

namespace berth::cli {
namespace {

class SimulatedNodesTest : public testing::Test {
 protected:
  void write(store::WriteRequest::Kind kind, const std::string& name, std::string text) {
    const std::size_t cut = text.size() - 1;
    store::Draft draft{text.substr(0, cut) + R"(,"version":")", "\"" + text.substr(cut)};
    ASSERT_TRUE(store->write({.kind = kind, .key = {"nodes", "", name}, .uid = name, .draft = draft}).ok());
  }
  static std::string node(bool is_simulated, std::string_view ready) {
    const std::string label =
        is_simulated ? "\"" + std::string(controllers::kSimulatedLabel) + "\":\"true\"" : "";
    return R"({"metadata":{"labels":{)" + label + R"(}},"status":{"conditions":[{"type":"Ready","status":")" +
           std::string(ready) + R"("}]}})";
  }

  std::unique_ptr<store::Store> store = store::open_store({.synchronous = true}).value();
};

using NodeNames = std::vector<std::string>;
using WriteKind = store::WriteRequest::Kind;

TEST_F(SimulatedNodesTest, FollowsWhatIsWritten) {
  write(WriteKind::Create, "a", node(true, "False"));
  write(WriteKind::Create, "real", node(false, "False"));
  SimulatedNodes nodes(*store);
  EXPECT_EQ(nodes.names(), NodeNames{"a"});
  EXPECT_FALSE(nodes.all_ready());

  write(WriteKind::Update, "a", node(true, "True"));
  write(WriteKind::Create, "b", node(true, "Unknown"));
  nodes.refresh();
  EXPECT_EQ(nodes.names(), (NodeNames{"a", "b"}));
  EXPECT_EQ(nodes.ready(), 1u);

  write(WriteKind::Update, "b", node(true, "True"));
  nodes.refresh();
  EXPECT_TRUE(nodes.all_ready());
  write(WriteKind::Update, "a", node(true, "False"));
  nodes.refresh();
  EXPECT_EQ(nodes.ready(), 1u);

  write(WriteKind::Delete, "a", node(true, "False"));
  nodes.refresh();
  EXPECT_EQ(nodes.names(), NodeNames{"b"});
  EXPECT_TRUE(nodes.all_ready());
  write(WriteKind::Create, "a", node(false, "True"));
  nodes.refresh();
  EXPECT_EQ(nodes.names(), NodeNames{"b"});
}

}  // namespace
}  // namespace berth::cli
