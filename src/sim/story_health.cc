#include "sim/story_health.h"

#include <algorithm>
#include <array>
#include <utility>

namespace berth::sim {
namespace {

using health::Health;
using health::StreamState;

constexpr std::array kStreams = {std::pair{std::string_view("up"), StreamState::Up},
                                 std::pair{std::string_view("down"), StreamState::Down},
                                 std::pair{std::string_view("gone"), StreamState::Gone},
                                 std::pair{std::string_view("unsupported"), StreamState::Unsupported}};
constexpr std::array kWords = {"node", "driver", "pool", "devices", "message", "timeout", "stream"};

Status check_words(const Json& words) {
  if (!words.is_object())
    return Error(ErrorCode::Invalid, "health", "takes {node, driver, devices or stream}");
  for (const JsonMember& member : words.as_object())
    if (std::find(kWords.begin(), kWords.end(), member.key) == kWords.end())
      return Error(ErrorCode::Invalid, "health." + std::string(member.key), "is no word of a health report");
  for (const char* word : {"node", "driver"})
    if (words.string_at(word).empty())
      return Error(ErrorCode::Invalid, std::string("health.") + word, "is missing");
  return {};
}

Result<Health> parse_health(std::string_view device, const Json& word) {
  for (const Health health : {Health::Healthy, Health::Unknown, Health::Unhealthy})
    if (word.is_string() && word.as_string() == health::name_of(health)) return health;
  return Error(ErrorCode::Invalid, "health.devices." + std::string(device),
               "is Healthy, Unhealthy or Unknown, not " + to_string(word));
}

Result<health::Reports> parse_reports(const Json& words) {
  std::int64_t timeout_s = 0;
  if (const Json* timeout = words.find("timeout"))
    timeout_s = TRY(parse_duration(timeout->is_string() ? timeout->as_string() : "")).whole_seconds();
  const std::string pool(words.string_at(words.find("pool") ? "pool" : "node"));
  health::Reports reports;
  const Json& devices = words.part("devices");
  if (!devices.is_object())
    return Error(ErrorCode::Invalid, "health.devices", "takes {NAME: Healthy, Unhealthy or Unknown}");
  for (const JsonMember& device : devices.as_object())
    reports.push_back({{pool, std::string(device.key)},
                       {TRY(parse_health(device.key, device.value)), std::string(words.string_at("message"))},
                       timeout_s});
  return reports;
}

}  // namespace

Status report_health(World& world, const Json& words) {
  TRY(check_words(words));
  const std::string node(words.string_at("node")), driver(words.string_at("driver"));
  if (words.find("devices")) {
    const health::Reports reports = TRY(parse_reports(words));
    world.reported_health().note_stream(node, driver, StreamState::Up, world.now());
    world.reported_health().report(node, driver, reports, world.now());
    return {};
  }
  for (const auto& [name, stream] : kStreams) {
    if (name != words.string_at("stream")) continue;
    world.reported_health().note_stream(node, driver, stream, world.now());
    return {};
  }
  return Error(ErrorCode::Invalid, "health.stream", "is up, down, gone or unsupported");
}

}  // namespace berth::sim
