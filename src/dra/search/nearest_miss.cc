#include "dra/search/nearest_miss.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/name_list.h"
#include "dra/search/selector_miss.h"

namespace berth::dra {
namespace {

// Further names are counted instead.
constexpr std::size_t kNamesMax = 8;
constexpr std::size_t kFaultsNamedMax = 3;  // pools

std::string list_of(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  return first_names(names, kNamesMax);
}

std::string counted(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " device" : " devices");
}

// Stands for "request r" or "requests a, b", so that equal clauses of several alternatives are one.
constexpr std::string_view kRequestMark = "\x01";

std::string with_requests(std::string clause, std::vector<std::string> names) {
  const std::size_t mark = clause.find(kRequestMark);
  if (mark == std::string::npos) return clause;
  const bool one = names.size() == 1;
  return clause.replace(mark, kRequestMark.size(),
                        (one ? "request " : "requests ") + list_of(std::move(names)));
}

// "8 devices on n are of class c; selector #0 of request r refuses all of them (gpu-0 has memory 40Gi)".
std::string selector_text(const SelectorMiss& miss, const std::string& node, const std::string& class_name) {
  std::string text = counted(miss.of_class) + " on " + node + (miss.of_class == 1 ? " is" : " are") +
                     " of class " + class_name + "; selector #" + std::to_string(miss.selector) + " of " +
                     std::string(kRequestMark) + " refuses ";
  if (miss.refused == miss.of_class)
    text += miss.refused == 1 ? "it" : "all of them";
  else if (miss.passed == miss.of_class)
    text += std::to_string(miss.refused) + " of them";
  else
    text += std::to_string(miss.refused) + " of the " + std::to_string(miss.passed) +
            (miss.passed == 1 ? " that passes" : " that pass") + " those before";
  return miss.nearest.empty() ? text : text + " (" + miss.nearest + ")";
}

// Whether devices of the pool would pass the selectors, as far as its slices are known.
bool may_serve(const SearchContext& context, const NodePool& pool, const CompiledRequest& request) {
  bool any_device = false;
  for (std::size_t i = 0; i < pool.slices.size(); ++i) {
    any_device |= pool.here[i].any();
    for (const CompiledSubRequest& sub : request.alternatives)
      if ((context.inventory.selected(*pool.slices[i], sub.selectors).match & pool.here[i]).any())
        return true;
  }
  return !any_device;
}

}  // namespace

void NearestMiss::reset(Explain explain) {
  is_listening_ = explain == Explain::Words;
  furthest_ = {};
  rest_noted_ = 0;
  reasons_.clear();
}

void NearestMiss::enter(RequestRef at) {
  if (!is_listening_) return;
  if (std::pair(at.claim, at.request) <= std::pair(furthest_.claim, furthest_.request)) return;
  furthest_ = at;
  rest_noted_ = 0;
  reasons_.clear();
}

bool NearestMiss::wants_rest(RequestRef at) {
  const std::uint64_t bit = std::uint64_t{1} << (at.alternative % 64);
  if (!is_listening_ || (rest_noted_ & bit) != 0) return false;
  rest_noted_ |= bit;
  return true;
}

std::string NearestMiss::words(const SearchContext& context, const SearchState& state) const {
  const std::vector<CompiledClaim>& claims = context.compiled->claims;
  if (claims.empty() || furthest_.request >= claims[furthest_.claim].requests.size()) return {};
  const std::size_t alternatives = claims[furthest_.claim].requests[furthest_.request].alternatives.size();
  std::vector<std::pair<std::string, std::vector<std::string>>> clauses;  // and the names of their requests
  for (std::uint32_t a = 0; a < alternatives; ++a) {
    const RequestRef at{furthest_.claim, furthest_.request, a};
    std::string clause = words_of(context, state, at);
    const auto known = std::find_if(clauses.begin(), clauses.end(),
                                    [&](const auto& other) { return other.first == clause; });
    if (known == clauses.end())
      clauses.emplace_back(std::move(clause), std::vector<std::string>{context.sub(at).name});
    else
      known->second.push_back(context.sub(at).name);
  }
  std::string text;
  for (auto& [clause, names] : clauses)
    text += (text.empty() ? "" : "; or ") + with_requests(std::move(clause), std::move(names));
  return text;
}

