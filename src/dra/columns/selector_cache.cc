#include "dra/columns/selector_cache.h"

#include <algorithm>
#include <optional>

namespace berth::dra {
namespace {

constexpr std::size_t kCacheBlockWords = 256;
constexpr std::uint64_t kAllRows = ~std::uint64_t{0};

// The bits of a slice's rows. `words` has two words beyond its rows.
Mask mask_at(const std::vector<std::uint64_t>& words, const SliceRows& rows) {
  if (rows.count() == 0) return Mask();
  const std::size_t word = rows.begin() / kRowsPerWord;
  const unsigned shift = rows.begin() % kRowsPerWord;
  std::uint64_t low = words[word] >> shift, high = words[word + 1] >> shift;
  if (shift > 0) {
    low |= words[word + 1] << (kRowsPerWord - shift);
    high |= words[word + 2] << (kRowsPerWord - shift);
  }
  const std::uint32_t count = rows.count();
  if (count <= kRowsPerWord) return Mask::of(low & (kAllRows >> (kRowsPerWord - count)), 0);
  return Mask::of(low, high & (kAllRows >> (2 * kRowsPerWord - count)));
}

}  // namespace

// The cached results of all rows.
struct SelectorCache::Answers {
  std::vector<Result<std::unique_ptr<VectorSelector>>> programs;
  std::vector<std::uint64_t> match, error;
  bool by_slice = false;
  std::vector<bool> answered;            // by word, when by slice
  std::optional<std::uint64_t> version;  // of the columns; none: no row is evaluated yet
  std::uint64_t used = 0;
};

struct SelectorCache::Set {
  std::uint64_t number = 0;
  std::size_t of_class = 0;  // how many of `texts` are the class's; these come first
  std::vector<std::string> texts;
  SelectorSetRef reference = std::make_shared<int>();
  std::unique_ptr<Answers> answers;
};

SelectorCache::SelectorCache(const DeviceColumns& columns, SelectorEvaluator& evaluator)
    : columns_(columns), evaluator_(evaluator) {}
SelectorCache::~SelectorCache() = default;

SelectorSetId SelectorCache::intern(const std::vector<std::string>& class_selectors,
                                    const std::vector<std::string>& request_selectors) {
  std::string key;
  for (const auto* list : {&class_selectors, &request_selectors}) {
    for (const std::string& text : *list) key += std::to_string(text.size()) + ':' + text;
    key += ';';
  }
  if (const auto found = ids_.find(key); found != ids_.end()) return found->second;
  if (ids_.size() >= sweep_at_) sweep();
  auto set = std::make_unique<Set>();
  set->of_class = class_selectors.size();
  set->texts = class_selectors;
  set->texts.insert(set->texts.end(), request_selectors.begin(), request_selectors.end());
  set->number = ++last_number_;
  if (free_.empty()) {
    free_.emplace_back(static_cast<std::uint32_t>(sets_.size()));
    sets_.emplace_back();
  }
  const SelectorSetId id = free_.back();
  free_.pop_back();
  sets_[id.index()] = std::move(set);
  ids_.emplace(std::move(key), id);
  return id;
}

SelectorSetRef SelectorCache::reference(SelectorSetId id) const {
  return sets_[id.index()]->reference;
}

std::uint64_t SelectorCache::number_of(SelectorSetId id) const {
  return sets_[id.index()]->number;
}

void SelectorCache::sweep() {
  for (auto at = ids_.begin(); at != ids_.end();) {
    std::unique_ptr<Set>& set = sets_[at->second.index()];
    if (set->reference.use_count() > 1) {
      ++at;
      continue;
    }
    std::erase(answered_, set.get());
    set.reset();
    free_.push_back(at->second);
    at = ids_.erase(at);
  }
  sweep_at_ = std::max(kSetsBeforeSweep, 2 * ids_.size());
}

void SelectorCache::forget_one() {
  Set* oldest = nullptr;
  for (Set* set : answered_)
    if (!oldest || set->answers->used < oldest->answers->used) oldest = set;
  oldest->answers.reset();
  std::erase(answered_, oldest);
}

SelectorCache::Answers& SelectorCache::answers_of(Set& set) {
  if (!set.answers) {
    if (answered_.size() >= kAnsweredSetsMax) forget_one();
    set.answers = std::make_unique<Answers>();
    answered_.push_back(&set);
    for (const std::string& text : set.texts)
      set.answers->programs.push_back(evaluator_.over(columns_, text));
  }
  set.answers->used = ++uses_;
  return *set.answers;
}

Selected SelectorCache::of(const SliceRows& rows, SelectorSetId id) {
  Answers& answers = answers_of(*sets_[id.index()]);
  if (answers.version != columns_.version()) catch_up(answers);
  if (answers.by_slice) answer_slice(answers, rows);
  return {mask_at(answers.match, rows), mask_at(answers.error, rows)};
}

void SelectorCache::catch_up(Answers& answers) {
  const std::size_t words = columns_.words();
  answers.match.resize(words + 2);
  answers.error.resize(words + 2);
  changes_.clear();
  std::size_t changed = 0;
  const bool known = answers.version && columns_.changes_since(*answers.version, changes_);
  for (const WordRange& range : changes_) changed += range.last - range.first;
  if (!known || changed > words) {
    changes_.assign(1, {0, words});
    changed = words;
  }
  if (!answers.by_slice && is_too_much(answers, changed)) {
    answers.by_slice = true;
    for (const auto& program : answers.programs)
      if (program) (*program)->go_by_device();
    changes_.assign(1, {0, words});
  }
  if (answers.by_slice) answers.answered.resize(words);
  for (const WordRange& range : changes_) {
    if (answers.by_slice)
      std::fill(answers.answered.begin() + static_cast<std::ptrdiff_t>(range.first),
                answers.answered.begin() + static_cast<std::ptrdiff_t>(range.last), false);
    else
      answer(answers, range);
  }
  answers.version = columns_.version();
}

bool SelectorCache::is_too_much(const Answers& answers, std::size_t words) {
  std::uint64_t work = 0;
  for (const auto& program : answers.programs)
    if (program && __builtin_add_overflow(work, (*program)->work(words), &work)) return true;
  return work > kEagerWorkMax;
}

void SelectorCache::answer_slice(Answers& answers, const SliceRows& rows) const {
  const std::size_t last = (rows.begin() + rows.count() + kRowsPerWord - 1) / kRowsPerWord;
  for (std::size_t word = rows.begin() / kRowsPerWord; word < last; ++word) {
    if (answers.answered[word]) continue;
    answer(answers, {word, word + 1});
    answers.answered[word] = true;
  }
}

// A selector is not evaluated for a device that an earlier one refused.
void SelectorCache::answer(Answers& answers, WordRange words) const {
  std::uint64_t yes[kCacheBlockWords], error[kCacheBlockWords];
  for (std::size_t at = words.first; at < words.last; at += kCacheBlockWords) {
    const std::size_t count = std::min(kCacheBlockWords, words.last - at);
    std::uint64_t *match = &answers.match[at], *failed = &answers.error[at];
    std::fill(match, match + count, kAllRows);
    std::fill(failed, failed + count, 0);
    for (const Result<std::unique_ptr<VectorSelector>>& program : answers.programs) {
      if (program) {
        (*program)->evaluate(at, count, yes, error);
      } else {
        std::fill(yes, yes + count, 0);
        std::fill(error, error + count, kAllRows);
      }
      std::uint64_t open = 0;
      for (std::size_t i = 0; i < count; ++i) {
        failed[i] |= match[i] & error[i];
        open |= match[i] &= yes[i];
      }
      if (open == 0) break;
    }
  }
}

SelectorFault SelectorCache::fault_of(SelectorSetId id, std::string_view driver, const api::Device& device) {
  const Set& set = *sets_[id.index()];
  const auto& programs = answers_of(*sets_[id.index()]).programs;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const Result<bool> answer =
        programs[i] ? (*programs[i])->evaluate(driver, device) : Result<bool>(programs[i].error());
    if (answer) continue;
    const bool of_class = i < set.of_class;
    const Error* hint = answer.error().cause();
    return {of_class, of_class ? i : i - set.of_class, answer.error().message(),
            hint ? hint->message() : std::string()};
  }
  return {false, 0, "internal: an error without a text", {}};
}

}  // namespace berth::dra
