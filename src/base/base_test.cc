#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/key_index.h"
#include "base/quantity.h"
#include "base/random.h"
#include "base/time.h"
#include "base/wake_pacer.h"

namespace berth {
namespace {

TEST(Quantity, CanonicalTextIsWhatTheApiServerWrites) {
  const struct {
    const char* written;
    const char* canonical;
  } kCases[] = {
      {"0.5", "500m"},  {"1000m", "1"},     {"1.5Gi", "1536Mi"},  {"1024Ki", "1Mi"},
      {"512", "512"},   {"0.5Ki", "512"},   {"2e3", "2e3"},       {"1E", "1E"},
      {"100k", "100k"}, {"0", "0"},         {"-1", "-1"},         {"1e6", "1e6"},
      {"1Ki", "1Ki"},   {"1500m", "1500m"}, {"1n", "1n"},         {"1.0001Ki", "1024102400u"},
      {"0.1n", "1n"},   {"+5", "5"},        {"12e-1", "1200e-3"}, {"2048Pi", "2Ei"},
      {"3Ei", "3Ei"},   {"m", "0"},  // no digits mean zero, as in Kubernetes
      {"-Gi", "0"},     {".", "0"},
  };
  for (const auto& [written, canonical] : kCases) {
    const Result<Quantity> quantity = parse_quantity(written);
    ASSERT_TRUE(quantity.ok()) << written;
    EXPECT_EQ(quantity->text(), canonical) << written;
  }
}

TEST(Quantity, LargeAmountsAreExact) {
  const struct {
    const char* written;
    const char* canonical;
  } kCases[] = {
      {"1e30", "1e30"},
      {"1e1000", "10e999"},
      {"-12.5e40", "-125e39"},
      {"1000000000000000000000000000000", "1000000000000E"},
      {"1000E", "1000E"},  // Kubernetes writes "1"
      {"9223372036854775808", "9223372036854775808"},
      {"85070591730234615865843651858", "85070591730234615865843651858"},
      {"9999999999999999999999999999999999999G", "9999999999999999999999999999999999999G"},
      {"1.000000000000000000000000000000000001e60", "1000000000000000000000000000000000001e24"},
      // With a binary suffix the API's cap is 2^63-1.
      {"7Ei", "7Ei"},
      {"8Ei", "9223372036854775807"},
      {"9007199254740992Ki", "9223372036854775807"},
      {"-88888888888888888889.2551511888Pi", "-9223372036854775807"},
      {"302980586400218551067964203660.1216573005Mi", "9223372036854775807"},
      {"99999999999999999999999999999999999999999999999999Ki", "9223372036854775807"},
      {"1.2345678901234567890123456789Ei", "1423359869420436337655244274n"},
  };
  for (const auto& [written, canonical] : kCases) {
    const Result<Quantity> quantity = parse_quantity(written);
    ASSERT_TRUE(quantity.ok()) << written;
    EXPECT_EQ(quantity->text(), canonical) << written;
    EXPECT_EQ(*parse_quantity(canonical), *quantity) << written;
  }
  // What cannot be exact is refused, and says so.
  for (const char* text : {"12345678901234567890123456789012345678901", "1e1001", "1e99999999999", "1e-1001",
                           "1.00000000000000000000000000000000000000001Ei"})
    EXPECT_EQ(parse_quantity(text).error().code(), ErrorCode::TooLarge) << text;
}

TEST(Quantity, RefusesWhatIsNoQuantity) {
  for (const char* text :
       {"", "1x", "1 Gi", "--1", "1e", "1.2.3", "0x10", "NaN", "1KiB", "Pi", "e-12", "1e+-3"})
    EXPECT_FALSE(parse_quantity(text).ok()) << text;
}

TEST(Quantity, ComparesAndAddsByValue) {
  EXPECT_EQ(*parse_quantity("1Gi"), *parse_quantity("1073741824"));
  // In ascending order.
  const char* const kAscending[] = {"-1e200", "-2e100", "-1e100", "-1",    "0",     "999m", "1",
                                    "100E",   "8e28",   "9e28",   "1e100", "2e100", "1e200"};
  for (std::size_t i = 0; i + 1 < std::size(kAscending); ++i) {
    const Quantity less = *parse_quantity(kAscending[i]), more = *parse_quantity(kAscending[i + 1]);
    EXPECT_LT(less, more) << kAscending[i];
    EXPECT_GT(more, less) << kAscending[i];
    EXPECT_TRUE((more - more).is_zero());
  }
  EXPECT_EQ((*parse_quantity("8e28") + *parse_quantity("8e28")).text(), "160e27");
  // A sum that begins at nothing is written as its first amount is.
  for (const char* first : {"1Ki", "2e3", "500m", "1e200"})
    EXPECT_EQ((Quantity() + *parse_quantity(first)).text(), parse_quantity(first)->text());
  EXPECT_EQ((*parse_quantity("1e30") - *parse_quantity("999999999999999999999999999999")).text(), "1");
  EXPECT_EQ(parse_quantity("1e200")->ceil_units(), INT64_MAX);
  EXPECT_EQ(parse_quantity("-1e200")->ceil_millis(), INT64_MIN);
  EXPECT_TRUE(parse_quantity("1e200")->is_integer());
  EXPECT_FALSE(parse_quantity("50000000000000000000000000000.5")->is_integer());
  EXPECT_DOUBLE_EQ(parse_quantity("1e200")->approximate(), 1e200);
}

TEST(Time, RoundTripsAndRefuses) {
  EXPECT_EQ(format_time(*parse_time("2026-02-28T23:59:59Z")), "2026-02-28T23:59:59Z");
  EXPECT_EQ(format_time(*parse_time("2026-03-01T01:00:00+02:00")), "2026-02-28T23:00:00Z");
  EXPECT_EQ(format_micro_time(*parse_time("2024-02-29T00:00:00.1234567Z")), "2024-02-29T00:00:00.123456Z");
  EXPECT_EQ(format_micro_time(*parse_time("1969-12-31T23:59:59.5Z")), "1969-12-31T23:59:59.500000Z");
  for (const char* text :
       {"", "2026-02-29T00:00:00Z", "2026-01-01", "2026-01-01T24:00:00Z", "2026-01-01T00:00:00"})
    EXPECT_FALSE(parse_time(text).ok()) << text;
}

TEST(Duration, ReadsGoText) {
  EXPECT_EQ(*parse_duration("1h15m30.5s"), Duration::millis(4530500));
  EXPECT_EQ(*parse_duration("-300ms"), Duration::millis(-300));
  for (const char* text : {"", "5", "1d", "s", "1h x"}) EXPECT_FALSE(parse_duration(text).ok()) << text;
}

TEST(HumanAge, ReadsAsKubectlPrintsIt) {
  EXPECT_EQ(human_age(Duration::seconds(38)), "38s");
  EXPECT_EQ(human_age(Duration::seconds(312)), "5m12s");
  EXPECT_EQ(human_age(Duration::seconds(3 * 3600)), "3h");
  EXPECT_EQ(human_age(Duration::seconds(53 * 3600)), "2d5h");
}

TEST(Json, KeepsOrderExactIntegersAndRepeatedMembers) {
  const char* text = R"({"b":9223372036854775807,"a":[1,2.5,null,true],"b":"x\n\u00e9"})";
  const Result<Json> json = parse_json(text);
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json->as_object().size(), 3u);
  EXPECT_EQ(to_string(*json), "{\"b\":9223372036854775807,\"a\":[1,2.5,null,true],\"b\":\"x\\né\"}");
}

// Compares an object with a plain list of members: few names, so that they repeat, and sizes around the bound
// above which an index is kept.
TEST(Json, LargeObjectsFindEraseAndAppendAsAListDoes) {
  SeededRandom random(7);
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t names = 20 + random.below(120);
    JsonObject object;
    std::vector<std::pair<std::string, std::int64_t>> list;
    for (int step = 0; step < 400; ++step) {
      const std::string key = "name-" + std::to_string(random.below(names));
      const auto same = [&key](const auto& row) { return row.first == key; };
      const auto found = std::find_if(list.begin(), list.end(), same);
      switch (random.below(8)) {
        case 0:
          EXPECT_EQ(object.erase(key), std::erase_if(list, same) > 0);
          break;
        case 1:
          object.append(key, step);
          list.emplace_back(key, step);
          break;
        case 2:
          if (random.below(20) == 0) {
            object.erase_if([](const JsonMember& member) { return member.value.as_int() % 3 == 0; });
            std::erase_if(list, [](const auto& row) { return row.second % 3 == 0; });
          }
          break;
        case 3: {
          JsonObject copy = object;
          copy[key] = -2;
          EXPECT_EQ(std::as_const(copy).find(key)->as_int(), -2);
          break;
        }
        default:
          object[key] = step;
          if (found == list.end())
            list.emplace_back(key, step);
          else
            found->second = step;
      }
      const Json* value = std::as_const(object).find(key);
      const auto now = std::find_if(list.begin(), list.end(), same);
      ASSERT_EQ(value ? value->as_int() : -1, now == list.end() ? -1 : now->second);
    }
    ASSERT_EQ(object.size(), list.size());
    std::size_t at = 0;
    for (const JsonMember& member : std::as_const(object)) {
      EXPECT_EQ(member.key, list[at].first);
      EXPECT_EQ(member.value.as_int(), list[at++].second);
    }
  }
}

