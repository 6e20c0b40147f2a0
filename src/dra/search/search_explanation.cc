// Why a search found nothing, for people: subject first, numbers, names, sorted.
#include <algorithm>

#include "dra/search/search.h"

namespace berth::dra {
namespace {

// Names beyond this many are counted instead.
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

void Search::note(Position at, DeviceRef place, std::string why) {
  if (!explains_ || at.claim != deepest_.claim || at.request != deepest_.request) return;
  notes_.emplace(std::pair(place.device_run, place.device), std::move(why));
}

std::string Search::why() const {
  if (compiled_->claims.empty() || deepest_.request >= compiled_->claims[deepest_.claim].requests.size())
    return {};
  const CompiledClaim& claim = compiled_->claims[deepest_.claim];
  const std::size_t alternatives = claim.requests[deepest_.request].alternatives.size();
  std::string text;
  for (std::uint32_t a = 0; a < alternatives; ++a)
    text += (a ? "; or " : "") + why_not({deepest_.claim, deepest_.request, a});
  return text;
}

std::string Search::why_not(Position at) const {
  const CompiledSubRequest& compiled = sub(at);
  const bool all = compiled.spec->mode == api::AllocationMode::All;
  std::map<std::string, std::vector<std::string>> refused;  // by reason
  std::vector<std::string> taken, free;
  std::size_t on_node = 0;
  for (std::uint32_t s = 0; s < devices_->order.size(); ++s) {
    const DeviceRun& device_run = devices_->order[s];
    on_node += device_run.here.count();
    const Mask match = inventory_.selected(slice_of(s), compiled.selectors).match & device_run.here;
    for (std::size_t i = match.next(0); i < kSliceDevicesMax; i = match.next(i + 1)) {
      const std::string& name = device_at({s, i}).name;
      const auto noted = notes_.find({s, i});
      if (!compiled.spec->admin_access && (device_run.blocked.test(i) || used_[s].test(i)))
        taken.push_back(name);
      else if (noted == notes_.end())
        free.push_back(name);
      else if (noted->second == "taken")
        taken.push_back(name);
      else
        refused[noted->second].push_back(name);
    }
  }
  const std::string& node = cluster_.node(node_).name;
  const std::string what = "of class " + compiled.spec->device_class;
  if (on_node == 0) return node + " has no devices";
  if (free.empty() && taken.empty() && refused.empty())
    return "none of the " + counted(on_node) + " on " + node + " is " + what + " as request " +
           compiled.name + " selects";
  if (free.empty() && taken.empty() && refused.size() == 1 && !all && compiled.spec->count == 1)
    return refused.begin()->first.starts_with("counter ")
               ? refused.begin()->first
               : list_of(refused.begin()->second) + " on " + node + ": " + refused.begin()->first;
  std::string text =
      all ? "needs all " + std::to_string(free.size() + taken.size() + refused.size()) + " devices "
          : "needs " + counted(static_cast<std::size_t>(compiled.spec->count)) + " ";
  text += what + ", " + std::to_string(free.size()) + (free.size() == 1 ? " is" : " are") + " free";
  if (!taken.empty()) text += " (" + list_of(taken) + " taken)";
  for (const auto& [reason, names] : refused) text += "; " + list_of(names) + ": " + reason;
  return text;
}

}  // namespace berth::dra
