// Columnar results equal the tree walker's, device by device: on random devices, selectors and updates.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>

#include "cel/dra_environment.h"
#include "dra/cel_selectors.h"
#include "dra/columns/columnar_selector.h"
#include "dra/columns/selector_cache.h"
#include "dra/columns/value_key.h"

namespace berth::dra {
namespace {

using SlicePointer = std::shared_ptr<const api::ResourceSlice>;

int pick(int bound) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, bound));
}
bool chance(int one_in) {
  return pick(one_in) == 0;
}
template <std::size_t N>
std::string one_of(const char* const (&texts)[N]) {
  return texts[pick(static_cast<int>(N))];
}

const char* const kDomains[] = {"d0", "d1", "other.example.com"};
const char* const kIds[] = {"a", "b", "c"};

api::AttributeValue any_value() {
  switch (pick(9)) {
    case 0:
    case 1:
      return std::int64_t{pick(4)};
    case 2:
    case 3:
      return chance(2);
    case 4:
    case 5:
      return std::string(chance(8) ? "10" : chance(2) ? "x" : "yy");
    case 6:
      return api::AttributeVersion{chance(6) ? "not a version" : chance(2) ? "1.2.3" : "2.0.0"};
    case 7:
      return std::vector<std::int64_t>{pick(3), pick(3)};
    default:
      return std::vector<std::string>{"x", "z"};
  }
}

api::Device any_device() {
  api::Device device;
  for (const char* id : kIds) {
    // With and without the domain: the names can collide.
    if (chance(2)) device.attributes[id] = any_value();
    if (chance(2)) device.attributes[one_of(kDomains) + "/" + id] = any_value();
    if (chance(3)) device.capacity[id].value = Quantity::of(pick(3));
  }
  device.allow_multiple = chance(2);
  return device;
}

SlicePointer any_slice(int devices_max) {
  auto slice = std::make_shared<api::ResourceSlice>();
  slice->driver = one_of(kDomains);
  const int count = pick(devices_max);
  for (int i = 0; i < count; ++i) slice->devices.push_back(any_device());
  return slice;
}

std::string quoted(const std::string& text) {
  return "\"" + text + "\"";
}

std::string any_map(const char* field) {
  const std::string domain = one_of(kDomains);
  if (chance(8)) return std::string("device.") + field + "[?" + quoted(domain) + "]";
  return std::string("device.") + field +
         (chance(2) && domain[0] == 'd' ? "." + domain : "[" + quoted(domain) + "]");
}

std::string any_attribute() {
  const std::string id = one_of(kIds);
  return any_map("attributes") + (chance(4) ? "[" + quoted(id) + "]" : "." + id);
}

std::string any_constant() {
  static const char* const kConstants[] = {"0",     "1",      "2u",   "1.0",    "true",  "false",
                                           "\"x\"", "\"yy\"", "\"\"", "[1, 2]", "dyn(1)"};
  return one_of(kConstants);
}

std::string any_leaf() {
  static const char* const kOrders[] = {"<", "<=", ">", ">=", "==", "!="};
  const std::string attribute = any_attribute(), map = any_map("attributes"), id = one_of(kIds);
  switch (pick(20)) {
    case 0:
    case 1:
    case 2:
      return attribute + (chance(2) ? " == " : " != ") + any_constant();
    case 3:
      return any_constant() + " == " + attribute;
    case 4:
      return attribute + " " + one_of(kOrders) + " " + std::to_string(pick(4));
    case 5:
      return "has(" + map + "." + id + ")";
    case 6:
      return quoted(id) + " in " + map;
    case 7:
      return quoted(one_of(kDomains)) + " in device." + (chance(2) ? "attributes" : "capacity");
    case 8:
      return attribute;
    case 9:
      return attribute + " == " + any_attribute();
    case 10:
      return "device.driver == " + quoted(one_of(kDomains));
    case 11:
      return chance(2) ? "device.allowMultipleAllocations"
                       : "has(device.attributes." + std::string(chance(2) ? "d0" : "no") + ")";
    case 12:
      return any_map("capacity") + "." + id + ".compareTo(quantity(\"1\")) >= 0";
    case 13:
      return map + ".?" + id + ".orValue(" + any_constant() + ") == " + any_constant();
    case 14:
      return attribute + ".startsWith(\"x\")";
    case 15:
      return attribute + ".isGreaterThan(semver(\"1.5.0\"))";
    case 16:
      return "device.attributes.exists(d, d == " + quoted(one_of(kDomains)) + ")";
    case 17:
      return "device.attributes[device.driver]." + id + " in [1, 2]";
    case 18:
      return map + ".all(k, k != \"c\") || " + map + ".size() == 1";
    default:
      return attribute + ".exists(v, v == " + std::to_string(pick(3)) + ") || " + attribute + ".size() > 1";
  }
}

