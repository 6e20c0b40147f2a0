// The result of one selector term for every code of one column, and the rows that match, 64 at a time.
//
// Owner: one selector. Cost: one compare per code for 16 rows of one-byte codes; a table look-up per row
// where both a set of codes and its complement are long.
#pragma once

#include <array>
#include <vector>

#include "dra/columns/device_columns.h"

namespace berth::dra {

// Longer sets use the look-up table.
inline constexpr std::size_t kComparesMax = 8;

// A few codes, or all codes but a few.
struct CodeSet {
  std::array<std::uint32_t, kComparesMax> codes = {};
  std::size_t count = 0;
  bool is_inverted = false;

  void add(std::uint32_t code) { codes[count++] = code; }
  bool contains(std::uint32_t code) const;
};

class CodeAnswers {
 public:
  // `column == constant`: true for `hit`, which may be kNoValue for none; an error for no value.
  static CodeAnswers equality(std::uint32_t hit, bool is_negated);

  // Adds the result of the next code, size().
  void add(cel::TruthValue verdict);
  std::uint32_t size() const { return static_cast<std::uint32_t>(table_.size()); }
  // After the last add(), before match().
  void finalize();

  // Ones for the rows of words [first, first + words) with this result: true, or an error. A null column has
  // no values.
  void match(const Column* column, std::size_t first, std::size_t words, std::uint64_t* yes,
             std::uint64_t* error) const;

 private:
  bool find_short(cel::TruthValue wanted, CodeSet& out) const;

  std::vector<cel::TruthValue> table_;
  std::array<std::size_t, 3> counts_ = {};                              // by verdict
  std::array<std::array<std::uint32_t, kComparesMax>, 3> firsts_ = {};  // by verdict
  CodeSet yes_, error_;
  bool by_table_ = false;
};

}  // namespace berth::dra
