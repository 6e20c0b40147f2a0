// The rules of one device and of one constraint, as sets and plain arithmetic; shares nothing with the fast
// allocator.
//
// Source: KEP-4381 and KEP-5491 constraints, KEP-5075 capacity, KEP-5963 groups.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/types/dra.h"

namespace berth::dra::judge {

using Amounts = std::map<std::string, Quantity>;

enum class RuleResult { Yes, No, Error };

// What one share consumes of every capacity of the device. `wishes` may name only capacities that the device
// has.
RuleResult share_of(const api::Device& device, const Amounts& wishes, Amounts& taken);
// Whether the whole device has at least the requested amounts.
RuleResult is_large_enough(const api::Device& device, const Amounts& wishes);
// Whether it has the requested amounts while it has no other share.
RuleResult fits_unused(const api::Device& device, bool shareable, const Amounts& wishes);

// The set of values that a constraint compares; empty when it cannot.
std::set<std::string> value_set(const api::AttributeValue& value, bool lists_are_sets);
// Looked up under the name that the device's driver would use: with its domain, or bare.
std::optional<api::AttributeValue> attribute_named(const api::Device& device, const std::string& driver,
                                                   const std::string& name);
// All sets have a member in common; no two sets have one.
bool all_match(const std::vector<std::set<std::string>>& sets);
bool all_distinct(const std::vector<std::set<std::string>>& sets);

bool constraint_covers(const api::DeviceConstraint& constraint, const std::string& request,
                       const std::string& alternative);

}  // namespace berth::dra::judge
