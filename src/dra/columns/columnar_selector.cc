#include "dra/columns/columnar_selector.h"

#include <algorithm>
#include <cstring>

#include "base/key_bytes.h"
#include "dra/columns/read_view.h"

namespace berth::dra {
namespace {

using cel::PredicateTerm;
using cel::TermKind;
using cel::TruthValue;

// The logic between terms works on blocks of this many words, which stay in the first-level cache.
constexpr std::size_t kBlockWords = 64;
// A logic node costs at most this, besides its operands.
constexpr std::uint64_t kLogicCost = 2;

}  // namespace

struct ColumnarSelector::Bits {
  std::uint64_t* yes;
  std::uint64_t* error;

  void clear(WordRange words) const {
    std::fill(yes, yes + (words.last - words.first), 0);
    std::fill(error, error + (words.last - words.first), 0);
  }
  void set(WordRange words, std::uint32_t row, TruthValue verdict) const {
    if (verdict == TruthValue::False) return;
    (verdict == TruthValue::True ? yes : error)[row / kRowsPerWord - words.first] |= std::uint64_t{1}
                                                                                     << (row % kRowsPerWord);
  }
};

// A term with its cached results.
struct ColumnarSelector::Step {
  const PredicateTerm* part = nullptr;  // null: the whole program
  std::vector<Step> steps;
  std::vector<const Column*> columns;  // of the term's attribute references; null without a column
  bool by_device = false;
  std::unique_ptr<ReadView> view;
  CodeAnswers answers;
  std::uint32_t values_seen = 0;
  Verdicts known;
  std::string key, last_key;
  TruthValue last = TruthValue::Error;
  std::uint64_t epochs = 0;
  std::uint64_t cost = 0;  // the highest so far