std::string any_expression(int depth) {
  if (depth == 0 || chance(5)) return chance(12) ? one_of({"true", "false"}) : any_leaf();
  const std::string left = any_expression(depth - 1), right = any_expression(depth - 1);
  switch (pick(9)) {
    case 0:
    case 1:
    case 2:
      return "(" + left + ") && (" + right + ")";
    case 3:
    case 4:
      return "(" + left + ") || (" + right + ")";
    case 5:
      return "!(" + left + ")";
    case 6:
      return "(" + left + ") ? (" + right + ") : (" + any_expression(depth - 1) + ")";
    case 7:
      return "cel.bind(m, " + any_map("attributes") + ", (m." + one_of(kIds) + " == " + any_constant() +
             ") && (" + left + ") || has(m." + one_of(kIds) + "))";
    default:
      return "cel.bind(v, " + any_attribute() + ", (v == 1 || v == \"x\") || (" + right + "))";
  }
}

// The tree walker's result: 't', 'f' or 'e'.
char judged(const cel::Program& program, std::string_view driver, const api::Device& device) {
  const cel::DeviceRecord record = record_of(driver, device);
  const cel::Value variables[] = {cel::Value::borrow_object(record)};
  const cel::EvalResult result = program.walk(variables);
  return !result.ok() ? 'e' : result.value().is_true() ? 't' : 'f';
}

char answered(const Selected& selected, std::size_t i) {
  return selected.match.test(i) ? 't' : selected.error.test(i) ? 'e' : 'f';
}

struct Tally {
  std::map<char, int> answers;
  int refused = 0;
};

void compare(SelectorCache& selector_cache, SelectorSetId set, const cel::Program& program,
             const SlicePointer& slice, const SliceRows& rows, const std::string& text, Tally& tally) {
  const Selected selected = selector_cache.of(rows, set);
  for (std::size_t i = 0; i < slice->devices.size(); ++i) {
    const char want = judged(program, slice->driver, slice->devices[i]), got = answered(selected, i);
    if (want != got) RC_FAIL(text + " is " + want + " by the judge, " + got + " by columns");
    ++tally.answers[want];
    if (want != 'e') continue;
    const SelectorFault fault = selector_cache.fault_of(set, slice->driver, slice->devices[i]);
    RC_ASSERT(fault.text.starts_with("CEL runtime error: "));
  }
}

TEST(Columnar, AgreesWithTheTreeWalker) {
  Tally tally;
  EXPECT_TRUE(rc::check("columns and tree walker agree", [&] {
    DeviceColumns columns;
    CelSelectors evaluator;
    SelectorCache selector_cache(columns, evaluator);
    std::vector<std::pair<SlicePointer, SliceRows>> slices(1 + pick(6));
    for (auto& [slice, rows] : slices) {
      slice = any_slice(chance(8) ? 100 : 9);
      rows = columns.admit(slice);
    }
    struct Case {
      std::string text;
      cel::Program program;
      SelectorSetId set;
    };
    std::vector<Case> cases;
    while (cases.size() < 12) {
      const std::string text = any_expression(pick(4));
      auto compiled = cel::compile(cel::dra_environment(), text);
      if (!std::holds_alternative<cel::Program>(compiled)) {
        ++tally.refused;
        continue;
      }
      cases.push_back({text, std::get<cel::Program>(compiled), selector_cache.intern({}, {text})});
    }
    for (int round = 0; round < 3; ++round) {
      for (const Case& each : cases)
        for (const auto& [slice, rows] : slices)
          if (!chance(4)) compare(selector_cache, each.set, each.program, slice, rows, each.text, tally);
      const auto at = static_cast<std::size_t>(pick(static_cast<int>(slices.size())));
      const SlicePointer next = any_slice(9);
      SliceRows rows = columns.admit(next, &slices[at].second);
      slices[at] = {next, std::move(rows)};
    }
  }));
  std::printf("true %d, false %d, error %d, refused by the compiler %d\n", tally.answers['t'],
              tally.answers['f'], tally.answers['e'], tally.refused);
  EXPECT_GT(tally.answers['t'], 1000);
  EXPECT_GT(tally.answers['f'], 1000);
  EXPECT_GT(tally.answers['e'], 1000);
}

