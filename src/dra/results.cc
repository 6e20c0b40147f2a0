#include "dra/results.h"

#include <algorithm>

namespace berth::dra {
namespace {

api::DeviceResult result_of(const CompiledSubRequest& compiled, const Slice& slice, const Pick& pick,
                            const DeviceGates& gates, Random& random) {
  const api::Device& device = slice.live->devices[pick.place.device];
  api::DeviceResult result;
  result.request = compiled.name;
  result.driver = slice.live->driver;
  result.pool = slice.live->pool;
  result.device = device.name;
  result.admin_access = compiled.spec->admin_access;
  if (gates.device_taints) result.tolerations = compiled.spec->tolerations;
  if (gates.binding_conditions) {
    result.binding_conditions = device.binding_conditions;
    result.binding_failure_conditions = device.binding_failure_conditions;
  }
  if (pick.share) {
    result.share_id = random.uuid();
    result.consumed_capacity = pick.consumed;
  }
  result.skip_node_operations = slice.live->skip_node_operations;
  if (gates.compatibility_groups && gates.compatibility_group_snapshot)
    for (const api::CounterConsumption& entry : device.consumes)
      if (!entry.groups.empty()) result.groups[entry.counter_set] = entry.groups;
  return result;
}

template <class T>
void append_new(std::vector<T>& list, const std::vector<T>& more) {
  for (const T& item : more)
    if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

// One term: the node itself as soon as one device is tied to it, else the requirements of all devices
// together.
std::optional<api::NodeSelector> selector_for(std::uint32_t index, const Search& search,
                                              const DeviceGates& gates, std::string_view node) {
  api::NodeSelectorTerm term;
  for (const Pick& pick : search.picks()) {
    if (pick.at.claim != index) continue;
    const Slice& slice = search.devices().slice_at(pick.place);
    const api::Device& device = slice.live->devices[pick.place.device];
    const NodeScope reach = node_scope_of(slice, device, gates);
    if (reach.one_node) {
      api::NodeSelectorTerm only;
      only.fields.push_back({"metadata.name", "In", {std::string(node)}});
      return api::NodeSelector{{only}};
    }
    if (!reach.selector) continue;
    append_new(term.expressions, reach.selector->terms[0].expressions);
    append_new(term.fields, reach.selector->terms[0].fields);
  }
  if (term.expressions.empty() && term.fields.empty()) return std::nullopt;
  return api::NodeSelector{{term}};
}

Json config_entry(std::string_view source, const std::vector<std::string>& requests, const Json& config) {
  Json entry = Json::object({{"source", source}});
  if (!requests.empty()) {
    JsonArray names;
    for (const std::string& name : requests) names.emplace_back(name);
    entry["requests"] = std::move(names);
  }
  if (const Json* opaque = config.find("opaque")) entry["opaque"] = *opaque;
  return entry;
}

const JsonArray& items(const Json& json) {
  static const JsonArray kNone;
  return json.is_array() ? json.as_array() : kNone;
}

// Those of the classes first, each class once, then the claim's: drivers let later entries win.
Json configs_for(const CompiledClaim& claim, std::uint32_t index, const Search& search) {
  std::vector<std::pair<const api::DeviceClass*, std::vector<std::string>>> classes;
  for (std::uint32_t r = 0; r < claim.requests.size(); ++r) {
    const CompiledSubRequest& compiled = claim.requests[r].alternatives[search.alternative(index, r)];
    const auto known = std::find_if(classes.begin(), classes.end(), [&](const auto& entry) {
      return entry.first == compiled.device_class.get();
    });
    if (known == classes.end())
      classes.emplace_back(compiled.device_class.get(), std::vector{compiled.name});
    else
      known->second.push_back(compiled.name);
  }
  JsonArray configs;
  for (auto& [device_class, requests] : classes) {
    if (requests.size() == claim.requests.size()) requests.clear();  // empty means all
    for (const Json& config : items(device_class->config))
      configs.push_back(config_entry("FromClass", requests, config));
  }
  for (const Json& config : items(claim.claim->config)) {
    std::vector<std::string> named;
    for (const Json& name : config.items_at("requests"))
      if (name.is_string()) named.push_back(name.as_string());
    const auto names_it = [&](const std::string& name) {
      return std::find(named.begin(), named.end(), name) != named.end();
    };
    bool kept = named.empty();
    for (std::uint32_t r = 0; r < claim.requests.size() && !kept; ++r) {
      const CompiledRequest& request = claim.requests[r];
      kept =
          names_it(request.spec->name) || names_it(request.alternatives[search.alternative(index, r)].name);
    }
    if (kept) configs.push_back(config_entry("FromClaim", named, config));
  }
  return configs.empty() ? Json() : Json(std::move(configs));
}

}  // namespace

Allocations make_allocations(const CompiledAllocationRequest& compiled, const Search& search,
                             const DeviceGates& gates, std::string_view node, Random& random) {
  Allocations all;
  for (std::uint32_t c = 0; c < compiled.claims.size(); ++c) {
    const CompiledClaim& claim = compiled.claims[c];
    auto allocation = std::make_shared<api::Allocation>();
    for (const Pick& pick : search.picks())
      if (pick.at.claim == c)
        allocation->results.push_back(
            result_of(claim.requests[pick.at.request].alternatives[pick.at.alternative],
                      search.devices().slice_at(pick.place), pick, gates, random));
    allocation->config = configs_for(claim, c, search);
    allocation->node_selector = selector_for(c, search, gates, node);
    ClaimResult result{claim.claim, std::move(allocation), {}};
    for (std::uint32_t r = 0; r < claim.requests.size(); ++r)
      result.alternatives.push_back(search.alternative(c, r));
    all.claims.push_back(std::move(result));
  }
  return all;
}

}  // namespace berth::dra
