#include "placement/wishes/reached.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/name_list.h"
#include "placement/wishes/ranks.h"

namespace berth::placement {
namespace {

constexpr std::size_t kDomainsInTextMax = 4;
constexpr std::size_t kValuesInTextMax = 8;

// The ring of ranks: neighbours in different domains, the last and the first among them.
std::int64_t ring_crossings(std::span<const WishMember> members, const std::vector<std::string>& domains) {
  std::vector<const api::Pod*> pods;
  for (const WishMember& member : members) pods.push_back(member.pod);
  const std::vector<std::size_t> ring = by_rank(pods);
  std::int64_t crossings = 0;
  for (std::size_t i = 0; i < ring.size(); ++i)
    crossings += domains[ring[i]] != domains[ring[(i + 1) % ring.size()]];
  return crossings;
}

// Falls evenly over the wishes: 1 when the first came true, 0 when none did.
double score_of(const GroupWish& wish, std::span<const WishMember> members) {
  const std::size_t wishes = wish.preferred.size();
  if (wishes == 0) return 1;
  for (std::size_t i = 0; i < wishes; ++i)
    if (share_domain(wish, wish.preferred[i], members))
      return static_cast<double>(wishes - i) / static_cast<double>(wishes);
  return 0;
}

}  // namespace

std::string domain_path(const std::vector<WishLevel>& levels, std::size_t level,
                        const api::StringMap& node_labels) {
  std::string path;
  for (std::size_t i = 0; i <= level; ++i) {
    const auto label = node_labels.find(levels[i].key);
    path.append(i == 0 ? "" : "/").append(label == node_labels.end() ? kNoDomain : label->second);
  }
  return path;
}

std::optional<std::size_t> reported_level(const GroupWish& wish) {
  if (wish.segments) return wish.segments->level;
  if (!wish.preferred.empty()) return wish.preferred.front();
  return wish.required;
}

bool share_domain(const GroupWish& wish, std::size_t level, std::span<const WishMember> members) {
  const std::string first = domain_path(wish.levels, level, *members.front().node_labels);
  return std::all_of(members.begin(), members.end(), [&](const WishMember& member) {
    const auto label = member.node_labels->find(wish.levels[level].key);
    return label != member.node_labels->end() &&
           domain_path(wish.levels, level, *member.node_labels) == first;
  });
}

std::optional<std::size_t> reached_level(const GroupWish& wish, std::span<const WishMember> members) {
  std::set<std::size_t> wished(wish.preferred.begin(), wish.preferred.end());
  if (wish.required) wished.insert(*wish.required);
  std::optional<std::size_t> narrowest;
  for (const std::size_t level : wished)  // broad to narrow
    if (share_domain(wish, level, members)) narrowest = level;
  return narrowest;
}

WishResult reached_by(const GroupWish& wish, std::span<const WishMember> members) {
  WishResult result;
  if (!wish.preferred.empty()) result.level = wish.levels[wish.preferred.front()].name;
  result.score = members.empty() ? 0 : score_of(wish, members);
  const std::optional<std::size_t> level = reported_level(wish);
  if (members.empty() || !level) return result;
  if (const auto reached = reached_level(wish, members)) result.reached = wish.levels[*reached].name;
  std::vector<std::string> domains;
  std::map<std::string, std::int64_t> counts;
  for (const WishMember& member : members) {
    domains.push_back(domain_path(wish.levels, *level, *member.node_labels));
    ++counts[domains.back()];
  }
  for (const auto& [path, pods] : counts) {
    result.domains.push_back(path);
    result.segments.push_back(pods);
  }
  if (wish.contiguous_ranks) result.rank_crossings = ring_crossings(members, domains);
  return result;
}

std::string wish_text(const GroupWish& wish) {
  std::string text;
  const auto add = [&](const std::string& part, const char* between) {
    text.append(text.empty() ? "" : between).append(part);
  };
  for (const std::size_t level : wish.preferred) add(wish.levels[level].name, ", else ");
  if (wish.required)
    add((wish.preferred.empty() ? "one " : "in one ") + wish.levels[*wish.required].name, ", ");
  else if (!wish.preferred.empty())
    add("anywhere", ", else ");
  if (wish.segments) {
    const WishSegments& segments = *wish.segments;
    const std::string least = std::to_string(segments.min);
    const std::string most = std::to_string(segments.max);
    const std::string pods = segments.min == segments.max ? most
                             : segments.max == INT64_MAX  ? least + " or more"
                                                          : least + " to " + most;
    add(pods + " pods a " + wish.levels[segments.level].name, "; ");
  }
  if (wish.distribution == WishDistribution::Balanced) add("balanced", "; ");
  if (wish.contiguous_ranks) add("contiguous ranks", "; ");
  if (wish.same_devices) add("one " + wish.same_devices->attribute, "; ");
  return text;
}

std::string reached_text(const WishResult& result) {
  std::string text;
  for (std::size_t i = 0; i < std::min(result.domains.size(), kDomainsInTextMax); ++i)
    text.append(i == 0 ? "" : ", ")
        .append(std::to_string(result.segments[i]))
        .append(i > 0                     ? ""
                : result.segments[i] == 1 ? " pod"
                                          : " pods")
        .append(" in ")
        .append(result.domains[i]);
  if (result.domains.size() > kDomainsInTextMax)
    text += " and " + std::to_string(result.domains.size() - kDomainsInTextMax) + " more domains";
  if (result.rank_crossings > 0) text += "; " + std::to_string(result.rank_crossings) + " rank crossings";
  if (result.same_values.empty()) return text;
  if (!text.empty()) text += "; ";
  text += "the devices of each pod have " + first_names(result.same_values, kValuesInTextMax);
  if (result.same_values.size() > kValuesInTextMax) text += " values";
  return text;
}

}  // namespace berth::placement
