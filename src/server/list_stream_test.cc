// Lists that are not answered in one piece: every encoding, slow peers, many at once, one state.
#include <gtest/gtest.h>

#include "api/protobuf_objects.h"
#include "api/yaml.h"
#include "server/list_lane.h"
#include "server/test_bench.h"

namespace berth::server {
namespace {

constexpr const char* kLongMaps = "/api/v1/namespaces/default/configmaps";
constexpr std::size_t kManyMaps = 2 * kListTurnMax + 77;

// A peer that takes as many chunks as it is allowed to.
class ListPeer final : public HttpExchange {
 public:
  explicit ListPeer(std::size_t room = 1'000'000) : room_(room) {}
  void respond(HttpResponse said) override {
    status = said.status;
    headers = std::move(said.headers);
    body = std::move(said.body);
    ended = true;
  }
  void begin_stream(int code, Headers said) override {
    status = code;
    headers = std::move(said);
  }
  bool send(std::string chunk) override {
    if (cut) return false;
    ++chunks;
    largest = std::max(largest, chunk.size());
    body += chunk;
    return true;
  }
  bool has_room() const override { return chunks < room_; }
  void on_room(std::function<void()> callback) override { go_on_ = std::move(callback); }
  void end_stream() override { ended = true; }
  void cut_stream() override { cut = true; }
  void on_close(std::function<void()> callback) override { on_close_ = std::move(callback); }

  void make_room() {
    room_ = 1'000'000;
    if (auto go_on = std::exchange(go_on_, nullptr)) go_on();
  }
  void go_away() {
    cut = true;
    if (auto gone = std::exchange(on_close_, nullptr)) gone();
  }
  Json json() const { return parse_json(body).value_or(Json()); }

  int status = 0;
  Headers headers;
  std::string body;
  std::size_t chunks = 0;
  std::size_t largest = 0;
  bool ended = false;
  bool cut = false;

 private:
  std::size_t room_;
  std::function<void()> go_on_;
  std::function<void()> on_close_;
};

std::string name_of_map(std::size_t i) {
  return "m" + std::to_string(10'000 + i);
}

class ListStreamTest : public testing::Test, protected ServerBench {
 protected:
  void SetUp() override {
    for (std::size_t i = 0; i < kManyMaps; ++i) write("POST", "", name_of_map(i), "first");
  }

  void write(const char* method, const std::string& below, const std::string& name, const char* value) {
    const auto peer = std::make_shared<ListPeer>();
    ask(method, kLongMaps + below, {},
        R"({"metadata":{"name":")" + name + R"(","labels":{"even":")" +
            (name.back() % 2 == 0 ? "yes" : "no") + R"("}},"data":{"k":")" + value + std::string(300, 'x') +
            "\"}}",
        peer);
    ASSERT_LT(peer->status, 300) << peer->body;
  }

  std::shared_ptr<ListPeer> list(Headers query = {}, const std::string& accept = "application/json",
                                 std::size_t room = 1'000'000) {
    auto peer = std::make_shared<ListPeer>(room);
    HttpRequest request;
    request.method = "GET";
    request.path = kLongMaps;
    request.query = std::move(query);
    request.headers = {{"Accept", accept}};
    request.user = {"root", {"system:masters"}};
    server.handle(std::move(request), peer);
    return peer;
  }
  void wait(std::int64_t seconds) {
    clock.advance(Duration::seconds(seconds));
    server.tick(clock.monotonic());
  }
  std::string version() const { return std::to_string(store->revision()); }
};

std::vector<std::string> names_in(const Json& items, bool rows = false) {
  std::vector<std::string> names;
  for (const Json& item : items.as_array())
    names.emplace_back((rows ? item.part("object") : item).part("metadata").string_at("name"));
  return names;
}

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kManyMaps; ++i) names.push_back(name_of_map(i));
  return names;
}

