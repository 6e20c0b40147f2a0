// What `kubectl explain` says of the types and fields of the API, in the project's own words.
//
// The texts are data: a file of descriptions/ for each group, sorted by key. They hold for every version of
// the group. Thread-safe, immutable. Cost of a text: a key of its own, and two binary searches.
#pragma once

#include <span>
#include <string_view>

namespace berth::api {

struct Description {
  std::string_view key;  // "Pod", or "Pod.spec": the type, and the JSON name of its field
  std::string_view text;
};

// By key, each key once. Group "" is core. Empty: there is no such group.
std::span<const Description> descriptions_of(std::string_view group);
// The text. Empty: there is no such type or field, or nothing is said of it.
std::string_view description_of(std::string_view group, std::string_view type, std::string_view field = {});

}  // namespace berth::api
