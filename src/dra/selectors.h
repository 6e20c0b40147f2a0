// The seam to CEL: device selectors by text, evaluated for one device, or over all rows of the columns.
//
// Owner: one Allocator, on one thread. Source: DeviceClass.spec.selectors and request selectors, KEP-4381.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/types/dra.h"
#include "base/result.h"

namespace berth::dra {

class DeviceColumns;

// One selector over all devices of some columns.
class VectorSelector {
 public:
  virtual ~VectorSelector() = default;
  // Ones for the rows of words [first, first + words) where the selector is true, or fails. Rows without a
  // device may have any result.
  virtual void evaluate(std::size_t first, std::size_t words, std::uint64_t* yes, std::uint64_t* error) = 0;
  // An upper bound of the cost of evaluating so many words now, in units of CEL's cost: some 20 ns each.
  virtual std::uint64_t work(std::size_t words) const = 0;
  // From now on every evaluation reads only the devices of its words, not all distinct values.
  virtual void go_by_device() = 0;
  // The same for one device, with the error's text.
  virtual Result<bool> evaluate(std::string_view driver, const api::Device& device) = 0;
};

class SelectorEvaluator {
 public:
  virtual ~SelectorEvaluator() = default;
  // The error is the compiler's, or a run-time error of the expression on this device: it ends a scheduling
  // attempt and never means "no match".
  virtual Result<bool> evaluate(std::string_view text, std::string_view driver,
                                const api::Device& device) = 0;
  // The same for derived attributes, whose expressions return an attribute's value.
  virtual Result<api::AttributeValue> derive(std::string_view text, std::string_view driver,
                                             const api::Device& device) = 0;
  // The driver of every device that the selector may accept; none: it may be any.
  virtual std::optional<std::string> driver_of(std::string_view) { return std::nullopt; }

  // `columns` and this evaluator outlive the result. The default evaluates device by device.
  virtual Result<std::unique_ptr<VectorSelector>> over(const DeviceColumns& columns, std::string_view text);
};

}  // namespace berth::dra
