#include "dra/pools/capacity.h"

#include <algorithm>
#include <cstdint>

namespace berth::dra {
namespace {

constexpr __int128 kNanosPerUnit = 1'000'000'000;
constexpr __int128 kNanosPerMilli = 1'000'000;

bool fits(const Quantity& amount, __int128 nanos_per_step) {
  const __int128 nanos = amount.nanos();
  return nanos % nanos_per_step == 0 && nanos / nanos_per_step <= INT64_MAX &&
         nanos / nanos_per_step >= INT64_MIN;
}

Error not_representable(const std::string& name, const Quantity& request, std::string_view unit) {
  return Error(ErrorCode::Invalid,
               "capacity \"" + name +
                   "\": capacity request cannot be represented in the device's range arithmetic: "
                   "request " +
                   request.text() + " is not a representable " + std::string(unit) + " value");
}

// min + the smallest number of steps that reaches the request.
Result<Quantity> round_up(const std::string& name, const Quantity& request,
                          const api::CapacityPolicy& policy) {
  const Quantity& min = *policy.range_min;
  if (request <= min) return min;
  if (!policy.range_step) return request;
  const auto all_fit = [&](__int128 step) {
    return fits(min, step) && fits(*policy.range_step, step) &&
           (!policy.range_max || fits(*policy.range_max, step));
  };
  const bool milli = all_fit(kNanosPerMilli);
  if (!fits(request, milli ? kNanosPerMilli : kNanosPerUnit))
    return not_representable(name, request, milli ? "milli" : "integer");
  const __int128 step = policy.range_step->nanos();
  if (step <= 0) return request;
  const __int128 steps = (request.nanos() - min.nanos() + step - 1) / step;
  return Quantity::nanos(min.nanos() + steps * step, request.format());
}

// Nothing when the policy refuses the request.
Result<std::optional<Quantity>> by_policy(const std::string& name, const Quantity& request,
                                          const api::CapacityPolicy& policy) {
  if (policy.default_value && request == *policy.default_value) return std::optional(request);
  if (policy.range_min) {
    const Quantity amount = TRY(round_up(name, request, policy));
    if (policy.range_max && amount > *policy.range_max) return std::optional<Quantity>();
    return std::optional(amount);
  }
  if (policy.valid_values.empty()) return std::optional(request);
  std::optional<Quantity> best;
  for (const Quantity& value : policy.valid_values)
    if (value >= request && (!best || value < *best)) best = value;
  return best;
}

Status no_negatives(const CapacityMap& requested) {
  for (const auto& [name, request] : requested)
    if (request.is_negative())
      return Error(ErrorCode::Invalid, "capacity \"" + name + "\": capacity value is negative");
  return {};
}

bool has_all(const api::Device& device, const CapacityMap& requested) {
  return std::all_of(requested.begin(), requested.end(),
                     [&](const auto& request) { return device.capacity.contains(request.first); });
}

}  // namespace

Result<std::optional<CapacityMap>> share_amounts(const api::Device& device, const CapacityMap& requested) {
  TRY(no_negatives(requested));
  if (!has_all(device, requested)) return std::optional<CapacityMap>();
  CapacityMap amounts;
  for (const auto& [name, capacity] : device.capacity) {
    const auto request = requested.find(name);
    if (request == requested.end()) {
      const bool has_default = capacity.policy && capacity.policy->default_value;
      amounts.emplace(name, has_default ? *capacity.policy->default_value : capacity.value);
    } else if (!capacity.policy) {
      amounts.emplace(name, request->second);
    } else {
      const std::optional<Quantity> amount = TRY(by_policy(name, request->second, *capacity.policy));
      if (!amount) return std::optional<CapacityMap>();
      amounts.emplace(name, *amount);
    }
  }
  return std::optional(std::move(amounts));
}

std::optional<Quantity> largest_share(const api::CapacityPolicy& policy) {
  if (!policy.range_min) {
    const auto most = std::max_element(policy.valid_values.begin(), policy.valid_values.end());
    return most == policy.valid_values.end() ? std::nullopt : std::optional(*most);
  }
  if (!policy.range_max) return std::nullopt;
  const __int128 step = policy.range_step ? policy.range_step->nanos() : 0;
  if (step <= 0) return policy.range_max;
  const __int128 min = policy.range_min->nanos(), max = policy.range_max->nanos();
  return Quantity::nanos(min + (max - min) / step * step, policy.range_max->format());
}

Result<bool> large_enough(const api::Device& device, const CapacityMap& requested) {
  TRY(no_negatives(requested));
  if (!has_all(device, requested)) return false;
  return std::all_of(requested.begin(), requested.end(), [&](const auto& request) {
    return request.second <= device.capacity.at(request.first).value;
  });
}

Result<bool> share_fits_unused(const api::Device& device, const CapacityMap& requested) {
  const std::optional<CapacityMap> amounts = TRY(share_amounts(device, requested));
  return amounts && std::all_of(amounts->begin(), amounts->end(), [&](const auto& amount) {
           return amount.second <= device.capacity.at(amount.first).value;
         });
}

}  // namespace berth::dra