TEST_F(ListStreamTest, TheChunksOfEachFormAreOneBody) {
  const std::string table = "application/json;as=Table;g=meta.k8s.io;v=v1";
  const std::string metadata = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
  struct Case {
    std::string accept, kind, member;
  };
  for (const Case& c : {Case{"application/json", "ConfigMapList", "items"}, Case{table, "Table", "rows"},
                        Case{"application/json" + metadata, "PartialObjectMetadataList", "items"},
                        Case{"application/yaml", "ConfigMapList", "items"}}) {
    SCOPED_TRACE(c.accept);
    const auto peer = list({}, c.accept);
    EXPECT_EQ(peer->status, 200);
    EXPECT_TRUE(peer->ended);
    EXPECT_GT(peer->chunks, 1u);
    EXPECT_LT(peer->largest, 2 * kListChunkBytes);
    const bool yaml = c.accept == "application/yaml";
    const Json body = yaml ? api::parse_yaml_documents(peer->body, "").value().at(0).value : peer->json();
    EXPECT_EQ(body.string_at("kind"), c.kind) << peer->body.substr(0, 300);
    EXPECT_EQ(body.part("metadata").string_at("resourceVersion"), version());
    EXPECT_EQ(names_in(body.part(c.member), c.kind == "Table"), all_names());
  }
}

TEST_F(ListStreamTest, ProtobufSaysItsSizeAndIsWhole) {
  for (const std::string form : {"", ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}) {
    SCOPED_TRACE(form);
    const auto peer = list({}, "application/vnd.kubernetes.protobuf" + form);
    EXPECT_TRUE(peer->ended);
    EXPECT_GT(peer->chunks, 0u);
    const Result<api::ProtobufList> read = api::open_protobuf_list(peer->body);
    ASSERT_TRUE(read.ok()) << read.error().text();
    EXPECT_EQ(read->resource_version, version());
    EXPECT_EQ(read->items.size(), kManyMaps);
  }
}