// Results of one selector for slices of one device each, as letters.
std::string letters(const std::string& text, const std::vector<api::Device>& devices) {
  DeviceColumns columns;
  CelSelectors evaluator;
  SelectorCache selector_cache(columns, evaluator);
  const SelectorSetId set = selector_cache.intern({}, {text});
  auto slice = std::make_shared<api::ResourceSlice>();
  slice->driver = "d0";
  slice->devices = devices;
  const SliceRows rows = columns.admit(slice);
  std::string out;
  for (std::size_t i = 0; i < devices.size(); ++i) out += answered(selector_cache.of(rows, set), i);
  return out;
}

TEST(Columnar, KnowsTheSpecialCasesOfDomains) {
  api::Device none, own, foreign;
  own.attributes["a"] = std::int64_t{1};
  foreign.attributes["d1/a"] = std::int64_t{1};
  const std::vector<api::Device> devices = {none, own, foreign};
  const std::pair<const char*, const char*> cases[] = {
      {"has(device.attributes.unknown)", "ttt"},
      {"device.attributes[?'unknown'].hasValue()", "ttt"},
      {"'unknown' in device.attributes", "fff"},
      {"'d0' in device.attributes", "ftf"},
      {"'d1' in device.attributes && device.attributes.d1.a == 1", "fft"},
      {"device.attributes.d0.a == 1", "ete"},
      {"device.attributes.d0.a != 1", "efe"},
      {"device.attributes.d0.a == 1 || device.attributes.d1.a == 1", "ett"},
      {"device.attributes.d0.?a.orValue(1) == 1", "ttt"},
      {"device.attributes.size() == 0", "tff"},
      {"'a' in device.attributes.d0", "ftf"},
  };
  for (const auto& [text, want] : cases) EXPECT_EQ(letters(text, devices), want) << text;
}

// A version compares with no plain constant behind it: that is an error, as of any value without an overload.
TEST(Columnar, AVersionHasNoOverloadForAPlainConstant) {
  api::Device none, text, version;
  text.attributes["a"] = std::string("1.0.0");
  version.attributes["a"] = api::AttributeVersion{"1.0.0"};
  const std::vector<api::Device> devices = {none, text, version};
  const std::pair<const char*, const char*> cases[] = {
      {"device.attributes.d0.a == '1.0.0'", "ete"},
      {"device.attributes.d0.a == '2.0.0'", "efe"},
      {"device.attributes.d0.a != '1.0.0'", "eft"},
      {"'1.0.0' == device.attributes.d0.a", "etf"},
      {"'1.0.0' != device.attributes.d0.a", "eft"},
      {"device.attributes.d0.a == '1.0.0' || true", "ttt"},
      {"device.attributes.d0.a == semver('1.0.0')", "eft"},
      {"device.attributes.d0.a in ['1.0.0']", "ete"},
  };
  for (const auto& [expression, want] : cases) EXPECT_EQ(letters(expression, devices), want) << expression;
}

