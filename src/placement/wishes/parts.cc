#include "placement/wishes/parts.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace berth::placement {
namespace {

constexpr std::int64_t kNoSet = INT64_MAX / 4;

// A domain that may be used: its part is between `least` and `most`.
struct PartRange {
  std::size_t at = 0;  // of PartsQuestion::domains
  std::int64_t least = 0, most = 0;
};

// Chooses so many of the domains that their parts reach `need`, with the least room.
class DomainSet {
 public:
  DomainSet(std::span<const PartDomain> domains, std::vector<PartRange> ranges, std::size_t size,
            std::int64_t need, std::vector<std::map<std::uint32_t, int>> parents)
      : domains_(domains),
        ranges_(std::move(ranges)),
        size_(size),
        need_(need),
        parents_(std::move(parents)) {}

  // The ranges of the chosen domains, by path.
  std::vector<PartRange> choose() {
    if (size_ == 0) return {};
    for (const PartRange& one : ranges_) most_ = std::max(most_, one.most);
    slack_ = static_cast<std::int64_t>(size_) * most_ - need_;
    const bool counts_all = size_ > 1 && fits_table();
    std::vector<std::size_t> chosen = size_ == 1 ? tightest() : counts_all ? by_table() : by_exchange();
    std::ranges::sort(chosen);
    std::vector<PartRange> set;
    for (const std::size_t i : chosen) set.push_back(ranges_[i]);
    return set;
  }

 private:
  std::int64_t room(std::size_t i) const { return domains_[ranges_[i].at].room; }
  std::int64_t lack(std::size_t i) const { return most_ - ranges_[i].most; }

  bool fits_table() const {
    const __int128 cells = static_cast<__int128>(ranges_.size() + 1) * static_cast<__int128>(size_ + 1) *
                           (static_cast<__int128>(slack_) + 1);
    return cells <= static_cast<__int128>(kPartsTableMax);
  }

  // Of one domain.
  std::vector<std::size_t> tightest() {
    std::optional<std::size_t> best;
    std::vector<std::int64_t> best_parents;
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      if (ranges_[i].most < need_ || (best && room(i) > room(*best))) continue;
      change_parents(i, 1);
      std::vector<std::int64_t> own = parent_counts();
      change_parents(i, -1);
      if (best && room(i) == room(*best) && own >= best_parents) continue;
      best = i;
      best_parents = std::move(own);
    }
    return {*best};
  }

  // cell(i, n, s): the least room of n domains from the i-th on that lack at most s of n times the largest.
  std::int64_t& cell(std::size_t i, std::size_t n, std::int64_t s) {
    return table_[(i * (size_ + 1) + n) * static_cast<std::size_t>(slack_ + 1) + static_cast<std::size_t>(s)];
  }
  std::int64_t with(std::size_t i, std::size_t n, std::int64_t s) {
    return n == 0 || lack(i) > s ? kNoSet : std::min(kNoSet, room(i) + cell(i + 1, n - 1, s - lack(i)));
  }
  std::vector<std::size_t> by_table() {
    table_.assign((ranges_.size() + 1) * (size_ + 1) * static_cast<std::size_t>(slack_ + 1), kNoSet);
    for (std::size_t i = ranges_.size() + 1; i-- > 0;)
      for (std::size_t n = 0; n <= size_; ++n)
        for (std::int64_t s = 0; s <= slack_; ++s) {
          if (i == ranges_.size())
            cell(i, n, s) = n == 0 ? 0 : kNoSet;
          else
            cell(i, n, s) = std::min(cell(i + 1, n, s), with(i, n, s));
        }
    std::vector<std::size_t> taken;
    walk(0, size_, slack_, taken);
    return best_;
  }
  // All sets with the least room; the first found is kept until another has fewer parents.
  void walk(std::size_t i, std::size_t n, std::int64_t s, std::vector<std::size_t>& taken) {
    if (!best_.empty() && (parents_.empty() || ++ties_ > kPartsTiesMax || parent_counts() >= best_parents_))
      return;
    if (n == 0) {
      best_ = taken;
      best_parents_ = parent_counts();
      return;
    }
    const std::int64_t least = cell(i, n, s);
    if (with(i, n, s) == least) {
      taken.push_back(i);
      change_parents(i, 1);
      walk(i + 1, n - 1, s - lack(i), taken);
      change_parents(i, -1);
      taken.pop_back();
    }
    if (cell(i + 1, n, s) == least) walk(i + 1, n, s, taken);
  }

