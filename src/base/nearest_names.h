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

}  // namespace berth
