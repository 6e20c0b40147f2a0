#include "dra/search/nearest_miss.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace berth::dra {
namespace {

// Further names are counted instead.
constexpr std::size_t kNamesMax = 8;

std::string list_of(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNamesMax); ++i) text += (i ? ", " : "") + names[i];
  if (names.size() > kNamesMax) text += " and " + std::to_string(names.size() - kNamesMax) + " more";
  return text;
}

std::string counted(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " device" : " devices");
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
  std::string text;
  for (std::uint32_t a = 0; a < alternatives; ++a)
    text += (a ? "; or " : "") + words_of(context, state, {furthest_.claim, furthest_.request, a});
  return text;
}

std::string NearestMiss::words_of(const SearchContext& context, const SearchState& state,
                                  RequestRef at) const {
  const CompiledSubRequest& sub = context.sub(at);
  const bool all = sub.spec->mode == api::AllocationMode::All;
  std::map<std::string, std::vector<std::string>> refused;  // by reason
  std::vector<std::string> taken, free;
  std::size_t on_node = 0;
  for (std::uint32_t s = 0; s < context.devices->order.size(); ++s) {
    const DeviceRun& run = context.devices->order[s];
    on_node += run.here.count();
    const Mask match = context.selected(run, sub).match & run.here;
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
  const std::string what = "of class " + sub.spec->device_class;
  if (on_node == 0) return node + " has no devices";
  if (free.empty() && taken.empty() && refused.empty())
    return "none of the " + counted(on_node) + " on " + node + " is " + what + " as request " + sub.name +
           " selects";
  if (free.empty() && taken.empty() && refused.size() == 1 && !all && sub.spec->count == 1)
    return refused.begin()->first.starts_with("counter ")
               ? refused.begin()->first
               : list_of(refused.begin()->second) + " on " + node + ": " + refused.begin()->first;
  std::string text =
      all ? "needs all " + std::to_string(free.size() + taken.size() + refused.size()) + " devices "
          : "needs " + counted(static_cast<std::size_t>(sub.spec->count)) + " ";
  text += what + ", " + std::to_string(free.size()) + (free.size() == 1 ? " is" : " are") + " free";
  if (!taken.empty()) text += " (" + list_of(taken) + " taken)";
  for (const auto& [reason, names] : refused) text += "; " + list_of(names) + ": " + reason;
  return text;
}

}  // namespace berth::dra