  bool is_leaf() const { return !part || part->kind == TermKind::Leaf; }
  std::uint64_t total_cost() const {
    std::uint64_t total = cost;
    for (const Step& step : steps) total += step.total_cost();
    return total;
  }
};

ColumnarSelector::ColumnarSelector(const DeviceColumns& columns, cel::Program program)
    : columns_(columns),
      program_(std::move(program)),
      part_(cel::split(program_)),
      root_(std::make_unique<Step>()),
      whole_(std::make_unique<Step>()) {
  plan(part_, *root_);
  whole_->by_device = true;
}
ColumnarSelector::~ColumnarSelector() = default;

void ColumnarSelector::plan(const PredicateTerm& part, Step& step) {
  step.part = &part;
  node_cost_ += kLogicCost;
  if (part.kind == TermKind::Leaf && !part.equals) only_equalities_ = false;
  step.steps.resize(part.parts.size());
  for (std::size_t i = 0; i < part.parts.size(); ++i) plan(part.parts[i], step.steps[i]);
  if (step.is_leaf() && !part.reads_all && !part.equals) step.view = std::make_unique<ReadView>(part.reads);
}

void ColumnarSelector::attach(Step& step) {
  for (Step& inner : step.steps) attach(inner);
  if (!step.part || !step.steps.empty()) return;
  step.columns.clear();
  if (step.part->kind == TermKind::Domain) {
    const cel::AttributeRef& wanted = step.part->reads[0];
    for (const auto& column : columns_.columns())
      if (column->name().field == wanted.field && column->name().domain == wanted.domain)
        step.columns.push_back(column.get());
    step.by_device = columns_.left_some_out();
    return;
  }
  step.by_device = step.part->reads_all;
  for (const cel::AttributeRef& reading : step.part->reads) {
    step.columns.push_back(columns_.find(reading));
    if (!step.columns.back() && columns_.left_some_out()) step.by_device = true;
  }
}

std::uint64_t ColumnarSelector::epochs(const Step& step) const {
  std::uint64_t sum = 0;
  if (step.by_device)
    for (const auto& column : columns_.columns()) sum += column->epoch();
  for (const Column* column : step.columns) sum += !step.by_device && column ? column->epoch() : 0;
  return sum;
}

// Grows tables to the size of their dictionaries.
void ColumnarSelector::refresh(Step& step) {
  for (Step& inner : step.steps) refresh(inner);
  if (!step.is_leaf() && !step.by_device) return;
  if (const std::uint64_t now = epochs(step); now != step.epochs) {
    step.epochs = now;
    step.answers = CodeAnswers();
    step.values_seen = 0;
    step.known.clear();
    step.last_key.clear();
  }
  if (!step.by_device && step.columns.size() <= 1) refresh_table(step);
}

namespace {

// `reading == constant`, where a value of a library, a version, on the left compares with no plain constant.
bool may_lack_an_overload(const PredicateTerm& part, const Column* column) {
  return column && part.reads_first && !part.is_negated && column->values().has_library_values();
}

CodeAnswers strict_equality(const Column& column, std::uint32_t hit) {
  CodeAnswers answers;
  for (std::uint32_t code = kNoValue; code < column.values().size(); ++code) {
    const bool fails = code == kNoValue || cel::is_of_library(column.values().at(code));
    answers.add(fails ? TruthValue::Error : code == hit ? TruthValue::True : TruthValue::False);
  }
  answers.finalize();
  return answers;
}

}  // namespace

void ColumnarSelector::refresh_table(Step& step) {
  const Column* column = step.columns.empty() ? nullptr : step.columns[0];
  const std::uint32_t size = column ? column->values().size() : 1;
  if (step.values_seen == size) return;
  step.values_seen = size;
  if (step.part->equals) {
    const std::uint32_t hit = column ? column->values().find(key_of(*step.part->equals)) : kNoValue;
    step.answers = may_lack_an_overload(*step.part, column)
                       ? strict_equality(*column, hit)
                       : CodeAnswers::equality(hit, step.part->is_negated);
    step.cost = step.part->cost_of_equals();
    return;
  }
  while (step.answers.size() < size) {
    const std::uint32_t code = step.answers.size();
    if (column) step.view->set(0, code == kNoValue ? std::nullopt : std::optional(column->values().at(code)));
    step.answers.add(evaluated(step, *step.view));
  }
  step.answers.finalize();
}

TruthValue ColumnarSelector::evaluated(Step& step, const cel::ObjectSource& device) {
  if (!step.part) {
    const cel::Value variables[] = {cel::Value::borrow_object(device)};
    const cel::EvalResult result = program_.evaluate(variables);
    if (!result.ok()) return TruthValue::Error;
    return result.value().is_true() ? TruthValue::True : TruthValue::False;
  }
  const PredicateTerm::TermResult answer = step.part->evaluate(device, cel::kSelectorCostMax);
  step.cost = std::max(step.cost, answer.cost);
  return answer.verdict;
}

bool ColumnarSelector::is_over_limit() const {
  return root_->total_cost() + node_cost_ > cel::kSelectorCostMax;
}

void ColumnarSelector::evaluate(std::size_t first, std::size_t words, std::uint64_t* yes,
                                std::uint64_t* error) {
  if (columns_seen_ != columns_.columns().size() + (columns_.left_some_out() ? 1 : 0)) {
    columns_seen_ = columns_.columns().size() + (columns_.left_some_out() ? 1 : 0);
    attach(*root_);
  }
  for (int attempt = 0; attempt < 2; ++attempt) {
    Step& step = device_by_device_ ? *whole_ : *root_;
    refresh(step);
    for (std::size_t at = 0; at < words; at += kBlockWords) {
      const std::size_t count = std::min(kBlockWords, words - at);
      run(step, {first + at, first + at + count}, {yes + at, error + at});
    }
    if (device_by_device_ || !is_over_limit()) return;
    device_by_device_ = true;
  }
}

// The most evaluations of terms that the results of these words need now.
std::uint64_t ColumnarSelector::evaluations(const Step& step, std::size_t words) const {
  std::uint64_t count = 0;
  for (const Step& inner : step.steps) count += evaluations(inner, words);
  if (!step.is_leaf() || step.part->equals) return count;
  if (step.part->reads_all || step.part->reads.size() > 1) return count + words * kRowsPerWord;
  const bool attached = columns_seen_ != 0;
  const Column* column = step.part->reads.empty() ? nullptr
                         : attached               ? step.columns[0]
                                                  : columns_.find(step.part->reads[0]);
  const std::uint64_t values = column ? column->values().size() : 1;
  return count + values - std::min<std::uint64_t>(values, step.values_seen);
}

std::uint64_t ColumnarSelector::work(std::size_t words) const {
  if (only_equalities_ && !device_by_device_) return 0;
  const std::uint64_t count = device_by_device_ ? words * kRowsPerWord : evaluations(*root_, words);
  std::uint64_t work = 0;
  return __builtin_mul_overflow(count, program_.estimated_cost(), &work) ? UINT64_MAX : work;
}

void ColumnarSelector::run(Step& step, WordRange words, Bits bits) {
  if (step.by_device) return run_devices(step, words, bits);
  switch (step.part->kind) {
    case TermKind::Domain:
      return run_domain(step, words, bits);
    case TermKind::And:
    case TermKind::Or:
      return run_logic(step, words, bits);
    case TermKind::Choice:
      return run_choice(step, words, bits);
    case TermKind::Not:
      run(step.steps[0], words, bits);
      for (std::size_t i = 0; i < words.last - words.first; ++i) bits.yes[i] = ~(bits.yes[i] | bits.error[i]);
      return;
    case TermKind::Leaf:
      break;
  }
  if (step.columns.size() > 1) return run_tuples(step, words, bits);
  step.answers.match(step.columns.empty() ? nullptr : step.columns[0], words.first, words.last - words.first,
                     bits.yes, bits.error);
}

// An error counts unless another term decides. Stops where no row can change any more.
void ColumnarSelector::run_logic(Step& step, WordRange words, Bits bits) {
  const std::size_t count = words.last - words.first;
  const bool is_and = step.part->kind == TermKind::And;
  run(step.steps[0], words, bits);
  std::uint64_t yes[kBlockWords], error[kBlockWords];
  for (std::size_t part = 1; part < step.steps.size(); ++part) {
    std::uint64_t open = 0;
    for (std::size_t i = 0; i < count; ++i) open |= is_and ? bits.yes[i] | bits.error[i] : ~bits.yes[i];
    if (open == 0) return;
    run(step.steps[part], words, {yes, error});
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t errors = bits.error[i] | error[i];
      if (is_and) {
        bits.error[i] = errors & (bits.yes[i] | bits.error[i]) & (yes[i] | error[i]);
        bits.yes[i] &= yes[i];
      } else {
        bits.yes[i] |= yes[i];
        bits.error[i] = errors & ~bits.yes[i];
      }
    }
  }
}

