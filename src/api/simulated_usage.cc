#include "api/simulated_usage.h"

#include <algorithm>
#include <map>
#include <set>

#include "api/types/simulated_node.h"
#include "base/ascii.h"

namespace berth::api {
namespace {

constexpr std::string_view kCpu = "cpu", kMemory = "memory";
constexpr __int128 kNanosOfUnit = 1'000'000'000;
constexpr int kPercent = 100;
// An operating system and a kubelet.
constexpr std::int64_t kOwnCpuMillis = 100, kOwnMemoryBytes = 256 << 20;

Error malformed_usage(std::string_view text, const std::string& why) {
  return Error(ErrorCode::Invalid, "\"" + std::string(text) + "\": " + why +
                                       R"(; write "cpu=250m,memory=64Mi" or "web: cpu=250m; log: cpu=5m")");
}

// The next part of `rest`, without the spaces around it.
std::string_view take_part(std::string_view& rest, char separator) {
  const std::size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return trimmed(part);
}

Result<ResourceMap> parse_amounts(std::string_view text) {
  ResourceMap amounts;
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view value = take_part(rest, ',');
    const std::string_view name = take_part(value, '=');
    if (name != kCpu && name != kMemory)
      return malformed_usage(text, "\"" + std::string(name) + "\" is neither cpu nor memory");
    const Result<Quantity> amount = parse_quantity(trimmed(value));
    if (!amount) return malformed_usage(text, amount.error().message());
    if (amount->is_negative()) return malformed_usage(text, std::string(name) + " is negative");
    if (!amounts.emplace(name, *amount).second)
      return malformed_usage(text, std::string(name) + " comes twice");
  }
  if (amounts.empty()) return malformed_usage(text, "it has no amount");
  return amounts;
}

// Cpu to the nano unit, memory to the byte, rounded down.
Quantity share_of(Quantity whole, std::string_view resource, int part, int of) {
  const __int128 unit = resource == kCpu ? 1 : kNanosOfUnit;
  const __int128 units = whole.nanos() / unit;
  return Quantity::nanos((units / of * part + units % of * part / of) * unit, whole.format());
}

// `whole` in as many parts; the first ones take what division leaves.
std::vector<Quantity> split(Quantity whole, std::string_view resource, std::size_t count) {
  const __int128 unit = resource == kCpu ? 1 : kNanosOfUnit;
  const auto parts = static_cast<__int128>(count);
  const __int128 units = whole.nanos() / unit;
  std::vector<Quantity> shares;
  for (__int128 i = 0; i < parts; ++i)
    shares.push_back(Quantity::nanos((units / parts + (i < units % parts ? 1 : 0)) * unit, whole.format()));
  return shares;
}

std::vector<const Container*> running_containers(const Pod& pod) {
  std::vector<const Container*> running;
  for (const Container& container : pod.containers) running.push_back(&container);
  for (const Container& container : pod.init_containers)
    if (container.restartable_init) running.push_back(&container);
  return running;
}

// By container; that of the pod or node as a whole has no name.
using AnnotatedUsage = std::map<std::string, ResourceMap, std::less<>>;

AnnotatedUsage annotated_usage(std::string_view annotation) {
  AnnotatedUsage usage;
  if (annotation.empty()) return usage;
  Result<std::vector<UsageEntry>> parsed = parse_usage(annotation);
  if (!parsed) return usage;
  for (UsageEntry& entry : *parsed) usage.emplace(std::move(entry.container), std::move(entry.amounts));
  return usage;
}

const Quantity* amount_in(const ResourceMap& amounts, std::string_view resource) {
  const auto found = amounts.find(resource);
  return found == amounts.end() ? nullptr : &found->second;
}

const Quantity* annotated_amount(const AnnotatedUsage& usage, std::string_view container,
                                 std::string_view resource) {
  const auto entry = usage.find(container);
  return entry == usage.end() ? nullptr : amount_in(entry->second, resource);
}

// The amounts of one resource into the entries, which are those of `running`: what the annotation says of a
// container, then an equal share of what it says of the pod, then a part of the request.
void add_resource(const Pod& pod, const std::vector<const Container*>& running,
                  const AnnotatedUsage& annotated, const std::string& resource,
                  std::vector<UsageEntry>& entries) {
  std::vector<std::size_t> unnamed;
  for (std::size_t i = 0; i < running.size(); ++i) {
    const Quantity* own = annotated_amount(annotated, running[i]->name, resource);
    if (own)
      entries[i].amounts[resource] = *own;
    else
      unnamed.push_back(i);
  }
  const Quantity* whole = annotated_amount(annotated, "", resource);
  const auto requests_it = [&](std::size_t i) {
    return amount_in(running[i]->requests, resource) != nullptr;
  };
  const Quantity* pod_level = pod.pod_level_requests ? amount_in(*pod.pod_level_requests, resource) : nullptr;
  const bool by_pod_level = !whole && pod_level && std::ranges::none_of(unnamed, requests_it);
  if (whole || by_pod_level) {
    const Quantity amount = whole ? *whole : share_of(*pod_level, resource, kUsedPercentOfRequest, kPercent);
    const std::vector<Quantity> shares = split(amount, resource, unnamed.size());
    for (std::size_t i = 0; i < unnamed.size(); ++i) entries[unnamed[i]].amounts[resource] = shares[i];
    return;
  }
  for (const std::size_t i : unnamed) {
    const Quantity* request = amount_in(running[i]->requests, resource);
    entries[i].amounts[resource] =
        request ? share_of(*request, resource, kUsedPercentOfRequest, kPercent) : Quantity();
  }
}

}  // namespace