  // The largest domains, each replaced by the one with the least room that is still enough.
  std::vector<std::size_t> by_exchange() {
    std::vector<std::size_t> order(ranges_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return ranges_[i].most; });
    std::int64_t spare = -need_;
    for (std::size_t n = 0; n < size_; ++n) spare += ranges_[order[n]].most;
    std::vector<std::size_t> rest(order.begin() + static_cast<std::ptrdiff_t>(size_), order.end());
    std::ranges::stable_sort(rest, {}, [&](std::size_t i) { return room(i); });
    order.resize(size_);
    for (std::size_t n = size_; n-- > 0;) {
      const auto better = std::ranges::find_if(rest, [&](std::size_t i) {
        return room(i) < room(order[n]) && ranges_[order[n]].most - ranges_[i].most <= spare;
      });
      if (better == rest.end()) continue;
      spare -= ranges_[order[n]].most - ranges_[*better].most;
      order[n] = *better;
      rest.erase(better);
    }
    return order;
  }

  void change_parents(std::size_t i, int by) {
    const std::vector<std::uint32_t>& own = domains_[ranges_[i].at].parents;
    for (std::size_t level = 0; level < parents_.size(); ++level)
      if ((parents_[level][own[level]] += by) == 0) parents_[level].erase(own[level]);
  }
  std::vector<std::int64_t> parent_counts() const {
    std::vector<std::int64_t> counts;
    for (const auto& level : parents_) counts.push_back(static_cast<std::int64_t>(level.size()));
    return counts;
  }

  const std::span<const PartDomain> domains_;
  const std::vector<PartRange> ranges_;  // by path
  const std::size_t size_;
  const std::int64_t need_;
  std::vector<std::map<std::uint32_t, int>> parents_;  // by level: domains that are used, how often
  std::int64_t most_ = 0, slack_ = 0;
  std::vector<std::int64_t> table_;
  std::vector<std::size_t> best_;
  std::vector<std::int64_t> best_parents_;
  std::size_t ties_ = 0;
};

class PartsChoice {
 public:
  explicit PartsChoice(const PartsQuestion& question) : question_(question), left_(question.count) {}

  std::optional<Parts> run() {
    if (!sort_out()) return std::nullopt;
    const std::optional<std::size_t> more = fewest();
    if (!more) return std::nullopt;
    if (question_.distribution == WishDistribution::Balanced) limit_to_most_even(*more);
    take(*more);
    return share_out();
  }

 private:
  const PartDomain& domain(const PartRange& one) const { return question_.domains[one.at]; }

  // False: members that have a place break the sizes, and no more members can mend that.
  bool sort_out() {
    for (std::size_t i = 0; i < question_.domains.size(); ++i) {
      const PartDomain& one = question_.domains[i];
      const std::int64_t most = std::clamp(question_.max - one.placed, std::int64_t{0}, one.room);
      if (one.placed > 0) {
        used_.push_back({i, std::max<std::int64_t>(0, question_.min - one.placed), most});
        if (used_.back().least > most) return false;
        left_ -= most;
        least_ += used_.back().least;
      } else if (const std::int64_t least = std::max<std::int64_t>(1, question_.min); least <= most) {
        free_.push_back({i, least, most});
      }
    }
    return true;
  }

  // Domains without a member that are used, the largest first: fewer would not do.
  std::optional<std::size_t> fewest() {
    largest_ = free_;
    std::ranges::stable_sort(largest_, std::greater<>(), &PartRange::most);
    std::size_t more = 0;
    for (; left_ > 0; ++more) {
      if (more == largest_.size()) return std::nullopt;
      left_ -= largest_[more].most;
      least_ += largest_[more].least;
    }
    return least_ <= question_.count ? std::optional(more) : std::nullopt;
  }

  // The largest domains have the most even parts, so no set has a larger smallest part or a smaller largest
  // one.
  void limit_to_most_even(std::size_t more) {
    std::vector<PartRange> set = used_;
    set.insert(set.end(), largest_.begin(), largest_.begin() + static_cast<std::ptrdiff_t>(more));
    if (set.empty()) return;
    const std::vector<std::int64_t> sizes = level(set);
    const auto [smallest, largest] = std::ranges::minmax(sizes);
    for (auto* ranges : {&used_, &free_})
      for (PartRange& one : *ranges) {
        one.least = std::max(one.least, smallest - domain(one).placed);
        one.most = std::min(one.most, largest - domain(one).placed);
      }
    std::erase_if(free_, [](const PartRange& one) { return one.least > one.most; });
  }