void ColumnarSelector::run_choice(Step& step, WordRange words, Bits bits) {
  std::uint64_t yes[2][kBlockWords], error[2][kBlockWords];
  run(step.steps[0], words, bits);
  for (int side = 0; side < 2; ++side) run(step.steps[1 + side], words, {yes[side], error[side]});
  for (std::size_t i = 0; i < words.last - words.first; ++i) {
    const std::uint64_t chosen = bits.yes[i], other = ~(bits.yes[i] | bits.error[i]);
    bits.yes[i] = (chosen & yes[0][i]) | (other & yes[1][i]);
    bits.error[i] |= (chosen & error[0][i]) | (other & error[1][i]);
  }
}

void ColumnarSelector::run_domain(const Step& step, WordRange words, Bits bits) {
  const std::size_t count = words.last - words.first;
  const CodeAnswers has_value = CodeAnswers::equality(kNoValue, true);
  std::uint64_t yes[kBlockWords], ignored[kBlockWords];
  bits.clear(words);
  for (const Column* column : step.columns) {
    has_value.match(column, words.first, count, yes, ignored);
    for (std::size_t i = 0; i < count; ++i) bits.yes[i] |= yes[i];
  }
}

// The result for step.key: cached, or computed now.
template <class WorkOut>
TruthValue ColumnarSelector::known(Step& step, WorkOut work_out) {
  if (step.key == step.last_key) return step.last;
  const auto [at, added] = step.known.try_emplace(step.key, TruthValue::Error);
  if (added) at->second = work_out();
  step.last = at->second;
  step.last_key = step.key;
  if (step.known.size() >= kClassesMax) step.known.clear();
  return step.last;
}

void ColumnarSelector::run_tuples(Step& step, WordRange words, Bits bits) {
  bits.clear(words);
  const auto code_of = [&](std::size_t i, std::uint32_t row) {
    return step.columns[i] ? step.columns[i]->code(row) : kNoValue;
  };
  const auto last_row = static_cast<std::uint32_t>(words.last * kRowsPerWord);
  for (auto row = static_cast<std::uint32_t>(words.first * kRowsPerWord); row < last_row; ++row) {
    step.key.clear();
    for (std::size_t i = 0; i < step.columns.size(); ++i)
      append_plain<std::uint32_t>(step.key, code_of(i, row));
    bits.set(words, row, known(step, [&] {
               for (std::size_t i = 0; i < step.columns.size(); ++i) {
                 const std::uint32_t code = code_of(i, row);
                 step.view->set(
                     i, code == kNoValue ? std::nullopt : std::optional(step.columns[i]->values().at(code)));
               }
               return evaluated(step, *step.view);
             }));
  }
}

// Devices with equal values in every column have equal results; adding columns keeps the key's length.
void ColumnarSelector::run_devices(Step& step, WordRange words, Bits bits) {
  bits.clear(words);
  columns_.for_each_device(
      words, [&](std::uint32_t row, const api::ResourceSlice& slice, const api::Device& device) {
        const auto work_out = [&] { return evaluated(step, record_of(slice.driver, device)); };
        if (columns_.left_some_out()) return bits.set(words, row, work_out());
        std::size_t length = 0;
        step.key.clear();
        for (const auto& column : columns_.columns()) {
          append_plain<std::uint32_t>(step.key, column->code(row));
          if (column->code(row) != kNoValue) length = step.key.size();
        }
        step.key.resize(length);
        bits.set(words, row, known(step, work_out));
      });
}

Result<bool> ColumnarSelector::evaluate(std::string_view driver, const api::Device& device) {
  const cel::DeviceRecord record = record_of(driver, device);
  const cel::Value variables[] = {cel::Value::borrow_object(record)};
  const cel::EvalResult result = program_.evaluate(variables);
  if (result.ok()) return result.value().is_true();
  return runtime_error(result.failure());
}

}  // namespace berth::dra