TEST(Columnar, LongSetsOfCodesAreLookedUp) {
  for (const int count : {100, 300, 70000}) {
    DeviceColumns columns;
    CelSelectors evaluator;
    SelectorCache selector_cache(columns, evaluator);
    const SelectorSetId set = selector_cache.intern({}, {"device.attributes.d0.a % 3 == 0"});
    std::vector<SliceRows> all;
    for (int first = 0; first < count; first += 100) {
      auto slice = std::make_shared<api::ResourceSlice>();
      slice->driver = "d0";
      slice->devices.resize(101);  // the last one has no such attribute
      for (int i = 0; i < 100; ++i)
        slice->devices[static_cast<std::size_t>(i)].attributes["a"] = std::int64_t{first + i};
      all.push_back(columns.admit(slice));
    }
    for (std::size_t s = 0; s < all.size(); ++s) {
      const Selected selected = selector_cache.of(all[s], set);
      for (std::size_t i = 0; i < 100; ++i) ASSERT_EQ(answered(selected, i), (s * 100 + i) % 3 ? 'f' : 't');
      ASSERT_EQ(answered(selected, 100), 'e');
    }
  }
}

TEST(Columnar, ColumnsWidenAndForgetValuesThatAreGone) {
  constexpr int kSlices = 700, kDevices = 128, kRounds = 3;
  DeviceColumns columns;
  CelSelectors evaluator;
  SelectorCache selector_cache(columns, evaluator);
  std::vector<SliceRows> rows(kSlices);
  const auto unique = [](int round, int slice, int device) {
    return std::to_string(round) + "-" + std::to_string(slice) + "-" + std::to_string(device);
  };
  const cel::AttributeRef uuid{cel::kDeviceAttributes, "d0", "uuid"};
  for (int round = 0; round < kRounds; ++round) {
    for (int s = 0; s < kSlices; ++s) {
      auto slice = std::make_shared<api::ResourceSlice>();
      slice->driver = "d0";
      for (int d = 0; d < kDevices; ++d)
        slice->devices.emplace_back().attributes["uuid"] = unique(round, s, d);
      rows[static_cast<std::size_t>(s)] = columns.admit(slice, &rows[static_cast<std::size_t>(s)]);
    }
    const std::string wanted = "device.attributes.d0.uuid == '" + unique(round, 699, 127) + "'";
    const SelectorSetId set = selector_cache.intern({}, {wanted});
    EXPECT_FALSE(selector_cache.of(rows[0], set).match.any());
    EXPECT_TRUE(selector_cache.of(rows[699], set).match.test(127));
    EXPECT_EQ(selector_cache.of(rows[699], set).match.count(), 1u);
    const SelectorSetId prefix = selector_cache.intern({}, {"device.attributes.d0.uuid.startsWith('0-')"});
    EXPECT_EQ(selector_cache.of(rows[5], prefix).match.any(), round == 0);
    EXPECT_EQ(columns.find(uuid)->width(), 4u);
  }
  EXPECT_LT(columns.find(uuid)->values().size(), 2 * kSlices * kDevices + 2 * kSpareValues + 2);
  EXPECT_LE(columns.words(), 2 * kSlices * kDevices / kRowsPerWord) << "rows are used again";
}

TEST(Columnar, NamesBeyondTheLastColumnAreReadFromTheDevices) {
  std::vector<api::Device> devices(100);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    for (int k = 0; k < 10; ++k)
      devices[i].attributes["n" + std::to_string(i) + "x" + std::to_string(k)] = true;
    devices[i].attributes["late/zz"] = static_cast<std::int64_t>(i % 2);
  }
  std::string half;
  for (std::size_t i = 0; i < devices.size(); ++i) half += i % 2 ? 't' : 'f';
  EXPECT_EQ(letters("device.attributes.late.zz == 1", devices), half);
  EXPECT_EQ(letters("'late' in device.attributes", devices), std::string(100, 't'));
  EXPECT_EQ(letters("device.attributes.d0.n99x9", devices), std::string(99, 'e') + "t");
}

TEST(Columnar, TheCostLimitIsThatOfTheWholeSelector) {
  // Each half is below the limit, both together are above it.
  const std::string half = "lists.range(60000).map(x, x + 1).size() > 0";
  api::Device device;
  device.attributes["a"] = true;
  const std::string read = " && device.attributes.d0.a";
  EXPECT_EQ(letters(half + read, {device}), "t");
  EXPECT_EQ(letters("(" + half + read + ") && (" + half + " && " + half +
                        " && device.allowMultipleAllocations == false)",
                    {device}),
            "e");
}