  // The most even parts: members of each domain, those that have a place included.
  std::vector<std::int64_t> level(const std::vector<PartRange>& set) const {
    const auto clamped = [&](const PartRange& one, std::int64_t at) {
      return std::clamp(at, domain(one).placed + one.least, domain(one).placed + one.most);
    };
    std::int64_t total = question_.count, low = 0, high = question_.count + 1;
    for (const PartRange& one : set) {
      total += domain(one).placed;
      high = std::max(high, domain(one).placed + one.most + 1);
    }
    const auto sum = [&](std::int64_t at) {
      std::int64_t all = 0;
      for (const PartRange& one : set) all += clamped(one, at);
      return all;
    };
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (sum(middle) <= total ? low : high) = middle;
    }
    std::int64_t rest = total - sum(low);
    std::vector<std::int64_t> sizes;
    for (const PartRange& one : set) {
      const bool rises = rest > 0 && clamped(one, low + 1) > clamped(one, low);
      sizes.push_back(clamped(one, rises ? low + 1 : low));
      rest -= rises ? 1 : 0;
    }
    return sizes;
  }

  void take(std::size_t more) {
    std::int64_t need = question_.count;
    std::vector<std::map<std::uint32_t, int>> parents(
        question_.domains.empty() ? 0 : question_.domains.front().parents.size());
    for (const PartRange& one : used_) {
      need -= one.most;
      for (std::size_t level = 0; level < parents.size(); ++level)
        ++parents[level][domain(one).parents[level]];
    }
    for (const PartRange& one : DomainSet(question_.domains, free_, more, need, std::move(parents)).choose())
      used_.push_back(one);
    std::ranges::sort(used_, {}, &PartRange::at);
  }

  Parts share_out() const {
    Parts parts;
    parts.counts.assign(question_.domains.size(), 0);
    if (used_.empty()) return parts;
    std::vector<std::int64_t> sizes;
    if (question_.distribution == WishDistribution::Balanced)
      sizes = level(used_);
    else
      sizes = one_after_the_other();
    const auto [smallest, largest] = std::ranges::minmax(sizes);
    PartsWorth& worth = parts.worth;
    worth.domains = static_cast<std::int64_t>(used_.size());
    if (question_.distribution == WishDistribution::Balanced) worth.difference = largest - smallest;
    worth.waste = -question_.count;
    for (std::size_t i = 0; i < used_.size(); ++i) {
      parts.counts[used_[i].at] = sizes[i] - domain(used_[i]).placed;
      worth.waste += domain(used_[i]).room;
    }
    for (std::size_t level = 0; level < domain(used_.front()).parents.size(); ++level) {
      std::map<std::uint32_t, int> different;
      for (const PartRange& one : used_) ++different[domain(one).parents[level]];
      worth.parents.push_back(static_cast<std::int64_t>(different.size()));
    }
    return parts;
  }

  // Each domain is filled before the next one.
  std::vector<std::int64_t> one_after_the_other() const {
    std::int64_t rest = question_.count;
    for (const PartRange& one : used_) rest -= one.least;
    std::vector<std::int64_t> sizes;
    for (const PartRange& one : used_) {
      const std::int64_t more = std::min(rest, one.most - one.least);
      sizes.push_back(domain(one).placed + one.least + more);
      rest -= more;
    }
    return sizes;
  }

  const PartsQuestion& question_;
  std::int64_t left_;       // members beyond what the used domains take
  std::int64_t least_ = 0;  // members that the used domains need
  std::vector<PartRange> used_, free_, largest_;
};

}  // namespace

std::optional<Parts> choose_parts(const PartsQuestion& question) {
  return PartsChoice(question).run();
}

bool can_be_cut(std::int64_t count, std::int64_t min, std::int64_t max) {
  if (count == 0) return true;
  if (max < 1 || min > max) return false;
  const std::int64_t parts = count / max + (count % max == 0 ? 0 : 1);
  return parts * std::max<std::int64_t>(1, min) <= count;
}

}  // namespace berth::placement