// A stranger's object may repeat a name as often as fits into a body.
TEST(KeyIndex, ARepeatedTextCostsOneComparison) {
  constexpr std::uint32_t kRepeats = 100'000;
  KeyIndex index;
  std::size_t compared = 0;
  const auto text_at = [&](std::uint32_t at) {
    ++compared;
    return at == 0 ? std::string_view("a") : std::string_view("b");
  };
  EXPECT_EQ(index.add("a", 0, text_at), 0u);
  EXPECT_EQ(index.add("b", 1, text_at), 1u);
  for (std::uint32_t at = 2; at < kRepeats; ++at) ASSERT_EQ(index.add("b", at, text_at), 1u);
  EXPECT_EQ(index.find("b", text_at), 1u);
  EXPECT_LE(compared, std::size_t{kRepeats});
  EXPECT_EQ(index.add("c", kRepeats, text_at), kRepeats);
}

TEST(Json, RefusesDeepNestingWithoutCrashing) {
  EXPECT_FALSE(parse_json(std::string(100000, '[')).ok());
  EXPECT_FALSE(parse_json("{\"a\":1").ok());
  EXPECT_FALSE(parse_json("").ok());
}

TEST(Json, ObjectsAreEqualInAnyOrder) {
  EXPECT_EQ(*parse_json(R"({"a":1,"b":{"c":2}})"), *parse_json(R"({"b":{"c":2},"a":1})"));
  EXPECT_FALSE(*parse_json(R"({"a":1})") == *parse_json(R"({"a":1.0})"));
}