Result<std::vector<UsageEntry>> parse_usage(std::string_view text) {
  if (text.size() > kUsageBytesMax)
    return Error(ErrorCode::Invalid, "it has more than " + std::to_string(kUsageBytesMax) + " bytes");
  std::vector<UsageEntry> entries;
  std::set<std::string> names;
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view part = take_part(rest, ';');
    if (part.empty()) continue;
    UsageEntry entry;
    if (part.find(':') != std::string_view::npos) {
      entry.container = take_part(part, ':');
      if (entry.container.empty()) return malformed_usage(text, "the name of a container is empty");
    }
    entry.amounts = TRY(parse_amounts(trimmed(part)));
    if (!names.insert(entry.container).second)
      return malformed_usage(text, "\"" + entry.container + "\" comes twice");
    entries.push_back(std::move(entry));
  }
  if (entries.empty()) return malformed_usage(text, "it has no amount");
  return entries;
}

Quantity PodUsage::total(std::string_view resource) const {
  Quantity sum;
  for (const UsageEntry& container : containers)
    if (const Quantity* amount = amount_in(container.amounts, resource)) sum += *amount;
  return sum;
}

Time containers_ready_since(const Pod& pod) {
  const Condition* containers = find_condition(pod.conditions, "ContainersReady");
  const bool run = pod.phase == "Running" && containers && containers->status == "True";
  return run ? containers->last_transition : Time();
}

std::optional<MeasuredTime> measured_time(Time since, Time now) {
  if (!since.is_set()) return std::nullopt;
  const Time end = now.to_second();
  const Duration ran = Duration::seconds((end - since).whole_seconds());
  if (ran < Duration::seconds(1)) return std::nullopt;
  return MeasuredTime{end, std::min(ran, kUsageWindowMax)};
}

std::optional<PodUsage> usage_of(const Pod& pod, Time now) {
  const std::optional<MeasuredTime> time = measured_time(containers_ready_since(pod), now);
  if (!time) return std::nullopt;
  const std::vector<const Container*> running = running_containers(pod);
  const AnnotatedUsage annotated = annotated_usage(pod.meta.annotation(kUsageAnnotation));
  PodUsage usage{*time, {}};
  for (const Container* container : running) usage.containers.push_back({container->name, {}});
  for (const std::string_view resource : {kCpu, kMemory})
    add_resource(pod, running, annotated, std::string(resource), usage.containers);
  return usage;
}

bool is_measured(const Node& node) {
  return is_simulated(node) && node.meta.annotation(kAgentAnnotation) != kAgentSilent;
}

ResourceMap own_usage(const Node& node) {
  ResourceMap own = {{std::string(kCpu), Quantity::millis(kOwnCpuMillis)},
                     {std::string(kMemory), Quantity::of(kOwnMemoryBytes, Quantity::Format::BinarySI)}};
  const AnnotatedUsage annotated = annotated_usage(node.meta.annotation(kUsageAnnotation));
  if (const auto whole = annotated.find(""); whole != annotated.end())
    for (const auto& [resource, amount] : whole->second) own[resource] = amount;
  return own;
}

}  // namespace berth::api
