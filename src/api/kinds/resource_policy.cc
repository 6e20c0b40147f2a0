#include <limits>
#include <optional>
#include <set>
#include <vector>

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

// Whether amounts are compared in thousandths: only the gate enables fractions.
bool knows_fractions(const Gates& gates) {
  return gates.enabled("DRAFractionalCapacityRange");
}

// The identity of an amount, as the reference prints it.
std::string amount_key(Quantity value, const Gates& gates) {
  if (!knows_fractions(gates) || value.is_integer()) return std::to_string(value.ceil_units());
  const std::string millis = std::to_string(value.ceil_millis());
  const std::size_t whole = millis.size() > 3 ? millis.size() - 3 : 0;
  return (whole > 0 ? millis.substr(0, whole) : "0") + "." +
         (whole > 0 ? millis.substr(whole) : std::string(3 - millis.size(), '0') + millis);
}

FieldErrors check_valid_values(const FieldPath& path, Quantity value_default, Quantity capacity,
                               const JsonArray& texts, const Gates& gates) {
  FieldErrors errors;
  std::vector<Quantity> values;
  for (const Json& text : texts) values.push_back(parse_quantity(text.as_string()).value_or({}));
  for (std::size_t i = 1; i < values.size(); ++i)
    if (values[i - 1] > values[i])
      errors.push_back(invalid(path.index(i), values[i].text(), "values must be sorted in ascending order"));
  bool found = false;
  if (values.size() > kValidValuesMax) {
    errors.push_back(too_many(path, values.size(), kValidValuesMax));
    values.clear();
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    found = found || values[i] == value_default;
    if (values[i] > capacity)
      errors.push_back(invalid(path.index(i), values[i].text(),
                               "option is larger than capacity value: " + capacity.text()));
  }
  std::set<std::string> keys;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (std::string key = amount_key(values[i], gates); !keys.insert(key).second)
      errors.push_back(duplicate(path.index(i), std::move(key)));
  if (!found)
    errors.push_back(
        invalid(path, value_default.text(), "default value is not valid according to the requestPolicy"));
  return errors;
}

// A range of amounts; omitted bounds are absent.
struct AmountRange {
  Quantity value_default;
  std::optional<Quantity> min, max, step;

  // In the order of the reference's reports.
  template <class Visit>
  void for_each(Visit visit) const {
    visit("default", value_default);
    if (min) visit("min", *min);
    if (max) visit("max", *max);
    if (step) visit("step", *step);
  }
};

bool fits_millis(Quantity value) {
  return Quantity::millis(value.ceil_millis()) == value;
}

bool fits_units(Quantity value) {
  return value <= Quantity::of(std::numeric_limits<std::int64_t>::max());
}

FieldErrors check_bounds(const FieldPath& path, const AmountRange& range, Quantity capacity) {
  FieldErrors errors;
  const auto refuse = [&](std::string_view name, Quantity value, std::string_view why, Quantity limit) {
    errors.push_back(invalid(path.child(name), value.text(), std::string(why) + limit.text()));
  };
  const Quantity min = *range.min;
  if (min > capacity) refuse("min", min, "min is larger than capacity value: ", capacity);
  if (range.value_default < min) refuse("default", range.value_default, "default is less than min: ", min);
  if (!range.max) return errors;
  if (min > *range.max) refuse("max", min, "min is larger than max: ", *range.max);
  if (*range.max > capacity) refuse("max", *range.max, "max is larger than capacity value: ", capacity);
  if (range.value_default > *range.max)
    refuse("default", range.value_default, "default is more than max: ", *range.max);
  return errors;
}

// Amounts that 64 bits cannot hold, as units or as thousandths.
FieldErrors check_representable(const FieldPath& path, const AmountRange& range, bool in_millis) {
  FieldErrors errors;
  range.for_each([&](std::string_view name, Quantity value) {
    if (in_millis && !fits_millis(value))
      errors.push_back(
          invalid(path.child(name), value.text(), "value cannot be represented as a milli value"));
    if (!in_millis && value.is_negative())
      errors.push_back(invalid(path.child(name), value.text(), "must be greater than or equal to 0"));
    if (!in_millis && !fits_units(value))
      errors.push_back(
          invalid(path.child(name), value.text(), "must not be larger than 9223372036854775807"));
  });
  return errors;
}

FieldErrors check_step(const FieldPath& path, const AmountRange& range, Quantity capacity, bool in_millis) {
  const FieldPath at = path.child("step");
  const Quantity step = *range.step;
  const Quantity min = *range.min;
  if (step <= Quantity()) return {invalid(at, step.text(), "must be greater than zero")};
  FieldErrors errors;
  if (const Quantity first = min + step; first > capacity)
    errors.push_back(invalid(
        at, step.text(), "one step " + first.text() + " is larger than capacity value: " + capacity.text()));
  if (!in_millis) {
    FieldErrors unfit = check_representable(path, range, in_millis);
    const bool stop = !unfit.empty();
    append(errors, std::move(unfit));
    if (stop) return errors;
  }
  const auto amount = [&](Quantity of) -> __int128 { return in_millis ? of.ceil_millis() : of.ceil_units(); };
  for (const std::optional<Quantity>& value : {std::optional(range.value_default), range.max})
    if (value && (amount(*value) - amount(min)) % amount(step) != 0)
      errors.push_back(
          invalid(at, value->text(),
                  "value is not a multiple of a given step (" + step.text() + ") from (" + min.text() + ")"));
  return errors;
}

FieldErrors check_valid_range(const FieldPath& path, const AmountRange& range, Quantity capacity,
                              const Gates& gates) {
  if (!range.min) return {required(path.child("min"), "required when validRange is defined")};
  FieldErrors errors = check_bounds(path, range, capacity);
  bool fractional = false;
  range.for_each([&](std::string_view, Quantity value) { fractional |= !value.is_integer(); });
  const bool in_millis = fractional && knows_fractions(gates);
  if (in_millis) {
    FieldErrors unfit = check_representable(path, range, in_millis);
    const bool stop = !unfit.empty();
    append(errors, std::move(unfit));
    if (stop) return errors;
  }
  if (range.step) append(errors, check_step(path, range, capacity, in_millis));
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
  if (!range) return check_valid_values(policy_path.child(what), *value_default, whole, values, gates);
  const AmountRange amounts{*value_default, quantity_at(*range, "min"), quantity_at(*range, "max"),
                            quantity_at(*range, "step")};
  return check_valid_range(policy_path.child(what), amounts, whole, gates);
}

}  // namespace berth::api
