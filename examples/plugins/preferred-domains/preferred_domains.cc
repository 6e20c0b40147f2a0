#include "preferred_domains.h"

#include <algorithm>
#include <vector>

namespace example {
namespace {

using berth::placement::kPlacementScoreMax;
using berth::placement::PlacementScorer;
using berth::placement::ScoringQuestion;

// Without empty items; those after the first kDomainsMax are not read.
std::vector<std::string_view> items_of(std::string_view list) {
  std::vector<std::string_view> items;
  while (!list.empty() && items.size() < kDomainsMax) {
    const std::size_t end = std::min(list.find(','), list.size());
    if (end > 0) items.push_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return items;
}

class PreferredDomains final : public PlacementScorer {
 public:
  std::string_view name() const override { return "PreferredDomains"; }
  bool known_before_placing() const override { return true; }
  void score(const ScoringQuestion& question, std::span<std::int64_t> scores) const override {
    const std::vector<std::string_view> preferred =
        items_of(question.group.meta.annotation(kPreferredDomains));
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const auto found = std::find(preferred.begin(), preferred.end(), question.results[i].placement->name);
      const std::int64_t place = found - preferred.begin();
      if (found != preferred.end()) scores[i] = kPlacementScoreMax - place * kPlacementScoreMax / kDomainsMax;
    }
  }
};

}  // namespace

std::unique_ptr<PlacementScorer> make_preferred_domains() {
  return std::make_unique<PreferredDomains>();
}

}  // namespace example
