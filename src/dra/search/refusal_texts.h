// Texts about one device: why a rule refuses it, and the errors of Kubernetes' allocator, verbatim.
//
// Free functions of the search's current state. Cost: strings; a search that records nothing calls none but
// for the error that ends it.
#pragma once

#include <string>

#include "dra/pools/capacity.h"
#include "dra/search/search_context.h"

namespace berth::dra {

// "driver/pool/device".
std::string path_of(const NodeDevices& devices, DeviceRef place);

// Ends the run: the sub-request's selectors fail on this device.
SearchOutcome fail_on_selector(SearchContext& context, const api::ResourceClaim& claim,
                               const CompiledSubRequest& sub, DeviceRef place);
std::string capacity_error(const SearchContext& context, RequestRef at, DeviceRef place, const Error& error);
// For a device that an All request must have and a constraint refuses.
std::string constraint_error(const SearchContext& context, RequestRef at, DeviceRef place);
std::string derivation_error(const SearchContext& context, DeviceRef place, const std::string& attribute,
                             const std::string& error);

// Of a device, or of a share of one, that is too small even when nothing is taken from it.
std::string small_capacity_text(const api::Device& device, bool shared, const CapacityMap& requested);
// `amount`: what a share takes for the request, which may be more than `requested` names.
std::string short_capacity_text(const std::string& name, const api::DeviceCapacity& capacity,
                                const Quantity& left, const Quantity& amount, const CapacityMap& requested);
std::string group_text(const NodePool& pool, const std::string& node, const CounterDraw& draw,
                       const GroupState& held);
std::string short_counter_text(const NodePool& pool, const std::string& node, std::uint32_t counter,
                               const Quantity& left, const Quantity& amount);
// For a pool with a negative counter, which no device that draws counters fits.
std::string overdrawn_text(const NodePool& pool, const std::string& node);
std::string taint_text(const api::Taint& taint);
// `has_value`: the attribute of this name, or one that is derived for it, can be compared.
std::string constraint_text(bool is_match, const std::string& attribute, const Slice& slice,
                            const api::Device& device, bool has_value);

}  // namespace berth::dra
