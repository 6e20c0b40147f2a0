// A CEL selector over the columns of all devices: each term is evaluated once for each distinct value that it
// reads, and the results of rows follow from their codes.
//
// Owner: one selector set of an Inventory, on one thread. Cost: an evaluation of a term per new value, then
// about 0.05 ns a device and comparison. A term that reads several attributes costs one look-up a device. A
// term that may read everything costs one evaluation per distinct device. Results are the tree walker's,
// device by device, errors and the cost limit included. Source: KEP-4381; docs/performance.md.
#pragma once

#include <unordered_map>
#include <vector>

#include "cel/predicate_terms.h"
#include "cel/program.h"
#include "dra/columns/code_answers.h"
#include "dra/columns/device_columns.h"
#include "dra/selectors.h"

namespace berth::dra {

// Distinct devices or combinations of values whose results one term caches; beyond it the cache is cleared.
inline constexpr std::size_t kClassesMax = 65536;

class ColumnarSelector final : public VectorSelector {
 public:
  ColumnarSelector(const DeviceColumns& columns, cel::Program program);
  ~ColumnarSelector() override;
  void evaluate(std::size_t first, std::size_t words, std::uint64_t* yes, std::uint64_t* error) override;
  std::uint64_t work(std::size_t words) const override;
  void go_by_device() override { device_by_device_ = true; }
  Result<bool> evaluate(std::string_view driver, const api::Device& device) override;

 private:
  struct Bits;
  struct Step;
  using Verdicts = std::unordered_map<std::string, cel::TruthValue>;

  void plan(const cel::PredicateTerm& part, Step& step);
  std::uint64_t evaluations(const Step& step, std::size_t words) const;
  void attach(Step& step);
  void refresh(Step& step);
  void refresh_table(Step& step);
  void run(Step& step, WordRange words, Bits bits);
  void run_logic(Step& step, WordRange words, Bits bits);
  void run_choice(Step& step, WordRange words, Bits bits);
  void run_domain(const Step& step, WordRange words, Bits bits);
  void run_tuples(Step& step, WordRange words, Bits bits);
  void run_devices(Step& step, WordRange words, Bits bits);
  template <class WorkOut>
  cel::TruthValue known(Step& step, WorkOut work_out);
  cel::TruthValue evaluated(Step& step, const cel::ObjectSource& device);
  bool is_over_limit() const;
  std::uint64_t epochs(const Step& step) const;

  const DeviceColumns& columns_;
  cel::Program program_;
  cel::PredicateTerm part_;
  std::unique_ptr<Step> root_;
  std::unique_ptr<Step> whole_;  // the program as one term that reads everything
  std::size_t columns_seen_ = 0;
  std::uint64_t node_cost_ = 0;  // of the logic between the terms
  bool only_equalities_ = true;
  // The cost limit is near, or there are too many values: the whole program runs for the requested devices.
  bool device_by_device_ = false;
};

}  // namespace berth::dra
