// Which devices pass a list of selectors, for all rows of the columns at once.
//
// Owner: one Inventory, on one thread. Cost: reading one slice's answer some ns; after slices changed, their
// rows are answered again for the sets that are asked for; a new set costs one pass over all rows. Source:
// KEP-4381, the selectors of a class and of a request.
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

// Sets that nobody holds are dropped when this many, or twice the last rest, are known.
inline constexpr std::size_t kSetsBeforeSweep = 1024;
// Sets with answers for all rows; the one that was not asked for the longest is forgotten first.
inline constexpr std::size_t kAnsweredSetsMax = 256;

// A list whose answers for all rows would cost more than this (about 0.1 s) is answered slice by slice, where
// somebody asks. In units of CEL's cost.
inline constexpr std::uint64_t kEagerWorkMax = 5'000'000;

// Class and request selectors in the order of evaluation. Equal lists have equal ids. An id stands while a
// hold on it lives; later it may name another list.
using SelectorSetId = DenseId<struct SelectorSetTag>;
using SelectorSetRef = std::shared_ptr<const void>;

// What one selector set says about the devices of one slice.
struct Selected {
  Mask match;
  Mask error;  // evaluation failed before any selector said no
};

// Where a selector failed, for the message.
struct SelectorFault {
  bool of_class = false;
  std::size_t index = 0;  // among the class's selectors, or the request's
  std::string text;
  std::string hint;  // what was probably meant; empty where nothing is known
};

class SelectorCache {
 public:
  SelectorCache(const DeviceColumns& columns, SelectorEvaluator& evaluator);
  ~SelectorCache();

  SelectorSetId intern(const std::vector<std::string>& class_selectors,
                       const std::vector<std::string>& request_selectors);
  SelectorSetRef reference(SelectorSetId id) const;
  // Of the list that the id names now: no other list ever has this number.
  std::uint64_t number_of(SelectorSetId id) const;
  // Ids that were ever given out at once.
  std::size_t slots() const { return sets_.size(); }
  Selected of(const SliceRows& rows, SelectorSetId id);
  // Of a device that of() calls an error.
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
  std::vector<std::unique_ptr<Set>> sets_;  // null: dropped, to be used again
  std::vector<SelectorSetId> free_;
  std::uint64_t last_number_ = 0;
  std::size_t sweep_at_ = kSetsBeforeSweep;
  std::vector<Set*> answered_;
  std::uint64_t uses_ = 0;
  std::vector<WordRange> changes_;  // reused
};

}  // namespace berth::dra
