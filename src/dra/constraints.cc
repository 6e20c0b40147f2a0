#include "dra/constraints.h"

#include <algorithm>

namespace berth::dra {
namespace {

bool has(const std::vector<api::AttributeValue>& values, const api::AttributeValue& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

template <class T>
void append(std::vector<api::AttributeValue>& out, const std::vector<T>& list) {
  for (auto&& item : list) out.emplace_back(T(item));
}

}  // namespace

const api::AttributeValue* attribute_of(const api::Device& device, std::string_view driver,
                                        std::string_view name) {
  const auto found = device.attributes.find(std::string(name));
  if (found != device.attributes.end()) return &found->second;
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos || name.substr(0, slash) != driver) return nullptr;
  const auto bare = device.attributes.find(std::string(name.substr(slash + 1)));
  return bare == device.attributes.end() ? nullptr : &bare->second;
}

ConstraintState::Values ConstraintState::values_of(const api::AttributeValue& value) const {
  Values values;
  const bool list = value.index() > 4;
  if (value.index() == 0 || (list && lists_ == ListAttributes::Refused)) return values;
  if (!list) return {value};
  std::visit(
      [&](const auto& held) {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (requires { held.begin(); } && !std::is_same_v<Held, std::string>) append(values, held);
      },
      value);
  return values;
}

bool ConstraintState::add(const api::AttributeValue* value) {
  if (!value) return false;
  Values values = values_of(*value);
  if (values.empty()) return false;
  if (!is_match()) {
    for (const Values& other : accepted_)
      for (const api::AttributeValue& item : values)
        if (has(other, item)) return false;
  } else if (!accepted_.empty()) {
    std::erase_if(values, [&](const api::AttributeValue& item) { return !has(accepted_.back(), item); });
    if (values.empty()) return false;
  }
  accepted_.push_back(std::move(values));
  return true;
}

bool ConstraintState::covers(std::string_view request, std::string_view full_name) const {
  const std::vector<std::string>& requests = constraint_->requests;
  if (requests.empty()) return true;
  return std::any_of(requests.begin(), requests.end(),
                     [&](const std::string& name) { return name == request || name == full_name; });
}

}  // namespace berth::dra
