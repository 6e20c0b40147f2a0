#include <algorithm>
#include <optional>

#include "api/gates.h"
#include "api/kinds/document.h"
#include "api/kinds/resource_slice.h"
#include "base/quantity.h"

namespace berth::api {
namespace {

constexpr std::size_t kValidValuesMax = 10;

std::optional<Quantity> quantity_at(const Json& object, std::string_view key) {
  const Json* member = present(object, key);
  if (!member || !member->is_string()) return std::nullopt;
  const Result<Quantity> quantity = parse_quantity(member->as_string());
  return quantity ? std::optional(*quantity) : std::nullopt;
}

FieldErrors check_valid_values(const FieldPath& path, Quantity value_default, Quantity capacity,
                               const JsonArray& values) {
  FieldErrors errors;
  bool found = false;
  if (values.size() > kValidValuesMax) {
    errors.push_back(too_many(path, values.size(), kValidValuesMax));
  } else {
    std::vector<Quantity> before;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Quantity value = parse_quantity(values[i].as_string()).value_or({});
      found = found || value == value_default;
      if (value > capacity)
        errors.push_back(
            invalid(path.index(i), values[i], "option is larger than capacity value: " + capacity.text()));
      if (std::find(before.begin(), before.end(), value) != before.end())
        errors.push_back(duplicate(path.index(i), values[i]));
      else if (!before.empty() && value < before.back())
        errors.push_back(invalid(path.index(i), values[i], "values must be sorted in ascending order"));
      before.push_back(value);
    }
  }
  if (!found)
    errors.push_back(
        invalid(path, value_default.text(), "default value is not valid according to the requestPolicy"));
  return errors;
}

bool fits_millis(Quantity value) {
  return Quantity::millis(value.ceil_millis()) >= value;
}

// Whether `value` is a whole number of steps above `min`.
bool is_on_step(Quantity value, Quantity min, Quantity step, bool in_millis) {
  const auto amount = [&](Quantity of) -> __int128 { return in_millis ? of.ceil_millis() : of.ceil_units(); };
  return (amount(value) - amount(min)) % amount(step) == 0;
}

FieldErrors check_step(const FieldPath& path, Quantity step, Quantity min, std::optional<Quantity> max,
                       Quantity value_default, Quantity capacity, const Gates& gates) {
  if (step <= Quantity()) return {invalid(path, step.text(), "must be greater than zero")};
  FieldErrors errors;
  if (const Quantity first = min + step; first > capacity)
    errors.push_back(
        invalid(path, step.text(),
                "one step " + first.text() + " is larger than capacity value: " + capacity.text()));
  const bool in_millis = gates.enabled("DRAFractionalCapacityRange") && fits_millis(min) &&
                         fits_millis(step) && (!max || fits_millis(*max));
  const auto check_multiple = [&](Quantity value) {
    if (!is_on_step(value, min, step, in_millis))
      errors.push_back(
          invalid(path, value.text(),
                  "value is not a multiple of a given step (" + step.text() + ") from (" + min.text() + ")"));
  };
  check_multiple(value_default);
  if (max) check_multiple(*max);
  return errors;
}

FieldErrors check_valid_range(const FieldPath& path, Quantity value_default, Quantity capacity,
                              const Json& range, const Gates& gates) {
  const std::optional<Quantity> min = quantity_at(range, "min");
  const std::optional<Quantity> max = quantity_at(range, "max");
  FieldErrors errors;
  if (!min) errors.push_back(required(path.child("min"), "required when validRange is defined"));
  if (min && value_default < *min)
    errors.push_back(
        invalid(path.child("default"), value_default.text(), "default is less than min: " + min->text()));
  if (min && *min > capacity)
    errors.push_back(
        invalid(path.child("min"), min->text(), "min is larger than capacity value: " + capacity.text()));
  if (min && max && *min > *max)
    errors.push_back(invalid(path.child("max"), min->text(), "min is larger than max: " + max->text()));
  if (max && *max > capacity)
    errors.push_back(
        invalid(path.child("max"), max->text(), "max is larger than capacity value: " + capacity.text()));
  if (max && value_default > *max)
    errors.push_back(
        invalid(path.child("default"), value_default.text(), "default is more than max: " + max->text()));
  if (const std::optional<Quantity> step = quantity_at(range, "step"); step && min)
    append(errors, check_step(path.child("step"), *step, *min, max, value_default, capacity, gates));
  return errors;
}

}  // namespace

FieldErrors check_request_policy(const std::string& path, const Json& capacity, const Gates& gates) {
  const FieldPath policy_path = FieldPath(path).child("requestPolicy");
  const Json& policy = *present(capacity, "requestPolicy");
  const JsonArray& values = items(&policy, "validValues");
  const Json* range = present(policy, "validRange");
  if (!values.empty() && range)
    return {forbidden(
        policy_path,
        "exactly one policy can be specified, cannot specify \"validValues\" and \"validRange\" at the "
        "same time")};
  if (values.empty() && !range) return {};
  const std::optional<Quantity> value_default = quantity_at(policy, "default");
  const std::string_view what = range ? "validRange" : "validValues";
  if (!value_default)
    return {required(policy_path.child("default"), "required when " + std::string(what) + " is defined")};
  const Quantity whole = quantity_at(capacity, "value").value_or(Quantity());
  return range ? check_valid_range(policy_path.child(what), *value_default, whole, *range, gates)
               : check_valid_values(policy_path.child(what), *value_default, whole, values);
}

}  // namespace berth::api
