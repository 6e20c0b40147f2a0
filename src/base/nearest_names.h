// The names that were probably meant by one that does not exist.
//
// Pure, for people. Cost: O(bytes of the name · bytes of a candidate) for each candidate of a similar length.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

// The fewest bytes to insert, remove or replace that turn one text into the other (Levenshtein).
std::size_t edit_distance(std::string_view a, std::string_view b);

// Up to kNearestMax of `names` that are most similar to `name`, best first; dissimilar names are left out.
// Nothing is similar to a name of more than kNearestBytesMax.
inline constexpr std::size_t kNearestMax = 3, kNearestBytesMax = 100;
std::vector<std::string> nearest_names(std::string_view name, std::vector<std::string> names);

// Names that a caller collects at most for one hint.
inline constexpr std::size_t kNamesComparedMax = 256;
// For a sentence about the missing name: "nearest: gpu-large"; without a similar one "existing: big, small
// and 4 more", of `all`; empty where there are no names.
std::string names_hint(std::string_view missing, const std::vector<std::string>& names, std::size_t all);

}  // namespace berth