// Every device is of its own kind, and every evaluation is long: only the requested devices are evaluated.
// All rows would take minutes.
TEST(Columnar, ExpensiveSelectorsAreEvaluatedSliceBySlice) {
  constexpr int kSlices = 400, kDevices = 128;
  DeviceColumns columns;
  CelSelectors evaluator;
  SelectorCache selector_cache(columns, evaluator);
  std::vector<SliceRows> rows;
  const auto slice_of = [](int index) {
    auto slice = std::make_shared<api::ResourceSlice>();
    slice->driver = "d0";
    for (int d = 0; d < kDevices; ++d)
      slice->devices.emplace_back().attributes["id"] = std::int64_t{index * kDevices + d};
    return slice;
  };
  for (int s = 0; s < kSlices; ++s) rows.push_back(columns.admit(slice_of(s)));
  const SelectorSetId set = selector_cache.intern(
      {"device.driver == 'd0'"}, {"lists.range(2000).exists(x, x == device.attributes.d0.id)"});
  EXPECT_EQ(selector_cache.of(rows[0], set).match.count(), 128u);
  EXPECT_EQ(selector_cache.of(rows[15], set).match.count(), 2000u - 15 * 128);
  rows[15] = columns.admit(slice_of(0), &rows[15]);
  EXPECT_EQ(selector_cache.of(rows[15], set).match.count(), 128u);
  EXPECT_EQ(selector_cache.of(rows[399], set).match.count(), 0u);
}

TEST(Columnar, LongSelectorsArePlannedInBoundedTime) {
  api::Device device;
  device.attributes["a"] = std::int64_t{1};
  std::string chain = "true";
  while (chain.size() + 40 < 5000) chain += " && device.attributes.d0.a == 1";
  EXPECT_EQ(letters(chain, {device, {}}), "te");
  std::string doubled = "cel.bind(b0, device.attributes.d0.a == 1, ";
  for (int i = 1; i < 100; ++i) {
    const std::string before = "b" + std::to_string(i - 1);
    doubled += "cel.bind(b" + std::to_string(i) + ", " + before + " && " + before + ", ";
  }
  EXPECT_EQ(letters(doubled + "b99 && device.driver == 'd0'" + std::string(100, ')'), {device, {}}), "te");
}

TEST(Columnar, ManyUpdatesAndManySetsStayBounded) {
  DeviceColumns columns;
  CelSelectors evaluator;
  SelectorCache selector_cache(columns, evaluator);
  auto slice = std::make_shared<api::ResourceSlice>();
  slice->driver = "d0";
  slice->devices.resize(3);
  SliceRows rows = columns.admit(slice);
  std::vector<SelectorSetRef> held;
  std::vector<SelectorSetId> ids;
  for (std::size_t i = 0; i < 2 * kSetsBeforeSweep; ++i) {
    const SelectorSetId id = selector_cache.intern({"device.driver == 'd0'"}, {"1 < " + std::to_string(i)});
    if (i % 2 == 0) {
      held.push_back(selector_cache.reference(id));
      ids.push_back(id);
    }
    EXPECT_EQ(selector_cache.of(rows, id).match.count(), i > 1 ? 3u : 0u);
  }
  for (std::size_t i = 0; i < ids.size(); ++i)
    EXPECT_EQ(selector_cache.of(rows, ids[i]).match.any(), 2 * i > 1);
  EXPECT_EQ(selector_cache.intern({"device.driver == 'd0'"}, {"1 < 0"}), ids[0]);
  for (std::size_t i = 0; i < 2 * kChangesMax; ++i) rows = columns.admit(slice, &rows);
  EXPECT_EQ(selector_cache.of(rows, ids[5]).match.count(), 3u);
  EXPECT_EQ(columns.words(), 1u);
}

}  // namespace
}  // namespace berth::dra
