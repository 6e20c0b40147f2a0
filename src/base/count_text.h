// A number of things in a sentence for a person.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace berth {

// "1 namespace", "3 different namespaces"
std::string count_text(std::integral auto count, std::string_view one, std::string_view many) {
  return std::to_string(count).append(" ").append(count == 1 ? one : many);
}

// "1 pod", "4 pods"
std::string count_text(std::integral auto count, const std::string& one) {
  return count_text(count, one, one + "s");
}

}  // namespace berth
