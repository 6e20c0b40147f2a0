// The seam to CEL: device selectors by text, evaluated for one device.
//
// Owner: one Allocator, on one thread. Source: DeviceClass.spec.selectors and request selectors, KEP-4381.
#pragma once

#include <string_view>

#include "api/types/dra.h"
#include "base/ids.h"
#include "base/result.h"

namespace berth::dra {

using SelectorId = DenseId<struct SelectorTag>;

class SelectorEvaluator {
 public:
  virtual ~SelectorEvaluator() = default;
  // The same text gives the same id; ids count up from 0. The error is the compiler's text.
  virtual Result<SelectorId> compile(std::string_view text) = 0;
  // The error is a run-time error of the expression on this device: fatal for a scheduling attempt, never "no
  // match".
  virtual Result<bool> evaluate(SelectorId selector, std::string_view driver, const api::Device& device) = 0;

  // The same for derived attributes, whose expressions yield an attribute's value; their ids are of the same
  // count.
  virtual Result<SelectorId> compile_attribute(std::string_view text) = 0;
  virtual Result<api::AttributeValue> derive(SelectorId expression, std::string_view driver,
                                             const api::Device& device) = 0;
};

}  // namespace berth::dra
