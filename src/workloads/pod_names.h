// Names of pods of which an owner makes any number: `<prefix><five characters>`.
//
// The n-th name is a fixed function of the owner's UID and n, all names of an owner differ, and n can be read
// from a name. So the next name follows from the pods that exist, without memory: a create whose answer was
// lost is repeated with the same name, and never makes a second pod. Pure; any thread.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth::workloads {

class NumberedNames {
 public:
  // `seed` is the owner's UID, with what distinguishes sequences of one owner. Long prefixes are cut.
  NumberedNames(std::string_view prefix, std::string_view seed);

  // There are as many different names as kCount; n counts modulo it.
  static constexpr std::uint32_t kCount = 27u * 27 * 27 * 27 * 27;
  std::string name(std::uint32_t n) const;
  // Nothing for a name of another form.
  std::optional<std::uint32_t> number_of(std::string_view name) const;

  friend auto operator<=>(const NumberedNames&, const NumberedNames&) = default;

 private:
  std::string prefix_;
  std::uint32_t offset_;
};

// A number below 2^32 in Kubernetes' alphabet without vowels, as pod-template-hash is written.
std::string safe_text(std::uint32_t number);

}  // namespace berth::workloads
