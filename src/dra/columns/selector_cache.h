// The devices that pass a list of selectors, for all rows of the columns at once.
//
// Owner: one Inventory, on one thread. Cost: reading one slice's result some ns; after slices changed, their
// rows are evaluated again for the sets in use; a new set costs one pass over all rows. Source: KEP-4381, the
// selectors of a class and of a request.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "dra/columns/device_columns.h"
#include "dra/columns/mask.h"
#include "dra/selectors.h"

namespace berth::dra {

// Unreferenced sets are dropped when this many sets, or twice the number left by the last sweep, are known.
inline constexpr std::size_t kSetsBeforeSweep = 1024;
// Sets with results for all rows; the least recently used one is evicted first.
inline constexpr std::size_t kAnsweredSetsMax = 256;

// A list whose results for all rows would cost more than this (about 0.1 s) is evaluated slice by slice, on
// demand. In units of CEL's cost.
inline constexpr std::uint64_t kEagerWorkMax = 5'000'000;

// Class and request selectors in the order of evaluation. Equal lists have equal ids. An id is valid while a
// reference to it is held; later it may be reused for another list.
using SelectorSetId = DenseId<struct SelectorSetTag>;
using SelectorSetRef = std::shared_ptr<const void>;

// The result of one selector set for the devices of one slice.
struct Selected {
  Mask match;
  Mask error;  // evaluation failed before any selector was false
};

// The selector that failed, for the message.
struct SelectorFault {
  bool of_class = false;
  std::size_t index = 0;  // among the class's selectors, or the request's
  std::string text;
  std::string hint;  // the probable intention; empty where unknown
};

class SelectorCache {
 public:
  SelectorCache(const DeviceColumns& columns, SelectorEvaluator& evaluator);
  ~SelectorCache();

  SelectorSetId intern(const std::vector<std::string>& class_selectors,
                       const std::vector<std::string>& request_selectors);
  SelectorSetRef reference(SelectorSetId id) const;
  // A number of the list that has the id now; never reused for another list.
  std::uint64_t number_of(SelectorSetId id) const;
  // The largest number of ids that were in use at once.
  std::size_t slots() const { return sets_.size(); }
  Selected of(const SliceRows& rows, SelectorSetId id);
  // For a device that of() reports as an error.
  SelectorFault fault_of(SelectorSetId id, std::string_view driver, const api::Device& device);

 private:
  struct Answers;
  struct Set;

  Answers& answers_of(Set& set);
  void catch_up(Answers& answers);
  void answer(Answers& answers, WordRange words) const;
  static bool is_too_much(const Answers& answers, std::size_t words);
  void answer_slice(Answers& answers, const SliceRows& rows) const;
  void sweep();
  void forget_one();

  const DeviceColumns& columns_;
  SelectorEvaluator& evaluator_;
  std::unordered_map<std::string, SelectorSetId> ids_;
  std::vector<std::unique_ptr<Set>> sets_;  // null: dropped, free for reuse
  std::vector<SelectorSetId> free_;
  std::uint64_t last_number_ = 0;
  std::size_t sweep_at_ = kSetsBeforeSweep;
  std::vector<Set*> answered_;
  std::uint64_t uses_ = 0;
  std::vector<WordRange> changes_;  // scratch
};

}  // namespace berth::dra
