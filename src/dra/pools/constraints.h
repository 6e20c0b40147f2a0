// The state of matchAttribute and distinctAttribute during the choice of devices.
//
// Source: KEP-4381, KEP-5491. Undo restores the previous values: an intersection has no inverse.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/types/dra.h"

namespace berth::dra {

// Whether the constraint covers this request (or this alternative, by its full name).
bool covers(const api::DeviceConstraint& constraint, std::string_view request, std::string_view full_name);

class ConstraintState {
 public:
  // `values`: all value numbers are below this.
  ConstraintState(bool is_match, std::uint32_t values) : is_match_(is_match), taken_(is_match ? 0 : values) {}

  // Adds a device with these values (sorted) when the constraint allows it; otherwise changes nothing.
  bool add(std::span<const std::uint32_t> values);
  // Undoes the latest add that returned true.
  void undo();

  bool is_match() const { return is_match_; }
  bool empty() const { return marks_.empty(); }
  // matchAttribute: the values common to all devices. distinctAttribute: all values of all devices.
  std::span<const std::uint32_t> values() const {
    return std::span(values_).subspan(is_match_ && !marks_.empty() ? marks_.back() : 0);
  }

 private:
  bool is_match_;
  std::vector<std::uint8_t> taken_;    // distinctAttribute, by value
  std::vector<std::uint32_t> values_;  // of the devices, one after the other
  std::vector<std::size_t> marks_;     // where each begins
};

}  // namespace berth::dra
