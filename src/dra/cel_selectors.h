// Device selectors and derived attributes by the cel room.
//
// Cost: a text is compiled once while it is among the most recently used; an evaluation builds the device's
// record, 1 to 5 µs with its attributes. The allocator caches results per slice version. Source: KEP-4381,
// k8s.io/dynamic-resource-allocation/cel.
#pragma once

#include <memory>

#include "dra/selectors.h"

namespace berth::dra {

// Compiled selectors that are cached by text, least recently used evicted; and as many derived attributes.
inline constexpr std::size_t kRecentProgramsMax = 256;

class CelSelectors final : public SelectorEvaluator {
 public:
  CelSelectors();
  ~CelSelectors() override;
  Result<bool> evaluate(std::string_view text, std::string_view driver, const api::Device& device) override;
  Result<api::AttributeValue> derive(std::string_view text, std::string_view driver,
                                     const api::Device& device) override;
  // Of a conjunction with `device.driver == "…"`.
  std::optional<std::string> driver_of(std::string_view text) override;
  // By columns: one evaluation for each distinct value, not for each device.
  Result<std::unique_ptr<VectorSelector>> over(const DeviceColumns& columns, std::string_view text) override;

  // Texts that are cached now, of both kinds.
  std::size_t kept() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace berth::dra
