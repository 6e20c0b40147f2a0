#include "dashboard/board.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "scheduling/decision_log.h"

namespace berth::dashboard {
namespace {

using scheduling::DecisionKind;

const Time kStart = Time::from_seconds(1000);

struct Reader final : Publisher {
  bool reads = false;
  std::map<std::string, int> puts;
  std::map<std::string, std::string> texts;
  void put(std::string_view page, std::string text) override {
    ++puts[std::string(page)];
    texts[std::string(page)] = std::move(text);
  }
  void tell(std::string_view, const std::string&) override {}
  bool take_reads() override { return reads; }
};

// A board in a cluster in which a pod changes before every decision.
struct Desk {
  client::View view;
  Reader reader;
  DecisionNotes notes;
  History history{segments_in_memory()};
  Board board{reader, notes, history, {}};
  std::uint64_t version = 0;

  // `spec`: members of spec; `metadata`: further ones of metadata, after a comma.
  void change(api::Kind kind, const std::string& name, const std::string& spec = "",
              const std::string& metadata = "") {
    const std::string text = R"({"metadata":{"namespace":"ns","name":")" + name + R"(","uid":")" + name +
                             R"(","resourceVersion":")" + std::to_string(++version) + "\"" + metadata +
                             R"(},"spec":{)" + spec + "}}";
    auto object = api::decode_typed(kind, std::make_shared<const std::string>(text));
    ASSERT_TRUE(object.ok()) << text;
    if (const auto delta = view.put({kind, "ns", name}, *object)) board.apply(view, *delta, kStart);
  }
  void erase(api::Kind kind, const std::string& name) {
    if (const auto delta = view.erase({kind, "ns", name}, ++version)) board.apply(view, *delta, kStart);
  }
  void run(std::int64_t from_s, std::int64_t to_s) {
    for (std::int64_t second = from_s; second < to_s; ++second) {
      change(api::Kind::Pod, "p");
      board.decide(view, kStart + Duration::seconds(second));
    }
  }
};

std::string refused(scheduling::DecisionKind kind, const std::string& name) {
  return R"({"time":"2026-01-01T00:00:00.000000Z","kind":")" + std::string(name_of(kind)) +
         R"(","namespace":"ns","name":")" + name +
         R"(","result":"Unschedulable","reason":"Unschedulable","message":"0/1 nodes. Ours.",)" +
         R"("explanation":"Ours.","placed":[]})";
}

TEST(Board, PagesAreMadeSeldomWhileNobodyReads) {
  Desk desk;
  desk.run(0, 30);
  for (const char* page : {"waiting", "groups", "room", "health", "pace"})
    EXPECT_EQ(desk.reader.puts[page], 15) << page;
  desk.reader.puts.clear();
  desk.reader.reads = true;
  desk.run(30, 60);
  for (const char* page : {"waiting", "groups", "room", "health", "pace"})
    EXPECT_EQ(desk.reader.puts[page], 30) << page;
}

TEST(Board, WhoBeginsToReadFindsPagesOfNow) {
  Desk desk;
  desk.run(0, 5);
  desk.change(api::Kind::Pod, "late");
  desk.reader.reads = true;
  desk.board.decide(desk.view, kStart + Duration::seconds(5));
  EXPECT_EQ(parse_json(desk.reader.texts["waiting"])->int_at("total"), 2);
}

TEST(Board, APodWhoseClaimOrGroupNobodyMadeIsGated) {
  Desk desk;
  desk.reader.reads = true;
  desk.change(
      api::Kind::Pod, "p",
      R"("schedulingGroup":{"podGroupName":"g"},"resourceClaims":[{"name":"c","resourceClaimName":"d"}])");
  const auto state = [&](std::int64_t second) {
    desk.board.decide(desk.view, kStart + Duration::seconds(second));
    return std::string(
        parse_json(desk.reader.texts["waiting"])->items_at("entries").front().string_at("state"));
  };
  EXPECT_EQ(state(0), "Gated");
  desk.change(api::Kind::PodGroup, "g");
  EXPECT_EQ(state(1), "Gated");
  desk.change(api::Kind::ResourceClaim, "d");
  EXPECT_EQ(state(2), "Queued");
  desk.change(api::Kind::ResourceClaim, "d", "", R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")");
  EXPECT_EQ(state(3), "Gated") << "the scheduler does not try it either";
}

TEST(Board, AChangeOfTheFloorDoesNotWaitForTheNextPages) {
  Desk desk;
  desk.reader.reads = true;
  const auto at = [](std::int64_t ms) { return kStart + Duration::millis(ms); };
  desk.board.decide(desk.view, at(0));
  desk.change(api::Kind::Pod, "p");
  desk.board.decide(desk.view, at(900));
  desk.change(api::Kind::Pod, "q");
  const client::Effects effects = desk.board.decide(desk.view, at(1000));  // pages are due, the floor is not
  ASSERT_TRUE(effects.wake_at);
  EXPECT_EQ(*effects.wake_at, at(1050));
}