// More than is kept of a measured body: it is made twice.
TEST_F(ListStreamTest, ALargeBodyOfProtobufIsWhole) {
  constexpr std::size_t kLarge = 40;
  const std::string large(900'000, 'y');
  for (std::size_t i = 0; i < kLarge; ++i) write("POST", "", "n" + std::to_string(i), large.c_str());
  const auto peer = list({}, "application/vnd.kubernetes.protobuf");
  EXPECT_GT(peer->body.size(), kMeasuredKeptBytes);
  const Result<api::ProtobufList> read = api::open_protobuf_list(peer->body);
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(read->items.size(), kManyMaps + kLarge);
}

TEST(KeptBytes, AreBoundedOverAllLists) {
  KeptBytes kept;
  EXPECT_TRUE(kept.take(kMeasuredKeptOfAllBytes - 1));
  EXPECT_FALSE(kept.take(2));
  EXPECT_TRUE(kept.take(1));
  kept.give_back(kMeasuredKeptOfAllBytes);
  EXPECT_TRUE(kept.take(kMeasuredKeptOfAllBytes));
}

TEST_F(ListStreamTest, APageSaysWhereItEnds) {
  constexpr std::size_t kPage = kListTurnMax + 100;
  const auto first = list({{"limit", std::to_string(kPage)}});
  const Json page = first->json();
  EXPECT_GT(first->chunks, 1u);
  ASSERT_EQ(page.part("items").as_array().size(), kPage);
  EXPECT_EQ(page.part("metadata").int_at("remainingItemCount"), static_cast<std::int64_t>(kManyMaps - kPage));
  const std::string then(page.part("metadata").string_at("continue"));
  const std::string state = version();
  write("PUT", "/" + name_of_map(kManyMaps - 1), name_of_map(kManyMaps - 1), "second");
  const Json rest = list({{"limit", std::to_string(kPage)}, {"continue", then}})->json();
  EXPECT_EQ(rest.part("items").as_array().size(), kManyMaps - kPage);
  EXPECT_EQ(rest.part("metadata").string_at("resourceVersion"), state);
  EXPECT_TRUE(rest.part("items").as_array().back().part("data").string_at("k").starts_with("first"));

  const Json even = list({{"labelSelector", "even=yes"}, {"limit", "200"}})->json();
  EXPECT_EQ(even.part("items").as_array().size(), 200u);
  EXPECT_FALSE(even.part("metadata").string_at("continue").empty());
  EXPECT_EQ(even.part("metadata").find("remainingItemCount"), nullptr);
}

TEST_F(ListStreamTest, OneStateWhateverIsWrittenMeanwhile) {
  const auto peer = list({}, "application/json", 1);
  const std::string state = version();
  ASSERT_EQ(peer->chunks, 1u);
  ASSERT_FALSE(peer->ended);
  write("PUT", "/" + name_of_map(kManyMaps - 1), name_of_map(kManyMaps - 1), "second");
  write("POST", "", "z-late", "first");
  ask("DELETE", std::string(kLongMaps) + "/" + name_of_map(kManyMaps - 2), {}, "",
      std::make_shared<ListPeer>());
  peer->make_room();
  ASSERT_TRUE(peer->ended);
  const Json body = peer->json();
  EXPECT_EQ(body.part("metadata").string_at("resourceVersion"), state);
  EXPECT_EQ(names_in(body.part("items")), all_names());
  EXPECT_EQ(peer->body.find("second"), std::string::npos);
}

// What a process of 6 GB was.
TEST_F(ListStreamTest, UnreadListsAreBoundedAndCut) {
  std::vector<std::shared_ptr<ListPeer>> peers;
  for (std::size_t i = 0; i < kListsOpenMax + 4; ++i) peers.push_back(list({}, "application/json", 1));
  const auto begun = [&] {
    std::size_t count = 0;
    for (const auto& peer : peers) count += peer->chunks > 0 && !peer->cut;
    return count;
  };
  EXPECT_EQ(begun(), kListsOpenMax) << "the others wait";
  for (const auto& peer : peers) EXPECT_LT(peer->body.size(), 2 * kListChunkBytes);
  wait(kListStallS - 1);
  EXPECT_EQ(begun(), kListsOpenMax);
  wait(2);
  EXPECT_TRUE(peers.front()->cut) << "it takes nothing, and others wait";
  EXPECT_EQ(begun(), 4u) << "those that waited";
  peers.back()->make_room();
  EXPECT_TRUE(peers.back()->ended);
  EXPECT_EQ(names_in(peers.back()->json().part("items")), all_names());
  wait(kListStallS + 1);
  EXPECT_FALSE(peers[kListsOpenMax]->cut) << "nobody waits for its slot";
  wait(kListTimeoutS);
  EXPECT_TRUE(peers[kListsOpenMax]->cut);
}

TEST_F(ListStreamTest, APeerThatGoesGivesItsSlot) {
  std::vector<std::shared_ptr<ListPeer>> peers;
  for (std::size_t i = 0; i < kListsOpenMax; ++i) peers.push_back(list({}, "application/json", 1));
  const auto waiting = list();
  EXPECT_EQ(waiting->chunks, 0u);
  peers.front()->go_away();
  EXPECT_TRUE(waiting->ended);
  EXPECT_EQ(names_in(waiting->json().part("items")), all_names());
}

TEST_F(ListStreamTest, TooManyThatWaitAreRefused) {
  std::vector<std::shared_ptr<ListPeer>> peers;
  for (std::size_t i = 0; i < kListsOpenMax + kListsWaitingMax; ++i)
    peers.push_back(list({}, "application/json", 1));
  EXPECT_EQ(list()->status, 429);
  const auto small = list({{"limit", "1"}});
  EXPECT_EQ(small->status, 200) << "what is done within a turn needs no slot";
  for (std::size_t i = 0; i < kListsOpenMax; ++i) peers[i]->make_room();
  EXPECT_TRUE(peers.front()->ended);
}

TEST_F(ListStreamTest, ALargeCollectionIsDeletedAndAnswered) {
  const auto peer = std::make_shared<ListPeer>();
  ask("DELETE", kLongMaps, {{"labelSelector", "even=yes"}}, "", peer);
  EXPECT_EQ(peer->status, 200);
  const std::size_t deleted = peer->json().part("items").as_array().size();
  EXPECT_GT(deleted, kListTurnMax);
  EXPECT_EQ(store->count("configmaps"), kManyMaps - deleted);
}

}  // namespace
}  // namespace berth::server
