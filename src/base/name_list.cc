#include "base/name_list.h"

#include <algorithm>

namespace berth {

std::string first_names(std::span<const std::string> names, std::size_t shown, std::size_t all) {
  std::string text;
  shown = std::min(shown, names.size());
  for (std::size_t i = 0; i < shown; ++i) text.append(i == 0 ? "" : ", ").append(names[i]);
  if (all > shown) text += " and " + std::to_string(all - shown) + " more";
  return text;
}

std::string joined_names(std::span<const std::string> names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text.append(i == 0 ? "" : i + 1 == names.size() ? " and " : ", ").append(names[i]);
  return text;
}

}  // namespace berth