TEST(Board, EachSecondOfThePaceHasItsWrites) {
  Desk desk;
  desk.reader.reads = true;
  desk.run(0, 1);
  desk.notes.add_writes({3, 1});
  desk.notes.add_writes({1, 0});
  desk.run(1, 3);
  const Json page = *parse_json(desk.reader.texts["pace"]);
  EXPECT_EQ(to_string(page.part("written")), "[0,4,0]");
  EXPECT_EQ(to_string(page.part("notWritten")), "[0,1,0]");
}

TEST(Board, EachSecondOfThePaceHasWhatTheServerTook) {
  Desk desk;
  desk.reader.reads = true;
  desk.run(0, 1);
  const auto took = [](client::WriteVerb verb, std::int64_t micros) {
    client::WriteTimes times{};
    times[static_cast<std::size_t>(verb)].add(Duration::micros(micros));
    return times;
  };
  for (int write = 0; write < 9; ++write) desk.notes.add_write_times(took(client::WriteVerb::Create, 7));
  desk.notes.add_write_times(took(client::WriteVerb::Patch, 1000));
  desk.run(1, 3);
  const Json page = *parse_json(desk.reader.texts["pace"]);
  EXPECT_EQ(to_string(page.part("answerP50Micros")), "[null,8,null]");
  EXPECT_EQ(to_string(page.part("answerP99Micros")), "[null,1024,null]");
  EXPECT_EQ(to_string(page.part("answers")),
            R"([{"verb":"create","count":9,"p50Micros":8,"p99Micros":8},)"
            R"({"verb":"update","count":0,"p50Micros":null,"p99Micros":null},)"
            R"({"verb":"patch","count":1,"p50Micros":1024,"p99Micros":1024},)"
            R"({"verb":"delete","count":0,"p50Micros":null,"p99Micros":null}])");
}

TEST(DecisionNotes, ARefusalIsForgottenWithItsGroup) {
  Desk desk;
  const Owner group{OwnerKind::PodGroup, "ns", "g"};
  desk.change(api::Kind::PodGroup, "g");
  desk.notes.add(refused(DecisionKind::Group, "g"));
  ASSERT_TRUE(desk.notes.read());
  ASSERT_TRUE(desk.notes.refusal_of(group));
  EXPECT_EQ(desk.notes.refusal_of(group)->string_at("sentence"), "0/1 nodes.");
  desk.erase(api::Kind::PodGroup, "g");
  EXPECT_FALSE(desk.notes.refusal_of(group));
}

TEST(DecisionNotes, LinesNameKindsAsTheDecisionLogDoes) {
  DecisionNotes notes;
  const std::pair<DecisionKind, OwnerKind> rows[] = {
      {DecisionKind::Pod, OwnerKind::Pod},
      {DecisionKind::Group, OwnerKind::PodGroup},
      {DecisionKind::CompositeGroup, OwnerKind::CompositePodGroup},
  };
  for (const auto& [said, kind] : rows) {
    notes.add(refused(said, "x"));
    notes.read();
    EXPECT_TRUE(notes.refusal_of({kind, "ns", "x"}));
    EXPECT_EQ(notes.take_new().front().string_at("kind"), name_of(kind));
  }
}

TEST(DecisionNotes, RoomsThatAreHeldReplaceTheOnesBefore) {
  Desk desk;
  desk.reader.reads = true;
  const auto total = [&](std::int64_t second) {
    desk.board.decide(desk.view, kStart + Duration::seconds(second));
    return parse_json(desk.reader.texts["reservations"])->int_at("total");
  };
  EXPECT_EQ(total(0), 0);
  desk.notes.hold({.total = 2, .rooms = {}});
  desk.notes.hold({.total = 1, .rooms = {}});
  EXPECT_EQ(total(1), 1);
  desk.notes.hold({});
  EXPECT_EQ(total(2), 0);
}

TEST(DecisionNotes, TheLatestRefusalsAreKept) {
  DecisionNotes notes;
  for (std::size_t i = 0; i <= kRefusalsKeptMax; ++i) {
    notes.add(refused(DecisionKind::Pod, "p" + std::to_string(i)));
    notes.read();
  }
  EXPECT_FALSE(notes.refusal_of({OwnerKind::Pod, "ns", "p0"}));
  EXPECT_TRUE(notes.refusal_of({OwnerKind::Pod, "ns", "p" + std::to_string(kRefusalsKeptMax)}));
}

TEST(DecisionNotes, LinesThatAreNotReadHaveABound) {
  DecisionNotes notes;
  const std::string line = refused(DecisionKind::Pod, std::string(kUnreadBytesMax / 4, 'n'));
  for (int i = 0; i < 5; ++i) notes.add(line);
  notes.read();
  EXPECT_EQ(notes.totals().dropped, 2u);
  EXPECT_EQ(notes.totals().refused, 3u);
  for (std::size_t i = 0; i < kUnreadLinesMax + 1; ++i) notes.add(refused(DecisionKind::Pod, "p"));
  notes.read();
  EXPECT_EQ(notes.totals().dropped, 3u);
}

}  // namespace
}  // namespace berth::dashboard
