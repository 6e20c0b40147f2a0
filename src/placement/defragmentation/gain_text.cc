// What the moves of one domain buy, for people.
#include "base/count_text.h"
#include "placement/defragmentation/defragmentation.h"

namespace berth::placement {
namespace {

// "gang ns/g of 16"
std::string fitting_text(const WaitingEntity& waiting) {
  const std::string name = waiting.key.ns + "/" + waiting.key.name;
  if (waiting.key.kind == EntityKind::Pod) return "pod " + name;
  const auto* group = std::get_if<GroupInput>(&waiting.input);
  const std::string_view what = !group ? "tree " : group->group->gang_min ? "gang " : "group ";
  return std::string(what) + name + " of " + std::to_string(waiting_pods(waiting));
}

}  // namespace

std::string gain_text(const DefragmentedDomain& domain, std::span<const WaitingEntity> waiting) {
  std::string text = count_text(domain.moves.size(), "move makes ", "moves make ");
  text += domain.whole ? domain.path + " whole: " : "room in " + domain.path + ": ";
  if (domain.fits.empty())
    return text + count_text(static_cast<std::size_t>(domain.devices), "device", "devices") + " free";
  for (const FittingEntity& one : domain.fits)
    text += (&one == domain.fits.data() ? "" : ", ") + fitting_text(waiting[one.waiting]);
  return text + (domain.fits.size() == 1 ? " fits" : " fit");
}

}  // namespace berth::placement
