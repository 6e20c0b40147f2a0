// matchAttribute and distinctAttribute while devices are being chosen.
//
// Source: KEP-4381, KEP-5491 (lists are sets, a scalar is a set of one). Undo keeps the states before on a
// stack: an intersection has no inverse.
#pragma once

#include <string>
#include <vector>

#include "api/types/dra.h"

namespace berth::dra {

// Exact name, else its bare id when its domain is the device's driver. Null when the device has no such
// attribute.
const api::AttributeValue* attribute_of(const api::Device& device, std::string_view driver,
                                        std::string_view name);

enum class ListAttributes : std::uint8_t { Refused, AsSets };

class ConstraintState {
 public:
  ConstraintState(const api::DeviceConstraint& constraint, ListAttributes lists)
      : constraint_(&constraint), lists_(lists) {}

  // Takes in a device with this value of attribute() when the constraint allows it; otherwise changes
  // nothing. Null: the device has no such attribute.
  bool add(const api::AttributeValue* value);
  // Undoes the latest add that returned true.
  void undo() { accepted_.pop_back(); }

  const std::string& attribute() const {
    return constraint_->match_attribute.empty() ? constraint_->distinct_attribute
                                                : constraint_->match_attribute;
  }
  bool is_match() const { return !constraint_->match_attribute.empty(); }
  bool covers(std::string_view request, std::string_view full_name) const;

 private:
  using Values = std::vector<api::AttributeValue>;  // scalars
  Values values_of(const api::AttributeValue& value) const;

  const api::DeviceConstraint* constraint_;
  ListAttributes lists_;
  // matchAttribute: the intersection after each device. distinctAttribute: each device's values.
  std::vector<Values> accepted_;
};

}  // namespace berth::dra
