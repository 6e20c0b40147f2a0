#include "dra/columns/code_answers.h"

#include <algorithm>
#include <cstring>
#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace berth::dra {
namespace {

using cel::TruthValue;

std::size_t at(TruthValue verdict) {
  return static_cast<std::size_t>(verdict);
}

#ifdef __SSE2__
// 16 rows as bytes that are all ones or all zeros.
__m128i load(const std::uint8_t* bytes) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
}
struct Lanes8 {
  static constexpr std::size_t kBytes = 16;
  static __m128i wanted(std::uint32_t code) { return _mm_set1_epi8(static_cast<char>(code)); }
  static __m128i equal(const std::uint8_t* codes, __m128i code) { return _mm_cmpeq_epi8(load(codes), code); }
};
struct Lanes16 {
  static constexpr std::size_t kBytes = 32;
  static __m128i wanted(std::uint32_t code) { return _mm_set1_epi16(static_cast<short>(code)); }
  static __m128i equal(const std::uint8_t* codes, __m128i code) {
    return _mm_packs_epi16(_mm_cmpeq_epi16(load(codes), code), _mm_cmpeq_epi16(load(codes + 16), code));
  }
};
struct Lanes32 {
  static constexpr std::size_t kBytes = 64;
  static __m128i wanted(std::uint32_t code) { return _mm_set1_epi32(static_cast<int>(code)); }
  static __m128i equal(const std::uint8_t* codes, __m128i code) {
    const __m128i low =
        _mm_packs_epi32(_mm_cmpeq_epi32(load(codes), code), _mm_cmpeq_epi32(load(codes + 16), code));
    const __m128i high =
        _mm_packs_epi32(_mm_cmpeq_epi32(load(codes + 32), code), _mm_cmpeq_epi32(load(codes + 48), code));
    return _mm_packs_epi16(low, high);
  }
};

template <class Lanes>
struct Wanted {
  explicit Wanted(const CodeSet& set) : count(set.count), flip(set.is_inverted ? ~std::uint64_t{0} : 0) {
    for (std::size_t i = 0; i < count; ++i) codes[i] = Lanes::wanted(set.codes[i]);
  }
  std::uint64_t word(const std::uint8_t* rows) const {
    std::uint64_t bits = 0;
    for (unsigned quarter = 0; quarter < 4 && count > 0; ++quarter, rows += Lanes::kBytes) {
      __m128i any = Lanes::equal(rows, codes[0]);
      for (std::size_t i = 1; i < count; ++i) any = _mm_or_si128(any, Lanes::equal(rows, codes[i]));
      bits |= std::uint64_t{static_cast<std::uint16_t>(_mm_movemask_epi8(any))} << (16 * quarter);
    }
    return bits ^ flip;
  }
  __m128i codes[kComparesMax];
  std::size_t count;
  std::uint64_t flip;
};
#else
template <class T>
struct Lanes {
  static constexpr std::size_t kBytes = 16 * sizeof(T);
};
using Lanes8 = Lanes<std::uint8_t>;
using Lanes16 = Lanes<std::uint16_t>;
using Lanes32 = Lanes<std::uint32_t>;

template <class Lanes>
struct Wanted {
  explicit Wanted(const CodeSet& set) : set(set) {}
  std::uint64_t word(const std::uint8_t* rows) const {
    constexpr std::size_t kWidth = Lanes::kBytes / 16;
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < kRowsPerWord; ++i) {
      std::uint32_t code = 0;
      std::memcpy(&code, rows + i * kWidth, kWidth);  // little-endian, like the reads of the columns
      bits |= std::uint64_t{set.contains(code)} << i;
    }
    return bits;
  }
  CodeSet set;
};
#endif

template <class Lanes>
void compare(const std::uint8_t* rows, std::size_t words, const CodeSet& yes_set, const CodeSet& error_set,
             std::uint64_t* yes, std::uint64_t* error) {
  const Wanted<Lanes> is_yes(yes_set), is_error(error_set);
  for (std::size_t word = 0; word < words; ++word, rows += 4 * Lanes::kBytes) {
    yes[word] = is_yes.word(rows);
    error[word] = is_error.word(rows);
  }
}

#ifdef __SSE2__
// One-byte codes, at most one code a set: the usual case, with wider registers where available.
__attribute__((target("avx2"))) void compare_one(const std::uint8_t* rows, std::size_t words,
                                                 const CodeSet& yes_set, const CodeSet& error_set,
                                                 std::uint64_t* yes, std::uint64_t* error) {
  const std::uint64_t flip_yes = yes_set.is_inverted ? ~std::uint64_t{0} : 0;
  const std::uint64_t flip_error = error_set.is_inverted ? ~std::uint64_t{0} : 0;
  const std::uint64_t keep_yes = yes_set.count ? ~std::uint64_t{0} : 0;
  const std::uint64_t keep_error = error_set.count ? ~std::uint64_t{0} : 0;
  const __m256i is_yes = _mm256_set1_epi8(static_cast<char>(yes_set.codes[0]));
  const __m256i is_error = _mm256_set1_epi8(static_cast<char>(error_set.codes[0]));
  for (std::size_t word = 0; word < words; ++word, rows += kRowsPerWord) {
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows));
    const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows + 32));
    const auto bits = [](int low_bits, int high_bits) {
      return std::uint64_t{static_cast<std::uint32_t>(high_bits)} << 32 |
             static_cast<std::uint32_t>(low_bits);
    };
    yes[word] = (bits(_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, is_yes)),
                      _mm256_movemask_epi8(_mm256_cmpeq_epi8(high, is_yes))) &
                 keep_yes) ^
                flip_yes;
    error[word] = (bits(_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, is_error)),
                        _mm256_movemask_epi8(_mm256_cmpeq_epi8(high, is_error))) &
                   keep_error) ^
                  flip_error;
  }
}

