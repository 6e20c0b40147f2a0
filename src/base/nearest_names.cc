#include "base/nearest_names.h"

#include <algorithm>
#include <utility>

#include "base/name_list.h"

namespace berth {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::vector<std::string> nearest_names(std::string_view name, std::vector<std::string> names) {
  std::vector<std::pair<std::size_t, std::string>> ranked;
  if (name.size() > kNearestBytesMax) return {};
  for (std::string& candidate : names) {
    const std::size_t longest = std::max(name.size(), candidate.size());
    const std::size_t shortest = std::min(name.size(), candidate.size());
    if ((longest - shortest) * 5 > longest * 2) continue;
    const std::size_t distance = edit_distance(name, candidate);
    if (distance * 5 <= longest * 2) ranked.emplace_back(distance, std::move(candidate));
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> nearest;
  for (auto& [distance, candidate] : ranked)
    if (nearest.size() < kNearestMax) nearest.push_back(std::move(candidate));
  return nearest;
}

std::string names_hint(std::string_view missing, const std::vector<std::string>& names, std::size_t all) {
  if (const std::vector<std::string> near = nearest_names(missing, names); !near.empty())
    return "nearest: " + first_names(near, near.size());
  return names.empty() ? "" : "existing: " + first_names(names, kNearestMax, all);
}

}  // namespace berth
