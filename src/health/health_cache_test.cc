#include "health/health_cache.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace berth::health {
namespace {

using Visible = HealthCache::Visible;

constexpr const char* kDriver = "gpu.example.com";

Time at(std::int64_t second) {
  return Time::from_seconds(1000 + second);
}

DeviceReport report(const char* device, Health health, std::int64_t timeout_s = 0, std::string message = "") {
  return {{"node-1", device}, {health, std::move(message)}, timeout_s};
}

std::string shown(const HealthCache& cache, const char* device = "gpu-1") {
  const DeviceHealth health = cache.snapshot()->of(kDriver, {"node-1", device});
  return std::string(name_of(health.health)) + (health.message.empty() ? "" : ": " + health.message);
}

TEST(HealthCache, ADeviceThatNobodyReportedIsUnknownAndSaysWhy) {
  HealthCache cache;
  EXPECT_EQ(shown(cache), "Unknown: no plugin of driver gpu.example.com is registered");
  EXPECT_EQ(cache.note_stream(kDriver, StreamState::Down, at(0)), Visible::Changed);
  EXPECT_EQ(shown(cache), "Unknown: driver gpu.example.com has not reported the health of this device");
  EXPECT_EQ(cache.note_stream(kDriver, StreamState::Unsupported, at(0)), Visible::Changed);
  EXPECT_EQ(shown(cache), "Unknown: driver gpu.example.com offers no health service");
  EXPECT_EQ(cache.note_stream(kDriver, StreamState::Unsupported, at(0)), Visible::Same);
}

TEST(HealthCache, OnlyWhatReadersSeeIsAChange) {
  struct Step {
    DeviceReport report;
    Visible visible;
  };
  const Step steps[] = {
      {report("gpu-1", Health::Healthy), Visible::Changed},
      {report("gpu-1", Health::Healthy), Visible::Same},
      {report("gpu-1", Health::Healthy, 60), Visible::Same},
      {report("gpu-1", Health::Unhealthy, 60, "xid 79"), Visible::Changed},
      {report("gpu-1", Health::Unhealthy, 60, "xid 80"), Visible::Changed},
      {report("gpu-2", Health::Healthy), Visible::Changed},
      {report("gpu-1", Health::Unhealthy, 60, "xid 80"), Visible::Same},
  };
  HealthCache cache;
  for (const Step& step : steps)
    EXPECT_EQ(cache.update(kDriver, {step.report}, at(1)), step.visible) << &step - steps;
  EXPECT_EQ(shown(cache), "Unhealthy: xid 80");
}

TEST(HealthCache, SilencePastTheDeadlineIsUnknownAndTheSameReportRecovers) {
  struct Case {
    std::int64_t timeout_s, known_until_s;
  };
  for (const Case& c : {Case{0, 30}, Case{-5, 30}, Case{1, 1}, Case{7, 7}, Case{INT64_MAX, 86400}}) {
    HealthCache cache;
    cache.update(kDriver, {report("gpu-1", Health::Healthy, c.timeout_s)}, at(0));
    EXPECT_EQ(cache.expire(at(c.known_until_s)), Visible::Same) << c.timeout_s;
    EXPECT_EQ(shown(cache), "Healthy");
    ASSERT_EQ(cache.next_deadline(), at(c.known_until_s) + Duration::micros(1));
    EXPECT_EQ(cache.expire(*cache.next_deadline()), Visible::Changed);
    EXPECT_EQ(shown(cache),
              "Unknown: no health report for more than " + std::to_string(c.known_until_s) + "s");
    EXPECT_EQ(cache.update(kDriver, {report("gpu-1", Health::Healthy, c.timeout_s)}, at(c.known_until_s + 1)),
              Visible::Changed);
    EXPECT_EQ(shown(cache), "Healthy");
  }
}

TEST(HealthCache, ABrokenStreamOrAPluginThatLeftAgesItsReports) {
  for (const auto& [state, text] :
       {std::pair(StreamState::Down, "the health stream of driver gpu.example.com is down"),
        std::pair(StreamState::Gone, "driver gpu.example.com is not registered any more")}) {
    HealthCache cache;
    cache.update(kDriver, {report("gpu-1", Health::Unhealthy, 10)}, at(0));
    EXPECT_EQ(cache.note_stream(kDriver, state, at(1)), Visible::Same);
    EXPECT_EQ(shown(cache), "Unhealthy");
    EXPECT_EQ(cache.expire(at(11)), Visible::Changed);
    EXPECT_EQ(shown(cache), std::string("Unknown: no health report for more than 10s: ") + text);
  }
}

TEST(HealthCache, ADriverWithoutHealthServiceLosesItsReportsAtOnce) {
  HealthCache cache;
  cache.update(kDriver, {report("gpu-1", Health::Healthy)}, at(0));
  EXPECT_EQ(cache.note_stream(kDriver, StreamState::Unsupported, at(1)), Visible::Changed);
  EXPECT_EQ(shown(cache), "Unknown: driver gpu.example.com offers no health service");
  EXPECT_EQ(cache.next_deadline(), std::nullopt);
}

TEST(HealthCache, WhatIsSilentForLongIsForgotten) {
  HealthCache cache;
  cache.update(kDriver, {report("gpu-1", Health::Healthy, 1)}, at(0));
  cache.expire(at(2));
  EXPECT_EQ(cache.expire(at(3600)), Visible::Same);
  EXPECT_EQ(cache.expire(at(3601)), Visible::Changed);
  EXPECT_TRUE(cache.snapshot()->drivers.at(kDriver).devices.empty());
  EXPECT_EQ(cache.next_deadline(), std::nullopt);
}

TEST(HealthCache, MoreDevicesThanTheBoundAreLeftOut) {
  HealthCache cache;
  Reports reports;
  for (std::size_t n = 0; n < kDevicesPerDriverMax + 3; ++n)
    reports.push_back({{"p", "d" + std::to_string(n)}, {Health::Healthy, ""}, 0});
  cache.update(kDriver, reports, at(0));
  EXPECT_EQ(cache.refused_devices(), 3u);
  EXPECT_EQ(cache.snapshot()->drivers.at(kDriver).devices.size(), kDevicesPerDriverMax);
}

TEST(HealthCache, ARestoredDeviceIsShownAsBeforeUntilItsDeadline) {
  HealthCache before;
  before.update(kDriver,
                {report("gpu-1", Health::Healthy, 30), report("gpu-2", Health::Unhealthy, 60, "xid 79")},
                at(0));
  before.note_stream("nic.example.com", StreamState::Unsupported, at(0));
  HealthCache after;
  // Another process, 8 s later, whose monotonic clock began elsewhere.
  after.restore(before.kept(at(5)), Duration::seconds(8), at(500));
  EXPECT_EQ(*after.snapshot()->drivers.at(kDriver).devices.begin(),
            *before.snapshot()->drivers.at(kDriver).devices.begin());
  EXPECT_EQ(shown(after, "gpu-2"), "Unhealthy: xid 79");
  EXPECT_EQ(after.snapshot()->of("nic.example.com", {"node-1", "n"}).message,
            "driver nic.example.com offers no health service");
  EXPECT_EQ(after.note_stream(kDriver, StreamState::Down, at(500)), Visible::Same)
      << "no flap at registration";
  EXPECT_EQ(after.update(kDriver, {report("gpu-1", Health::Healthy, 30)}, at(501)), Visible::Same);
  EXPECT_EQ(after.expire(at(501 + 30)), Visible::Same);
  after.expire(at(500 + 60 - 13));
  EXPECT_EQ(shown(after, "gpu-1"), "Unknown: no health report for more than 30s");
  EXPECT_EQ(shown(after, "gpu-2"), "Unhealthy: xid 79");
  EXPECT_EQ(after.expire(at(500 + 60 - 12)), Visible::Changed);
}

TEST(HealthCache, ARestoredReportThatIsOverdueIsUnknownAtOnce) {
  HealthCache before;
  before.update(kDriver, {report("gpu-1", Health::Healthy, 30)}, at(0));
  HealthCache after;
  after.restore(before.kept(at(0)), Duration::seconds(31), at(0));
  EXPECT_EQ(shown(after),
            "Unknown: no health report for more than 30s: driver gpu.example.com is not registered "
            "any more");
  EXPECT_EQ(after.update(kDriver, {report("gpu-1", Health::Healthy, 30)}, at(1)), Visible::Changed);
  HealthCache much_later;
  much_later.restore(before.kept(at(0)), Duration::minutes(61), at(0));
  EXPECT_TRUE(much_later.snapshot()->drivers.at(kDriver).devices.empty());
}

TEST(HealthCache, AfterAnotherBootNothingIsHealthyUntilItIsReported) {
  HealthCache before;
  before.update(kDriver, {report("gpu-1", Health::Healthy), report("gpu-2", Health::Unhealthy)}, at(0));
  HealthCache after;
  after.restore(before.kept(at(0)), std::nullopt, at(7));
  for (const char* device : {"gpu-1", "gpu-2"})
    EXPECT_EQ(shown(after, device), "Unknown: no health report since the node agent started");
  EXPECT_EQ(after.expire(at(7 + 3599)), Visible::Same);
  EXPECT_EQ(after.update(kDriver, {report("gpu-1", Health::Healthy)}, at(9)), Visible::Changed);
  EXPECT_EQ(shown(after), "Healthy");
}

TEST(Message, IsCutOnTheBorderOfACharacter) {
  EXPECT_EQ(bounded_message(std::string(1024, 'x')), std::string(1024, 'x'));
  EXPECT_EQ(bounded_message(std::string(1025, 'x')), std::string(1021, 'x') + "...");
  std::string euros;
  for (int n = 0; n < 342; ++n) euros += "\u20ac";  // 3 bytes each: 1026
  const std::string cut = bounded_message("x" + euros);
  EXPECT_EQ(cut.size(), 1u + 3 * 340 + 3);
  EXPECT_EQ(cut.substr(cut.size() - 6), "\u20ac...");
}

// The judge: keeps the newest report of every device and computes what readers see from the rules.
struct Judge {
  struct Kept {
    DeviceReport report;
    Time at;
  };
  std::map<DeviceName, Kept> kept;