TEST(Random, SeedsRepeatAndUuidsAreVersionFour) {
  SeededRandom one(7), two(7);
  EXPECT_EQ(one.uuid(), two.uuid());
  const std::string uuid = one.uuid();
  EXPECT_EQ(uuid.size(), 36u);
  EXPECT_EQ(uuid[14], '4');
  EXPECT_NE(std::string("89ab").find(uuid[19]), std::string::npos);
}

// A wake-up that is slept for comes at its time; 1,000 a second become 800, and few are not delayed.
TEST(WakePacer, BoundsTheRateAndLeavesFewWakeUpsAlone) {
  for (const std::int64_t per_second : {100, 400, 1000, 10'000}) {
    WakePacer pacer;
    Time now = Time::from_seconds(1000);
    const Time end = now + Duration::seconds(10);
    std::int64_t wakes = 0, delayed = 0;
    for (; now < end; ++wakes) {
      const Duration wait = pacer.spend(now);
      EXPECT_LE(wait, kWakeInterval);
      delayed += wait > Duration();
      now = std::max(now + wait, now + Duration::micros(1'000'000 / per_second));
    }
    EXPECT_NEAR(static_cast<double>(wakes), static_cast<double>(std::min<std::int64_t>(per_second, 800) * 10),
                55);
    EXPECT_EQ(delayed > 0, per_second > 800) << per_second;
  }
}

}  // namespace
}  // namespace berth