void compare_bytes(const std::uint8_t* rows, std::size_t words, const CodeSet& yes_set,
                   const CodeSet& error_set, std::uint64_t* yes, std::uint64_t* error) {
  static const bool kWide = __builtin_cpu_supports("avx2") != 0;
  if (kWide && yes_set.count <= 1 && error_set.count <= 1)
    return compare_one(rows, words, yes_set, error_set, yes, error);
  compare<Lanes8>(rows, words, yes_set, error_set, yes, error);
}
#else
void compare_bytes(const std::uint8_t* rows, std::size_t words, const CodeSet& yes_set,
                   const CodeSet& error_set, std::uint64_t* yes, std::uint64_t* error) {
  compare<Lanes8>(rows, words, yes_set, error_set, yes, error);
}
#endif

template <class T>
void look_up(const std::uint8_t* rows, std::size_t words, const std::vector<TruthValue>& table,
             std::uint64_t* yes, std::uint64_t* error) {
  for (std::size_t word = 0; word < words; ++word) {
    std::uint64_t is_yes = 0, is_error = 0;
    for (std::size_t i = 0; i < kRowsPerWord; ++i, rows += sizeof(T)) {
      T code;
      std::memcpy(&code, rows, sizeof code);
      const TruthValue verdict = table[code];
      is_yes |= std::uint64_t{verdict == TruthValue::True} << i;
      is_error |= std::uint64_t{verdict == TruthValue::Error} << i;
    }
    yes[word] = is_yes;
    error[word] = is_error;
  }
}

}  // namespace

bool CodeSet::contains(std::uint32_t code) const {
  return (std::find(codes.begin(), codes.begin() + count, code) != codes.begin() + count) != is_inverted;
}

CodeAnswers CodeAnswers::equality(std::uint32_t hit, bool is_negated) {
  CodeAnswers answers;
  answers.error_.add(kNoValue);
  answers.yes_.is_inverted = is_negated;
  if (is_negated) answers.yes_.add(kNoValue);
  if (hit != kNoValue) answers.yes_.add(hit);
  return answers;
}

void CodeAnswers::add(TruthValue verdict) {
  std::size_t& count = counts_[at(verdict)];
  if (count < kComparesMax) firsts_[at(verdict)][count] = size();
  ++count;
  table_.push_back(verdict);
}

// The codes with this verdict, or those without it, whichever are few enough.
bool CodeAnswers::find_short(TruthValue wanted, CodeSet& out) const {
  out = CodeSet();
  const std::size_t with = counts_[at(wanted)];
  out.is_inverted = with > kComparesMax;
  if (out.is_inverted && table_.size() - with > kComparesMax) return false;
  for (const TruthValue verdict : {TruthValue::False, TruthValue::True, TruthValue::Error}) {
    if ((verdict == wanted) == out.is_inverted) continue;
    for (std::size_t i = 0; i < counts_[at(verdict)]; ++i) out.add(firsts_[at(verdict)][i]);
  }
  return true;
}

void CodeAnswers::finalize() {
  by_table_ = !find_short(TruthValue::True, yes_) || !find_short(TruthValue::Error, error_);
}

void CodeAnswers::match(const Column* column, std::size_t first, std::size_t words, std::uint64_t* yes,
                        std::uint64_t* error) const {
  const std::size_t known = column ? column->rows() / kRowsPerWord : 0;
  const std::size_t here = first < known ? std::min(words, known - first) : 0;
  if (here > 0) {
    const std::uint8_t* rows = column->codes() + first * kRowsPerWord * column->width();
    switch (column->width()) {
      case 1:
        by_table_ ? look_up<std::uint8_t>(rows, here, table_, yes, error)
                  : compare_bytes(rows, here, yes_, error_, yes, error);
        break;
      case 2:
        by_table_ ? look_up<std::uint16_t>(rows, here, table_, yes, error)
                  : compare<Lanes16>(rows, here, yes_, error_, yes, error);
        break;
      default:
        by_table_ ? look_up<std::uint32_t>(rows, here, table_, yes, error)
                  : compare<Lanes32>(rows, here, yes_, error_, yes, error);
    }
  }
  const bool none_yes = by_table_ ? table_[kNoValue] == TruthValue::True : yes_.contains(kNoValue);
  const bool none_error = by_table_ ? table_[kNoValue] == TruthValue::Error : error_.contains(kNoValue);
  std::fill(yes + here, yes + words, none_yes ? ~std::uint64_t{0} : 0);
  std::fill(error + here, error + words, none_error ? ~std::uint64_t{0} : 0);
}

}  // namespace berth::dra