  std::map<DeviceName, Health> seen(Time now) const {
    std::map<DeviceName, Health> result;
    for (const auto& [name, one] : kept) {
      const Duration timeout = clamped_timeout(one.report.timeout_s), age = now - one.at;
      if (age > std::max(Duration::minutes(60), timeout * 10)) continue;
      result[name] = age > timeout ? Health::Unknown : one.report.health.health;
    }
    return result;
  }
};

TEST(HealthCache, EqualsItsJudgeOnRandomStreams) {
  EXPECT_TRUE(rc::check("cache and judge agree", [] {
    HealthCache cache;
    Judge judge;
    Time now = at(0);
    const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 1000));
    for (const int step : steps) {
      const auto before = judge.seen(now);
      now = now + Duration::seconds(step % 7 == 0 ? 3000 : step % 23);
      Visible visible = Visible::Same;
      if (step % 3 == 0) {
        visible = cache.expire(now);
      } else {
        const DeviceReport one{
            {"p", "d" + std::to_string(step % 4)}, {static_cast<Health>(step / 7 % 3), ""}, (step / 11) % 40};
        if (cache.snapshot()->drivers.empty()) cache.note_stream(kDriver, StreamState::Up, now);
        visible = cache.update(kDriver, {one}, now);
        judge.kept[one.name] = {one, now};
      }
      std::map<DeviceName, Health> got;
      const auto snapshot = cache.snapshot();
      for (const auto& [driver, health] : snapshot->drivers)
        for (const auto& [name, device] : health.devices) got[name] = device.health;
      const auto want = judge.seen(now);
      RC_ASSERT(got == want);
      if (before != want) RC_ASSERT(visible == Visible::Changed);
    }
  }));
}

}  // namespace
}  // namespace berth::health
