#include "api/types/gpu_share.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "api/names.h"
#include "base/fnv.h"
#include "base/hex.h"

namespace berth::api {
namespace {

template <class Number>
std::optional<Number> parse_all(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

const std::string* find_annotation(const ObjectMeta& meta, std::string_view key) {
  const auto found = meta.annotations.find(key);
  return found == meta.annotations.end() ? nullptr : &found->second;
}

}  // namespace

// from_chars reads "nan" and "inf", which are not between 0 and 1, and refuses hexadecimal forms.
std::optional<std::int32_t> parse_gpu_fraction(std::string_view text) {
  const std::optional<double> share = parse_all<double>(text);
  if (!share || !(*share > 0 && *share < 1)) return std::nullopt;
  return static_cast<std::int32_t>(std::lround(*share * kWholeGpu));
}

std::optional<std::uint64_t> parse_whole_number(std::string_view text) {
  return parse_all<std::uint64_t>(text);
}

bool asks_for_gpu_share(const ObjectMeta& pod) {
  return find_annotation(pod, kGpuFraction) || find_annotation(pod, kGpuMemory);
}

std::optional<GpuShareRequest> gpu_share_request(const ObjectMeta& pod) {
  const std::string* fraction = find_annotation(pod, kGpuFraction);
  const std::string* memory = find_annotation(pod, kGpuMemory);
  if ((fraction != nullptr) == (memory != nullptr)) return std::nullopt;
  GpuShareRequest request;
  if (fraction) {
    request.hundredths = parse_gpu_fraction(*fraction).value_or(0);
    if (request.hundredths <= 0 || request.hundredths >= kWholeGpu) return std::nullopt;
  } else {
    request.memory_mib = parse_whole_number(*memory).value_or(0);
    if (request.memory_mib == 0) return std::nullopt;
  }
  if (const std::string* devices = find_annotation(pod, kGpuFractionDevices)) {
    const std::uint64_t count = parse_whole_number(*devices).value_or(0);
    if (count == 0 || count > kGpuFractionDevicesMax) return std::nullopt;
    request.devices = static_cast<std::uint32_t>(count);
  }
  return request;
}

std::optional<std::int32_t> gpu_hundredths(const GpuShareRequest& request, const StringMap& node_labels) {
  if (request.hundredths > 0) return request.hundredths;
  const auto label = node_labels.find(kGpuMemoryLabel);
  const std::uint64_t whole = label == node_labels.end() ? 0 : parse_whole_number(label->second).value_or(0);
  if (whole > kGpuMemoryMax || request.memory_mib > whole) return std::nullopt;
  return static_cast<std::int32_t>((request.memory_mib * kWholeGpu + whole - 1) / whole);
}

std::string gpu_portion(std::int32_t hundredths) {
  std::string digits = std::to_string(hundredths);
  while (digits.size() < 3) digits.insert(digits.begin(), '0');
  return digits.insert(digits.size() - 2, ".");
}

std::optional<std::int32_t> parse_gpu_portion(std::string_view text) {
  constexpr std::size_t kLength = 4;  // "0.50"
  if (text.size() != kLength || text[1] != '.') return std::nullopt;
  const std::string digits = std::string(text.substr(0, 1)).append(text.substr(2));
  const std::uint64_t hundredths = parse_whole_number(digits).value_or(0);
  if (hundredths == 0 || hundredths > kWholeGpu) return std::nullopt;
  return static_cast<std::int32_t>(hundredths);
}

bool is_gpu_group_name(std::string_view name) {
  return dns_label_problems(name).empty();
}

// FNV-1a, because nothing rests on the name alone: is_gpu_reservation() compares the group as well.
std::string gpu_reservation_name(std::string_view node, std::string_view group) {
  return "gpu-reservation-" + hex_of(fnv1a(group, fnv1a("/", fnv1a(node))));
}

std::string_view gpu_reservation_node(const Pod& reservation) {
  return reservation.bound() ? reservation.node_name : reservation.meta.annotation(kGpuNodeAnnotation);
}

bool is_gpu_reservation(const Pod& pod) {
  if (pod.meta.ns != kGpuReservationNamespace) return false;
  const std::string_view group = pod.meta.annotation(kGpuGroupAnnotation);
  return is_gpu_group_name(group) && pod.meta.name == gpu_reservation_name(gpu_reservation_node(pod), group);
}

GpuSharePtr gpu_share_of(const Pod& pod) {
  if (is_gpu_reservation(pod))
    return std::make_shared<GpuShare>(GpuShare{{std::string(pod.meta.annotation(kGpuGroupAnnotation))}, 0});
  if (!asks_for_gpu_share(pod.meta)) return nullptr;
  const std::string* groups = find_annotation(pod.meta, kGpuGroupsAnnotation);
  const std::string* portion = find_annotation(pod.meta, kGpuPortionAnnotation);
  const auto hundredths = portion ? parse_gpu_portion(*portion) : std::nullopt;
  if (!groups || !hundredths) return nullptr;
  auto share = std::make_shared<GpuShare>();
  share->hundredths = *hundredths;
  for (std::string_view rest = *groups; !rest.empty();) {
    const std::string_view group = rest.substr(0, rest.find(','));
    const bool known = std::find(share->groups.begin(), share->groups.end(), group) != share->groups.end();
    if (!is_gpu_group_name(group) || known || share->groups.size() == kGpuFractionDevicesMax) return nullptr;
    share->groups.emplace_back(group);
    rest.remove_prefix(std::min(rest.size(), group.size() + 1));
  }
  return share->empty() ? nullptr : share;
}

StringMap gpu_share_annotations(const GpuShare& share) {
  std::string groups;
  for (const std::string& group : share.groups) groups.append(groups.empty() ? "" : ",").append(group);
  StringMap annotations;
  annotations[std::string(kGpuGroupsAnnotation)] = groups;
  annotations[std::string(kGpuPortionAnnotation)] = gpu_portion(share.hundredths);
  return annotations;
}

}  // namespace berth::api
