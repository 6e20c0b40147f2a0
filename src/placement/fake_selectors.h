// Selectors that need no CEL, for tests.
#pragma once

#include <string>
#include <string_view>

#include "dra/allocator.h"

namespace berth::placement {

// Knows "true", "device.driver == '<driver>'", "device.kind == '<kind>'" of the attribute "kind", "broken",
// which fails at run time, and "sound", which fails for devices with the attribute "broken".
class FakeSelectors final : public dra::SelectorEvaluator {
 public:
  Result<bool> evaluate(std::string_view text, std::string_view driver, const api::Device& device) override {
    if (text == "broken" || (text == "sound" && device.attributes.contains("broken")))
      return Error(ErrorCode::Invalid, "no such key: nosuch")
          .because_of(Error(ErrorCode::Invalid, "nearest is 'such'"));
    if (text == "true" || text == "sound" || text == "device.driver == '" + std::string(driver) + "'")
      return true;
    const auto kind = device.attributes.find("kind");
    return kind != device.attributes.end() && std::holds_alternative<std::string>(kind->second) &&
           text == "device.kind == '" + std::get<std::string>(kind->second) + "'";
  }
  std::optional<std::string> driver_of(std::string_view text) override {
    constexpr std::string_view kStart = "device.driver == '";
    if (!text.starts_with(kStart)) return std::nullopt;
    return std::string(text.substr(kStart.size(), text.size() - kStart.size() - 1));
  }
  Result<api::AttributeValue> derive(std::string_view, std::string_view, const api::Device&) override {
    return Error(ErrorCode::Unsupported, "no derived attributes here");
  }
};

}  // namespace berth::placement
