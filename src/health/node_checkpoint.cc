#include "health/node_checkpoint.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "api/names.h"
#include "base/base64.h"
#include "base/fnv.h"
#include "base/hex.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text_file.h"

namespace berth::health {
namespace {

constexpr std::string_view kFormat = "berth-node-health";
constexpr std::string_view kBootIdFile = "/proc/sys/kernel/random/boot_id";
constexpr std::size_t kBootIdBytesMax = 256;
constexpr std::size_t kDriversMax = 256;

Error refused(std::string sentence) {
  return Error(ErrorCode::Invalid, "checkpoint", std::move(sentence));
}

// Counts what is written, up to half the bound of the file: the other half is reserve for escapes.
class Budget {
 public:
  bool take(const Json& item) {
    bytes_ += to_string(item).size() + 1;
    return bytes_ <= kCheckpointBytesMax / 2;
  }

 private:
  std::size_t bytes_ = 0;
};

Json device_json(const KeptDevice& device) {
  return Json::object({{"pool", device.name.pool},
                       {"device", device.name.device},
                       {"health", name_of(device.health.health)},
                       {"message", device.health.message},
                       {"timeoutMicros", device.timeout.micros()},
                       {"ageMicros", device.age.micros()}});
}

Json drivers_json(const KeptDrivers& drivers, Budget& budget) {
  Json all = Json::object();
  for (const auto& [name, driver] : drivers) {
    JsonArray devices;
    for (const KeptDevice& device : driver.devices) {
      Json item = device_json(device);
      if (!budget.take(item)) break;
      devices.push_back(std::move(item));
    }
    all[name] = Json::object({{"unsupported", driver.unsupported}, {"devices", std::move(devices)}});
  }
  return all;
}

Json plugin_device_json(const std::string& id, const PluginDevice& device) {
  JsonArray nodes;
  for (const std::int64_t node : device.numa_nodes) nodes.push_back(node);
  return Json::object({{"id", id},
                       {"health", name_of(device.health.health)},
                       {"message", device.health.message},
                       {"numaNodes", std::move(nodes)}});
}

Json resources_json(const KeptResources& resources, Budget& budget) {
  Json all = Json::object();
  for (const auto& [name, resource] : resources) {
    JsonArray devices;
    for (const auto& [id, device] : resource.devices) {
      Json item = plugin_device_json(id, device);
      if (!budget.take(item)) break;
      devices.push_back(std::move(item));
    }
    all[name] = Json::object({{"forgotten", resource.forgotten},
                              {"unheardMicros", resource.unheard.micros()},
                              {"devices", std::move(devices)}});
  }
  return all;
}

Json strings_json(const auto& strings) {
  JsonArray all;
  for (const std::string& text : strings) all.push_back(text);
  return all;
}

Json held_json(const HeldByContainer& held, Budget& budget) {
  JsonArray all;
  for (const auto& [container, resources] : held)
    for (const auto& [resource, devices] : resources) {
      Json item = Json::object({{"pod", container.pod_uid},
                                {"container", container.container},
                                {"resource", resource},
                                {"reusable", devices.reusable},
                                {"ids", strings_json(devices.ids)}});
      item["answer"] = base64_encode(devices.answer);
      if (!budget.take(item)) item["answer"] = "";
      all.push_back(std::move(item));
    }
  return all;
}

Json prepared_json(const PreparedDevice& device) {
  return Json::object({{"requests", strings_json(device.requests)},
                       {"pool", device.pool},
                       {"device", device.device},
                       {"shareID", device.share_id},
                       {"cdiDeviceIDs", strings_json(device.cdi_ids)}});
}

// A claim is always written; beyond the budget without its devices, so that it is prepared again.
Json claims_json(const ClaimInfos& claims, Budget& budget) {
  JsonArray all;
  for (const auto& [uid, claim] : claims) {
    Json drivers = Json::object();
    for (const auto& [name, driver] : claim.drivers) {
      JsonArray devices;
      for (const PreparedDevice& device : driver.devices) devices.push_back(prepared_json(device));
      Json item = Json::object({{"prepared", driver.prepared},
                                {"unprepare", driver.operations == NodeOperations::PrepareAndUnprepare},
                                {"devices", std::move(devices)}});
      if (!budget.take(item)) {
        item["prepared"] = false;
        item["devices"] = JsonArray();
      }
      drivers[name] = std::move(item);
    }
    all.push_back(Json::object({{"uid", uid},
                                {"namespace", claim.id.ns},
                                {"name", claim.id.name},
                                {"pods", strings_json(claim.pods)},
                                {"drivers", std::move(drivers)}}));
  }
  return all;
}

Result<KeptDevice> decode_device(const Json& item) {
  KeptDevice device;
  device.name = {std::string(item.string_at("pool")), std::string(item.string_at("device"))};
  const std::optional<Health> health = health_named(item.string_at("health"));
  device.timeout = Duration::micros(item.int_at("timeoutMicros"));
  device.age = Duration::micros(item.int_at("ageMicros", -1));
  if (!is_reportable(device.name)) return refused("a device's name is invalid");
  if (!health) return refused("a device's health is not one of three");
  if (device.timeout < kHealthTimeoutMin || device.timeout > kHealthTimeoutMax)
    return refused("a device's timeout is out of its bounds");
  if (device.age < Duration() || device.age > kHealthTimeoutMax * (kForgetAfterTimeouts + 1))
    return refused("a device's age is out of its bounds");
  device.health = {*health, bounded_message(std::string(item.string_at("message")))};
  return device;
}

Result<KeptDrivers> decode_drivers(const Json& all) {
  if (!all.is_object() || all.as_object().size() > kDriversMax)
    return refused("drivers are no map of drivers");
  KeptDrivers drivers;
  for (const JsonMember& member : all.as_object()) {
    if (!api::dns_subdomain_problems(member.key).empty()) return refused("a driver's name is invalid");
    KeptDriver& driver = drivers[member.key];
    driver.unsupported = member.value.bool_at("unsupported");
    const JsonArray& devices = member.value.items_at("devices");
    if (devices.size() > kDevicesPerDriverMax) return refused("a driver has more devices than the bound");
    for (const Json& item : devices) driver.devices.push_back(TRY(decode_device(item)));
  }
  return drivers;
}

bool is_device_id(std::string_view id) {
  return !id.empty() && id.size() <= kPluginDeviceIdBytesMax;
}

Result<KeptResource> decode_resource(const std::string& name, const Json& item) {
  if (!registration_problem({"v1beta1", "x", name}).empty()) return refused("a resource's name is invalid");
  const JsonArray& devices = item.items_at("devices");
  if (devices.size() > kPluginDevicesMax) return refused("a resource has more devices than the bound");
  KeptResource resource;
  resource.forgotten = item.bool_at("forgotten");
  resource.unheard = Duration::micros(item.int_at("unheardMicros", -1));
  if (resource.unheard < Duration()) return refused("a resource's age is out of its bounds");
  resource.unheard = std::min(resource.unheard, kHealthTimeoutMax);
  for (const Json& one : devices) {
    const std::optional<Health> health = health_named(one.string_at("health"));
    if (!health) return refused("a device's health is not one of three");
    if (!is_device_id(one.string_at("id"))) return refused("a device's id is invalid");
    PluginDevice& device = resource.devices[std::string(one.string_at("id"))];
    device.health = {*health, bounded_message(std::string(one.string_at("message")))};
    for (const Json& node : one.items_at("numaNodes"))
      if (node.is_int()) device.numa_nodes.push_back(node.as_int());
  }
  return resource;
}

Result<KeptResources> decode_resources(const Json& all) {
  KeptResources resources;
  if (all.is_null()) return resources;
  if (!all.is_object() || all.as_object().size() > kPluginResourcesPerNodeMax)
    return refused("resources are no map of resources");
  for (const JsonMember& member : all.as_object())
    resources[member.key] = TRY(decode_resource(member.key, member.value));
  return resources;
}

Result<HeldByContainer> decode_held(const JsonArray& all) {
  HeldByContainer held;
  for (const Json& item : all) {
    HeldDevices devices;
    devices.reusable = item.bool_at("reusable");
    for (const Json& id : item.items_at("ids")) {
      if (!id.is_string() || !is_device_id(id.as_string())) return refused("a held device's id is invalid");
      devices.ids.push_back(id.as_string());
    }
    const std::string resource(item.string_at("resource"));
    const Result<std::string> answer = base64_decode(item.string_at("answer"));
    if (!answer || answer->size() > kAllocateAnswerBytesMax) return refused("a plugin's answer is no base64");
    if (!registration_problem({"v1beta1", "x", resource}).empty() || item.string_at("pod").empty())
      return refused("what a container holds has no pod or no resource");
    devices.answer = *answer;
    held[{std::string(item.string_at("pod")), std::string(item.string_at("container"))}].insert_or_assign(
        resource, std::move(devices));
  }
  return held;
}

template <class Strings>
Result<Strings> decode_strings(const JsonArray& items, const char* what) {
  Strings strings;
  for (const Json& item : items) {
    if (!item.is_string()) return refused(std::string(what) + " is no text");
    strings.insert(strings.end(), item.as_string());
  }
  return strings;
}

Result<ClaimDriver> decode_claim_driver(const Json& item) {
  ClaimDriver driver;
  driver.prepared = item.bool_at("prepared");
  if (!item.bool_at("unprepare")) driver.operations = NodeOperations::Prepare;
  for (const Json& one : item.items_at("devices")) {
    PreparedDevice& device = driver.devices.emplace_back();
    device.requests = TRY(decode_strings<std::vector<std::string>>(one.items_at("requests"), "a request"));
    device.cdi_ids = TRY(decode_strings<std::vector<std::string>>(one.items_at("cdiDeviceIDs"), "a CDI id"));
    device.pool = one.string_at("pool");
    device.device = one.string_at("device");
    device.share_id = one.string_at("shareID");
  }
  return driver;
}

Result<ClaimInfos> decode_claims(const JsonArray& all) {
  using PodUids = decltype(ClaimInfo::pods);
  ClaimInfos claims;
  for (const Json& item : all) {
    ClaimInfo claim;
    claim.id = {std::string(item.string_at("uid")), std::string(item.string_at("namespace")),
                std::string(item.string_at("name"))};
    claim.pods = TRY(decode_strings<PodUids>(item.items_at("pods"), "a pod"));
    const Json& drivers = item.part("drivers");
    if (claim.id.uid.empty() || !drivers.is_object()) return refused("a claim has no UID or no drivers");
    for (const JsonMember& member : drivers.as_object())
      claim.drivers.emplace(member.key, TRY(decode_claim_driver(member.value)));
    claims.insert_or_assign(claim.id.uid, std::move(claim));
  }
  return claims;
}

// "berth-node-health 1 <16 hexadecimal digits> <bytes>"
std::string header_of(std::string_view body) {
  return std::string(kFormat) + " " + std::to_string(kCheckpointVersion) + " " + hex_of(fnv1a(body)) + " " +
         std::to_string(body.size());
}

// The document behind a header that fits it.
Result<std::string_view> body_of(std::string_view text) {
  const std::size_t end = text.find('\n');
  const std::string_view header = text.substr(0, end);
  const std::string start = std::string(kFormat) + " ";
  if (end == std::string_view::npos || !header.starts_with(start))
    return refused("is not a checkpoint of a node agent of Berth");
  const char* digits = header.data() + start.size();
  int version = 0;
  const auto parsed = std::from_chars(digits, header.data() + header.size(), version);
  if (parsed.ec != std::errc() || version < 1) return refused("its header names no version");
  if (version > kCheckpointVersion)
    return Error(ErrorCode::Unsupported, "checkpoint",
                 "was written in version " + std::to_string(version) + " of the format; this program reads " +
                     std::to_string(kCheckpointVersion));
  const std::string_view body = text.substr(end + 1);
  if (header != header_of(body)) return refused("is damaged: checksum or length differ from its header");
  return body;
}

}  // namespace

std::string encode_checkpoint(const NodeCheckpoint& checkpoint) {
  Budget budget;
  Json held = held_json(checkpoint.held, budget);
  Json claims = claims_json(checkpoint.claims, budget);
  Json resources = resources_json(checkpoint.resources, budget);
  const std::string body =
      to_string(Json::object({{"node", checkpoint.node},
                              {"bootID", checkpoint.boot_id},
                              {"wallMicros", checkpoint.wall.micros()},
                              {"monotonicMicros", checkpoint.monotonic.micros()},
                              {"drivers", drivers_json(checkpoint.drivers, budget)},
                              {"resources", std::move(resources)},
                              {"held", std::move(held)},
                              {"claims", std::move(claims)},
                              {"claimDrivers", strings_json(checkpoint.claim_drivers)}}));
  return header_of(body) + "\n" + body;
}

Result<NodeCheckpoint> decode_checkpoint(std::string_view text) {
  const std::string_view body = TRY(body_of(text));
  const Result<Json> document = parse_json(body);
  if (!document || !document->is_object()) return refused("its document is no JSON object");
  NodeCheckpoint checkpoint;
  checkpoint.node = document->string_at("node");
  checkpoint.boot_id = document->string_at("bootID");
  checkpoint.wall = Time::from_micros(document->int_at("wallMicros"));
  checkpoint.monotonic = Time::from_micros(document->int_at("monotonicMicros"));
  if (checkpoint.wall < Time::from_micros(0) || checkpoint.monotonic < Time::from_micros(0))
    return refused("its time is before 1970");
  checkpoint.drivers = TRY(decode_drivers(document->part("drivers")));
  checkpoint.resources = TRY(decode_resources(document->part("resources")));
  checkpoint.held = TRY(decode_held(document->items_at("held")));
  checkpoint.claims = TRY(decode_claims(document->items_at("claims")));
  checkpoint.claim_drivers =
      TRY(decode_strings<std::set<std::string>>(document->items_at("claimDrivers"), "a driver"));
  return checkpoint;
}

std::optional<Duration> time_since(const NodeCheckpoint& checkpoint, std::string_view boot_id, Time wall,
                                   Time monotonic) {
  if (boot_id.empty() || checkpoint.boot_id != boot_id) return std::nullopt;
  if (wall < checkpoint.wall || monotonic < checkpoint.monotonic) return std::nullopt;
  return std::max(wall - checkpoint.wall, monotonic - checkpoint.monotonic);
}

std::string machine_boot_id() {
  const Result<std::string> text = read_text_file(std::string(kBootIdFile), kBootIdBytesMax);
  return text ? text->substr(0, text->find('\n')) : "";
}

CheckpointFile::CheckpointFile(const std::string& folder, std::string node)
    : node_(std::move(node)), path_(folder + "/" + node_ + ".checkpoint") {}

CheckpointFile::Loaded CheckpointFile::load() {
  const Result<std::string> text = read_text_file(path_, kCheckpointBytesMax);
  if (!text && text.error().code() == ErrorCode::NotFound) return {};
  Result<NodeCheckpoint> checkpoint = text ? decode_checkpoint(*text) : Result<NodeCheckpoint>(text.error());
  if (checkpoint && checkpoint->node != node_)
    checkpoint = Error(ErrorCode::Invalid, "checkpoint", "belongs to node \"" + checkpoint->node + "\"");
  if (checkpoint) return {Loaded::From::File, std::move(*checkpoint)};
  const std::string aside = path_ + ".refused";
  const bool moved = std::rename(path_.c_str(), aside.c_str()) == 0;
  log(LogLevel::Warning,
      "a checkpoint of device health is not used: devices are Unknown until they are reported",
      {{"node", node_},
       {"cause", checkpoint.error().message()},
       {moved ? "movedTo" : "stays", moved ? aside : path_}});
  return {Loaded::From::Refused, {}};
}

Status CheckpointFile::save(const NodeCheckpoint& checkpoint) {
  Status saved = replace_text_file(path_, encode_checkpoint(checkpoint));
  if (saved.ok()) {
    complained_ = false;
  } else if (!std::exchange(complained_, true)) {
    log(LogLevel::Warning, "a checkpoint of device health cannot be written",
        {{"cause", saved.error().text()}});
  }
  return saved;
}

void CheckpointFile::remove() {
  std::remove(path_.c_str());
}

}  // namespace berth::health
