#include "dashboard/history.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/random.h"
#include "dashboard/gzip.h"
#include "dashboard/history_pages.h"
#include "dashboard/recorder.h"
#include "dashboard/replay.h"
#include "dashboard/testing/floor_room.h"

namespace berth::dashboard {
namespace {

namespace fs = std::filesystem;
constexpr std::int64_t kFirstSecond = 1'800'000'000;

// A folder that is gone with the test.
struct Folder {
  fs::path path = fs::path(testing::TempDir()) /
                  ("history-" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
  Folder() { fs::remove_all(path); }
  ~Folder() { fs::remove_all(path); }
  std::unique_ptr<SegmentStore> open() const { return std::move(*segments_in_folder(path.string())); }
};

// A floor whose changes are recorded, a step a second.
struct Recorded {
  FloorRoom room;
  History history;
  Recorder recorder{history};
  std::int64_t second = kFirstSecond;

  explicit Recorded(std::unique_ptr<SegmentStore> store, std::size_t bytes_max = kHistoryBytesInMemoryMax)
      : history(std::move(store), bytes_max) {}
  Time now() const { return Time::from_seconds(second); }
  std::int64_t ms() const { return second * 1000; }
  void step() {
    ++second;
    const bool new_layout = room.floor.refresh(room.view);
    recorder.note_floor(room.floor, room.floor.take_changes(), new_layout, now());
    recorder.note_second(room.floor, now());
  }
  void wait(std::vector<std::string> names) {
    JsonArray entries;
    for (const std::string& name : names)
      entries.push_back(Json::object({{"kind", "Pod"}, {"namespace", "ns"}, {"name", name}, {"pods", 1}}));
    const auto total = static_cast<std::int64_t>(entries.size());
    recorder.note_queue(Json::object({{"total", total}, {"entries", std::move(entries)}}));
  }
  Json ask(const HistoryQuestion& question) const {
    const Result<Json> found = answer(history, question);
    EXPECT_TRUE(found.ok()) << (found ? "" : found.error().text());
    return found ? *found : Json();
  }
};

// By device, in the words of FloorRoom::text_of.
std::map<std::string, std::string> text_at(const History& history, std::int64_t ms) {
  const Result<History::Piece> piece = history.at(ms);
  EXPECT_TRUE(piece.ok());
  const Result<HistoryState> state = replay(piece->lines, ms);
  EXPECT_TRUE(state.ok()) << state.error().text();
  const LayoutNames names(state->layout);
  std::map<std::string, std::string> lines;
  for (CellId cell = 0; cell < state->cells.size(); ++cell) {
    const LayoutNames::Name name = names.of(cell);
    const auto owner = state->owners.find(state->cells[cell].owner);
    lines[std::string(name.node) + "/" + std::string(name.device)] =
        FloorRoom::cell_text(state->cells[cell], owner == state->owners.end() ? Owner{} : owner->second);
  }
  return lines;
}

void two_nodes(FloorRoom& room) {
  room.topology();
  for (const char* node : {"n1", "n2"}) {
    room.node(node, "r1");
    room.slice(node, 2);
  }
}

TEST(History, AnInstantHasTheFloorTheQueueAndTheDecisionThatChangedIt) {
  Recorded recorded(segments_in_memory());
  two_nodes(recorded.room);
  recorded.wait({"p"});
  recorded.step();
  const std::int64_t before = recorded.ms();
  recorded.room.pod("p", "n1", "", "c");
  recorded.room.claim("c", "n1", 1, "p");
  recorded.recorder.note_decision(
      Json::object({{"kind", "Pod"}, {"namespace", "ns"}, {"name", "p"}, {"result", "Placed"}}),
      {OwnerKind::Pod, "ns", "p"}, recorded.now());
  recorded.wait({});
  recorded.step();
  const std::int64_t after = recorded.ms();

  const Json old = recorded.ask(MomentQuestion{before, ""});
  EXPECT_EQ(old.part("queue").items_at("entries").front().string_at("name"), "p");
  EXPECT_EQ(old.items_at("runs").size(), 1u) << "all devices are free";
  EXPECT_EQ(old.int_at("next"), after) << "the decision is of the same second";
  const Json now = recorded.ask(MomentQuestion{after, std::string(old.string_at("layoutId"))});
  EXPECT_FALSE(now.find("layout")) << "the asker has it";
  EXPECT_EQ(now.part("queue").int_at("total"), 0);
  EXPECT_EQ(now.int_at("next"), 0);
  const Json& step = now.part("step");
  ASSERT_EQ(step.items_at("changes").size(), 1u);
  EXPECT_EQ(step.items_at("changes")[0].part("after").part("owner").string_at("name"), "p");
  EXPECT_EQ(step.items_at("changes")[0].items_at("nodes")[0].as_string(), "n1");
  ASSERT_EQ(step.items_at("decisions").size(), 1u);
  EXPECT_EQ(step.items_at("decisions")[0].string_at("result"), "Placed");

  const Json difference = recorded.ask(DifferenceQuestion{before, after});
  EXPECT_EQ(difference.part("devices").int_at("total"), 1);
  const Json& row = difference.part("devices").items_at("rows")[0];
  EXPECT_EQ(row.string_at("node"), "n1");
  EXPECT_EQ(row.string_at("device"), "gpu-1");
  EXPECT_EQ(row.part("before").string_at("use"), "Free");
  EXPECT_EQ(row.part("after").string_at("use"), "Used");
  EXPECT_EQ(difference.part("queue").items_at("left").size(), 1u);
  EXPECT_EQ(difference.part("owners").items_at("rows")[0].int_at("after"), 1);
}

TEST(History, IsThereAfterARestartWithAGap) {
  const Folder folder;
  std::int64_t before = 0;
  std::map<std::string, std::string> expected;
  {
    Recorded recorded(folder.open());
    two_nodes(recorded.room);
    recorded.room.pod("p", "n1", "", "c");
    recorded.room.claim("c", "n1", 0, "p");
    recorded.step();
    before = recorded.ms();
    expected = recorded.room.text();
  }
  // The process died while it wrote a line.
  for (const fs::directory_entry& file : fs::directory_iterator(folder.path))
    std::ofstream(file.path(), std::ios::app) << R"({"time":18)";
  Recorded later(folder.open());
  later.second += 3600;
  two_nodes(later.room);
  later.step();
  EXPECT_EQ(text_at(later.history, before), expected);
  EXPECT_EQ(text_at(later.history, later.ms()), later.room.text());
  const Json overview = later.history.overview();
  EXPECT_EQ(overview.int_at("from"), before);
  EXPECT_EQ(overview.int_at("to"), later.ms());
  EXPECT_TRUE(overview.bool_at("onDisk"));
  ASSERT_EQ(overview.items_at("gaps").size(), 1u);
  EXPECT_EQ(overview.items_at("gaps")[0], Json::array({before, later.ms()}));
  EXPECT_EQ(overview.items_at("samples").size(), 2u);
  const Json difference = later.ask(DifferenceQuestion{before, later.ms()});
  EXPECT_EQ(difference.part("devices").int_at("total"), 1) << "devices are compared by name";
}

TEST(History, HasWhatWasIll) {
  const Folder folder;
  const auto ill = [](const Json& sample) {
    std::string text;
    for (std::size_t at = 6; at < sample.as_array().size(); ++at)
      text += (at == 6 ? "" : " ") + std::to_string(sample.as_array()[at].as_int());
    return text;
  };
  {
    Recorded recorded(folder.open());
    two_nodes(recorded.room);
    recorded.step();
    recorded.second += 10;
    recorded.room.slice("n1", 2, "NoExecute");
    recorded.step();
    recorded.second += 10;
    recorded.room.node("n2", "r2", false);
    recorded.step();
  }
  // Of a process that did not count.
  std::ofstream(folder.path / "history-000000000000001.jsonl")
      << R"({"time":1,"sums":[1,0,0,4,0,0]})" << "\n";
  const Json overview = History(folder.open()).overview();
  std::vector<std::string> samples;
  for (const Json& sample : overview.items_at("samples")) samples.push_back(ill(sample));
  EXPECT_EQ(samples, (std::vector<std::string>{"", "0 0 0", "1 0 1", "3 1 2"}));
}

TEST(History, OldestSegmentsGoFirst) {
  const Folder folder;
  constexpr std::size_t kBytesMax = 3u << 19;
  Recorded recorded(folder.open(), kBytesMax);
  two_nodes(recorded.room);
  SeededRandom random(1);
  recorded.step();
  for (int i = 0; i < 9000; ++i) {
    std::string name = "pod";
    for (int part = 0; part < 45; ++part) name += std::to_string(random.below(1u << 30));
    recorded.room.pod(name, "n1", "", "c");
    recorded.room.claim("c", "n1", i % 2, name);
    recorded.step();
    recorded.room.erase(api::Kind::Pod, "ns", name);
  }
  recorded.step();
  std::size_t packed = 0;
  for (const fs::directory_entry& file : fs::directory_iterator(folder.path))
    if (file.path().native().ends_with(".gz")) packed += file.file_size();
  EXPECT_GT(packed, 0u);
  EXPECT_LE(packed, kBytesMax);
  EXPECT_GT(recorded.history.overview().int_at("from"), kFirstSecond * 1000 + 1000);
  const Result<History::Piece> forgotten = recorded.history.at(kFirstSecond * 1000 + 1000);
  ASSERT_FALSE(forgotten.ok());
  EXPECT_EQ(forgotten.error().code(), ErrorCode::Gone);
  EXPECT_EQ(text_at(recorded.history, recorded.ms()), recorded.room.text());
}

TEST(History, WhatCannotBeReadIsRemoved) {
  const Folder folder;
  const auto put = [&](const char* name, const std::string& bytes) {
    std::ofstream(folder.path / name, std::ios::binary) << bytes;
  };
  folder.open();
  put("history-000000000000001.jsonl.gz", "no gzip");
  put("history-000000000000002.jsonl.gz", gzipped("{\"version\":99}\n"));
  put("history-000000000000003.jsonl", "no JSON\n");
  put("history-000000000000004.jsonl", "");
  put("history-000000000000005.jsonl", "{\"time\":5}\n");
  fs::resize_file(folder.path / "history-000000000000005.jsonl", kSegmentTextBytesMax + 1);
  put("notes.txt", "of somebody else");
  const History history(folder.open());
  EXPECT_EQ(history.overview().int_at("from"), 0);
  EXPECT_FALSE(fs::exists(folder.path / "history-000000000000001.jsonl.gz"));
  EXPECT_FALSE(fs::exists(folder.path / "history-000000000000002.jsonl.gz"));
  EXPECT_FALSE(fs::exists(folder.path / "history-000000000000003.jsonl"));
  EXPECT_FALSE(fs::exists(folder.path / "history-000000000000005.jsonl"));
  EXPECT_TRUE(fs::exists(folder.path / "notes.txt"));
}

// Counts the bytes that are read of the segments.
class ReadSegments final : public SegmentStore {
 public:
  ReadSegments(std::unique_ptr<SegmentStore> store, std::size_t& bytes)
      : store_(std::move(store)), bytes_(bytes) {}
  bool is_on_disk() const override { return store_->is_on_disk(); }
  std::vector<std::string> names() const override { return store_->names(); }
  Result<std::string> read(const std::string& name) const override {
    Result<std::string> read = store_->read(name);
    if (read) bytes_ += read->size();
    return read;
  }
  Result<Beginning> read_beginning(const std::string& name, std::size_t bytes_max) const override {
    Result<Beginning> read = store_->read_beginning(name, bytes_max);
    if (read) bytes_ += read->bytes.size();
    return read;
  }
  Status write(const std::string& name, std::string_view bytes) override {
    return store_->write(name, bytes);
  }
  Status append(const std::string& name, std::string_view bytes) override {
    return store_->append(name, bytes);
  }
  void remove(const std::string& name) override { store_->remove(name); }