std::vector<std::string> NearestMiss::faults(const SearchContext& context) const {
  const CompiledRequest& request = context.compiled->claims[furthest_.claim].requests[furthest_.request];
  const std::vector<DeviceRun>& order = context.devices->order;
  const bool none =
      std::none_of(order.begin(), order.end(), [](const DeviceRun& run) { return run.here.any(); });
  std::vector<std::string> found;
  for (const NodePool& pool : context.devices->pools) {
    if (pool.fault.empty()) continue;
    // An invalid one is a reason of its own, whatever its devices are.
    const bool matters = none || pool.state == PoolState::Invalid || may_serve(context, pool, request);
    if (matters) found.push_back(pool.fault);
  }
  found.insert(found.end(), context.devices->unseen.begin(), context.devices->unseen.end());
  return found;
}

std::string NearestMiss::pool_notes(const SearchContext& context) const {
  const std::vector<CompiledClaim>& claims = context.compiled->claims;
  if (claims.empty() || furthest_.request >= claims[furthest_.claim].requests.size()) return {};
  const std::vector<std::string> found = faults(context);
  std::string text;
  for (std::size_t i = 0; i < std::min(found.size(), kFaultsNamedMax); ++i) text += "; " + found[i];
  if (found.size() > kFaultsNamedMax)
    text += "; and " + std::to_string(found.size() - kFaultsNamedMax) + " more pools are not usable";
  return text;
}

std::string NearestMiss::words_of(const SearchContext& context, const SearchState& state,
                                  RequestRef at) const {
  const CompiledSubRequest& sub = context.sub(at);
  const bool all = sub.spec->mode == api::AllocationMode::All;
  std::map<std::string, std::vector<std::string>> refused;  // by reason
  std::vector<std::string> taken, free;
  std::size_t on_node = 0, matching = 0;
  for (std::uint32_t s = 0; s < context.devices->order.size(); ++s) {
    const DeviceRun& run = context.devices->order[s];
    on_node += run.here.count();
    const Mask match = context.selected(run, sub).match & run.here;
    matching += match.count();
    for (std::size_t i = match.next(0); i < kSliceDevicesMax; i = match.next(i + 1)) {
      const std::string& name = context.devices->device_at({s, i}).name;
      const auto reason = reasons_.find({s, i});
      if (!sub.spec->admin_access && (run.blocked.test(i) || state.used(s).test(i)))
        taken.push_back(name);
      else if (reason == reasons_.end())
        free.push_back(name);
      else if (reason->second == kTaken)
        taken.push_back(name);
      else
        refused[reason->second].push_back(name);
    }
  }
  const std::string& node = context.cluster.node(context.node).name;
  const std::string& class_name = sub.spec->device_class;
  const std::size_t wanted = context.wanted(sub);
  const std::string needs = "needs " + (all ? "all " + counted(matching) : counted(wanted));
  if (on_node == 0) return node + (faults(context).empty() ? " has no devices" : " has no usable devices");
  if (matching < std::max<std::size_t>(wanted, 1)) {
    const SelectorMiss miss = selector_miss(context, sub);
    if (miss.of_class == 0)
      return (on_node == 1 ? "the device on " + node + " is not"
                           : "none of the " + counted(on_node) + " on " + node + " is") +
             " of class " + class_name;
    if (miss.refused > 0) return (wanted > 1 ? needs + "; " : "") + selector_text(miss, node, class_name);
  }
  if (free.empty() && taken.empty() && refused.size() == 1 && !all && sub.spec->count == 1)
    return refused.begin()->first.starts_with("counter ")
               ? refused.begin()->first
               : list_of(refused.begin()->second) + " on " + node + ": " + refused.begin()->first;
  std::string text = needs + " of class " + class_name + ", " + std::to_string(free.size()) +
                     (free.size() == 1 ? " is" : " are") + " free";
  if (!taken.empty()) text += " (" + list_of(taken) + " taken)";
  for (const auto& [reason, names] : refused) text += "; " + list_of(names) + ": " + reason;
  return text;
}

}  // namespace berth::dra
