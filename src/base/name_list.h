// Names in a sentence for a person: the first ones, and how many more there are.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace berth {

// "a, b, c and 4 more": at most `shown` of `names`, which are the first of `all`. Empty for no names.
std::string first_names(std::span<const std::string> names, std::size_t shown, std::size_t all);
inline std::string first_names(std::span<const std::string> names, std::size_t shown) {
  return first_names(names, shown, names.size());
}
// "a, b and c": all of them.
std::string joined_names(std::span<const std::string> names);

}  // namespace berth
