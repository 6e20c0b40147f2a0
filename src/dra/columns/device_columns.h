// The attributes that selectors read, of all devices, as columns of small codes: the driver,
// allowMultipleAllocations, and one column for every attribute and capacity name.
//
// Each slice version has a run of rows while its SliceRows lives. A code represents one distinct typed value
// of its column; code 0 means that the device has none.
// Owner: one Inventory, on one thread. Cost: admitting a slice is O(its attributes), no allocation for known
// values. Memory: docs/performance.md. Source: KEP-4381; a name without a domain has the driver's.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "api/types/dra.h"
#include "cel/predicate_terms.h"
#include "dra/columns/dictionary.h"
#include "dra/columns/free_rows.h"

namespace berth::dra {

inline constexpr std::uint32_t kRowsPerWord = 64;
// Attributes beyond this many names have no column; selectors read them from the devices.
inline constexpr std::size_t kColumnsMax = 512;
// Changes that are recorded individually.
inline constexpr std::size_t kChangesMax = 512;
// A dictionary is rebuilt when it holds more than 2 · (rows in use + this) values.
inline constexpr std::uint32_t kSpareValues = 4096;

class Column {
 public:
  explicit Column(cel::AttributeRef name) : name_(std::move(name)) {}

  const cel::AttributeRef& name() const { return name_; }
  const Dictionary& values() const { return values_; }
  // Bytes a code: 1, 2 or 4.
  unsigned width() const { return width_; }
  // Rows from here on have no value. A multiple of kRowsPerWord.
  std::uint32_t rows() const { return rows_; }
  const std::uint8_t* codes() const { return codes_.data(); }
  std::uint32_t code(std::uint32_t row) const;
  // Changes when codes are reassigned; until then a code keeps its value.
  std::uint64_t epoch() const { return epoch_; }

 private:
  friend class DeviceColumns;
  void set(std::uint32_t row, std::uint32_t code);
  void clear(std::uint32_t begin, std::uint32_t count);
  void widen(unsigned width);
  void drop_unused_values();

  cel::AttributeRef name_;
  Dictionary values_;
  std::vector<std::uint8_t> codes_;
  unsigned width_ = 1;
  std::uint32_t rows_ = 0;
  std::uint64_t epoch_ = 0;
};

class DeviceColumns;

// A slice's run of rows during the lifetime of this object. The columns must outlive it.
class SliceRows {
 public:
  SliceRows() = default;
  SliceRows(DeviceColumns& owner, std::uint32_t begin, std::uint32_t count)
      : owner_(&owner), begin_(begin), count_(count) {}
  SliceRows(SliceRows&& other) noexcept { swap(other); }
  SliceRows& operator=(SliceRows&& other) noexcept {
    swap(other);
    return *this;
  }
  ~SliceRows();

  std::uint32_t begin() const { return begin_; }
  std::uint32_t count() const { return count_; }

 private:
  void swap(SliceRows& other) {
    std::swap(owner_, other.owner_);
    std::swap(begin_, other.begin_);
    std::swap(count_, other.count_);
  }
  DeviceColumns* owner_ = nullptr;
  std::uint32_t begin_ = 0, count_ = 0;
};

struct WordRange {
  std::size_t first = 0, last = 0;  // half-open
};

class DeviceColumns {
 public:
  DeviceColumns();

  // Admits the first kSliceDevicesMax devices of the slice. `before` is the previous version, if it is still
  // known: most values are the same.
  SliceRows admit(std::shared_ptr<const api::ResourceSlice> slice, const SliceRows* before = nullptr);

  std::size_t words() const { return (free_.end() + kRowsPerWord - 1) / kRowsPerWord; }
  // Null when no device ever had such a value, or the name has no column.
  const Column* find(const cel::AttributeRef& name) const;
  bool left_some_out() const { return left_some_out_; }
  std::span<const std::unique_ptr<Column>> columns() const { return columns_; }

  // Counts the slices admitted so far.
  std::uint64_t version() const { return version_; }
  // The words with rows that were admitted after `version`; false when these are no longer recorded.
  bool changes_since(std::uint64_t version, std::vector<WordRange>& out) const;

  // visit(row, slice, device) for each device in use of these words.
  template <class Visit>
  void for_each_device(WordRange words, Visit visit) const;

  std::size_t bytes() const;

 private:
  friend class SliceRows;
  struct Live {
    std::shared_ptr<const api::ResourceSlice> slice;
    std::uint32_t count = 0;
  };
  // The columns that the latest device of a driver used, by position in its maps.
  struct Plan {
    std::vector<std::pair<std::string, Column*>> attributes, capacity;
  };

  void retire(std::uint32_t begin, std::uint32_t count);
  Column* column_for(cel::DeviceField field, const std::string& driver, const std::string& name);
  Column* planned(std::vector<std::pair<std::string, Column*>>& plan, std::size_t position,
                  cel::DeviceField field, const std::string& driver, const std::string& name);
  void encode(const api::ResourceSlice& slice, const api::Device& device, Plan& plan, std::uint32_t row,
              std::uint32_t row_before);
  template <class MakeValue>
  static void put(Column& column, std::uint32_t row, const ValueKey& key, MakeValue make);

  FreeRows free_;
  std::vector<std::unique_ptr<Column>> columns_;
  std::map<cel::AttributeRef, Column*> by_name_;
  std::map<std::string, Plan> plans_;   // by driver
  std::map<std::uint32_t, Live> live_;  // by first row
  std::vector<WordRange> changes_;      // of version v at v % kChangesMax
  std::uint64_t version_ = 0;
  bool left_some_out_ = false;
  std::string scratch_;
};

template <class Visit>
void DeviceColumns::for_each_device(WordRange words, Visit visit) const {
  const auto first = static_cast<std::uint32_t>(words.first * kRowsPerWord);
  const auto last = static_cast<std::uint32_t>(words.last * kRowsPerWord);
  auto at = live_.upper_bound(first);
  if (at != live_.begin()) --at;
  for (; at != live_.end() && at->first < last; ++at)
    for (std::uint32_t row = std::max(at->first, first); row < std::min(at->first + at->second.count, last);
         ++row)
      visit(row, *at->second.slice, at->second.slice->devices[row - at->first]);
}

}  // namespace berth::dra