 private:
  const std::unique_ptr<SegmentStore> store_;
  std::size_t& bytes_;
};

TEST(History, OfPackedSegmentsTheHeadersAreRead) {
  SeededRandom random(1);
  std::string noise;
  while (noise.size() < 300'000) noise.push_back(static_cast<char>(random.below(256)));
  std::size_t stored = 0, read = 0;
  auto store = std::make_unique<ReadSegments>(segments_in_memory(), read);
  const SegmentStore& kept = *store;
  for (std::size_t at = 1; at <= kHistorySegmentsMax + 2; ++at) {
    char name[40];
    std::snprintf(name, sizeof name, "history-%015zu.jsonl.gz", at);
    const std::string ms = std::to_string(at * 1000);
    const std::string packed =
        gzipped(R"({"version":1,"from":)" + ms + R"(,"to":)" + ms + R"(,"samples":[]})" + "\n" +
                (at == kHistorySegmentsMax ? noise : std::string()));
    ASSERT_TRUE(store->write(name, packed));
    stored += packed.size();
  }
  ASSERT_TRUE(store->write(
      "history-" + std::string(12, '0') + std::to_string(kHistorySegmentsMax + 2) + ".jsonl", "x"));
  const History history(std::move(store));
  EXPECT_LT(read, stored / 2);
  EXPECT_EQ(history.overview().int_at("from"), 3000) << "the earliest are beyond the bound";
  EXPECT_EQ(kept.names().front(), "history-000000000000003.jsonl.gz");
  EXPECT_EQ(history.at(kHistorySegmentsMax * 1000)->lines, noise);
}

// A process may end at any step of taking one segment's lines into a packed file.
TEST(History, WhatAnEarlierProcessLeftUnfinishedIsThereOnceOrGone) {
  const Folder folder;
  {
    Recorded recorded(folder.open());
    two_nodes(recorded.room);
    recorded.step();
  }
  const fs::path plain = fs::directory_iterator(folder.path)->path(), kept = plain.string() + ".kept";
  const fs::path packed = plain.string() + ".gz", unfinished = packed.string() + ".new";
  fs::copy_file(plain, kept);
  History(folder.open()).overview();
  ASSERT_TRUE(fs::exists(packed));
  EXPECT_FALSE(fs::exists(plain));

  fs::copy_file(kept, plain);  // it is packed, and not removed
  std::ofstream(unfinished) << "the beginning of something";
  const History once(folder.open());
  EXPECT_EQ(once.overview().items_at("samples").size(), 1u);
  EXPECT_EQ(once.overview().items_at("gaps").size(), 0u);
  EXPECT_FALSE(fs::exists(plain));
  EXPECT_FALSE(fs::exists(unfinished));

  fs::remove(packed);
  fs::copy_file(kept, plain);
  fs::create_directories(unfinished / "no file can be here");
  const History refused(folder.open());
  EXPECT_EQ(refused.at(refused.overview().int_at("from")).error().code(), ErrorCode::Gone);
  EXPECT_FALSE(fs::exists(plain)) << "what cannot be kept takes no room";
}

TEST(History, SegmentsAreInOrderThoughTheClockWentBack) {
  const Folder folder;
  folder.open();
  std::ofstream(folder.path / "history-000000000000100.jsonl") << "{\"time\":100}\n{\"time\":200}\n";
  std::ofstream(folder.path / "history-000000000000201.jsonl") << "{\"time\":50}\n";
  const History history(folder.open());
  EXPECT_EQ(history.overview().int_at("from"), 100);
  EXPECT_EQ(history.overview().int_at("to"), 201);
  EXPECT_NE(history.at(200)->lines.find("200"), std::string::npos);
  EXPECT_NE(history.at(201)->lines.find("50"), std::string::npos);
}

TEST(History, DamagedLinesAreRefused) {
  const char* keyframe = R"({"time":1,"layout":{},"runs":[[0,2,0,0]]})";
  for (const char* line : {R"({"time":2,"runs":[[1,9,0,0]]})", R"({"time":2,"runs":[[0,1,77,0]]})",
                           R"({"time":2,"runs":[[0]]})", R"({"time":2,"runs":[],"owners":[[1,0,"ns"]]})", "x",
                           R"({"time":2,"layout":{},"runs":[[1,1,0,0]]})"}) {
    const Result<HistoryState> state = replay(std::string(keyframe) + "\n" + line + "\n", 5);
    ASSERT_FALSE(state.ok()) << line;
    EXPECT_EQ(state.error().code(), ErrorCode::Invalid) << line;
  }
  EXPECT_EQ(replay(std::string(keyframe) + "\n", 0).error().code(), ErrorCode::Gone);
}

TEST(History, SegmentsAndTheSamplesShownAreBounded) {
  History history(segments_in_memory());
  std::int64_t ms = 0;
  for (std::size_t segment = 0; segment <= kHistorySegmentsMax; ++segment) {
    ++ms;
    history.begin("{}", {.ms = ms, .cells = {.used = ms}}, false);
    for (int line = 0; line < 5; ++line) {
      ms += 2000;
      history.add("{}", {.ms = ms, .cells = {.used = ms}});
    }
  }
  EXPECT_EQ(history.at(1).error().code(), ErrorCode::Gone);
  EXPECT_TRUE(history.at(10'002).ok());
  const std::size_t shown = history.overview().items_at("samples").size();
  EXPECT_LE(shown, kSamplesShownMax);
  EXPECT_GT(shown, kSamplesShownMax / 2 - 1);
}

TEST(History, SamplesAreSpreadEvenly) {
  SegmentSamples samples;
  for (std::int64_t second = 0; second < 5000; ++second)
    samples.add({.ms = second * 1000, .cells = {.used = second}});
  ASSERT_LE(samples.all().size(), kSamplesOfASegmentMax);
  ASSERT_GT(samples.all().size(), kSamplesOfASegmentMax / 4);
  for (std::size_t at = 2; at < samples.all().size(); ++at)
    EXPECT_GE(samples.all()[at].ms - samples.all()[at - 1].ms, 16'000) << at;
}

TEST(History, NodesThatComeAllTheTimeCostABoundedAmount) {
  Recorded recorded(segments_in_memory());
  recorded.room.topology();
  for (int node = 0; node < 600; ++node) {
    recorded.room.node("a-node-with-a-long-name-" + std::to_string(node), "rack-" + std::to_string(node));
    recorded.step();
  }
  const Result<History::Piece> piece = recorded.history.at(recorded.ms());
  ASSERT_TRUE(piece.ok());
  EXPECT_LT(piece->lines.size(), 600u * 2 * kKeyframeBytesPerSecondMax);
  recorded.second += 60;
  recorded.step();
  EXPECT_EQ(text_at(recorded.history, recorded.ms()), recorded.room.text()) << "the last keyframe is written";
}

// Every instant of a random history gives the floor that was there.
TEST(HistoryJudge, EveryInstantIsTheFloorOfItsTime) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SeededRandom random(seed);
    Recorded recorded(segments_in_memory());
    two_nodes(recorded.room);
    std::map<std::int64_t, std::map<std::string, std::string>> floors;
    for (int step = 0; step < 80; ++step) {
      const std::string pod = "p" + std::to_string(random.below(4)), node = random.below(2) ? "n1" : "n2";
      const std::string claim = "c" + std::to_string(random.below(4));
      switch (random.below(6)) {
        case 0:
          recorded.room.node(node, "r" + std::to_string(random.below(2)), random.below(3) > 0);
          break;
        case 1:
          recorded.room.erase(api::Kind::Pod, "ns", pod);
          break;
        case 2:
          recorded.room.pod(pod, random.below(2) ? node : "", random.below(2) ? "g" : "", claim);
          break;
        default:
          recorded.room.claim(claim, node, static_cast<int>(random.below(3)) - 1, random.below(2) ? pod : "");
      }
      recorded.step();
      floors[recorded.ms()] = recorded.room.text();
    }
    for (const auto& [ms, floor] : floors) EXPECT_EQ(text_at(recorded.history, ms), floor) << seed;
  }
}

}  // namespace
}  // namespace berth::dashboard
