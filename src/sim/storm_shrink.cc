#include "sim/storm_shrink.h"

#include <algorithm>

#include "sim/storm.h"

namespace berth::sim {
namespace {

// The sentence without names, numbers and text in brackets.
std::string invariant_of(const std::string& sentence) {
  std::string kept, word;
  for (const char c : sentence.substr(sentence.find(' '), sentence.find('(') - sentence.find(' ')) + ' ') {
    if (c != ' ') {
      word += c;
      continue;
    }
    if (word.find_first_of("0123456789-/") == std::string::npos) kept += word + ' ';
    word.clear();
  }
  return sentence.substr(0, sentence.find(' ')) + kept;
}

class Shrinker {
 public:
  Shrinker(StormPlan plan, std::vector<std::string> ignored)
      : options_{nullptr, std::move(ignored)}, best_{std::move(plan), "", 0} {}

  Result<ShrunkStorm> run() {
    const StormResult first = TRY(run_storm(best_.plan, options_));
    if (first.broken.empty()) return std::move(best_);
    best_.broken = first.broken.front();
    for (std::size_t piece = (best_.plan.steps.size() + 1) / 2; piece > 0; piece /= 2)
      TRY(drop_pieces(piece));
    TRY(drop_pieces(1));
    return std::move(best_);
  }

 private:
  Status drop_pieces(std::size_t piece) {
    for (std::size_t end = best_.plan.steps.size(); end > 0;) {
      if (best_.runs >= kShrinkRunsMax) return {};
      const std::size_t begin = end - std::min(piece, end);
      StormPlan tried = best_.plan;
      tried.steps.erase(tried.steps.begin() + static_cast<std::ptrdiff_t>(begin),
                        tried.steps.begin() + static_cast<std::ptrdiff_t>(end));
      TRY(keep_if_broken(std::move(tried)));
      end = begin;
    }
    return {};
  }

  Status keep_if_broken(StormPlan tried) {
    ++best_.runs;
    const StormResult result = TRY(run_storm(tried, options_));
    if (result.broken.empty() || invariant_of(result.broken.front()) != invariant_of(best_.broken)) return {};
    best_.plan = std::move(tried);
    best_.broken = result.broken.front();
    return {};
  }

  const StormOptions options_;
  ShrunkStorm best_;
};

}  // namespace

Result<ShrunkStorm> shrink_storm(StormPlan plan, std::vector<std::string> ignored) {
  return Shrinker(std::move(plan), std::move(ignored)).run();
}

}  // namespace berth::sim
