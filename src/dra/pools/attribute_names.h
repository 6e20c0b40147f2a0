// The names of devices' attributes, and those that were probably meant by one that no device has.
//
// Pure, for people. Cost: linear in the names; called only for an explanation.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "api/types/dra.h"

namespace berth::dra {

// Distinct names that are compared; further ones are left out.
inline constexpr std::size_t kAttributeNamesMax = 256;

// With their domains: that of a bare name is the driver.
void add_attribute_names(std::set<std::string>& names, std::string_view driver, const api::Device& device);
// " (nearest: dra.net/numaNode)": the same id in another domain, else similar names; empty without one.
std::string nearest_attributes_text(const std::string& attribute, const std::set<std::string>& names);

}  // namespace berth::dra
