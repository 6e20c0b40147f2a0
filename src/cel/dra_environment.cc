#include "cel/dra_environment.h"

#include <algorithm>

#include "base/nearest_names.h"
#include "cel/estimate.h"
#include "cel/libraries.h"

namespace berth::cel {

namespace {

constexpr std::uint64_t kDomainSizeMax = 63, kAttributeIdSizeMax = 32, kDeviceEntriesMax = 32,
                        kAttributeTextMax = 64;

// The limits of the DRA API.
const SizedType& device_sizes() {
  static const SizedType kDomain{.elements = kDomainSizeMax}, kId{.elements = kAttributeIdSizeMax};
  static const SizedType kAttribute{.elements = kAttributeTextMax}, kQuantity, kFlag;
  static const SizedType kAttributes{kDeviceEntriesMax, &kId, &kAttribute, true, {}};
  static const SizedType kAmounts{kDeviceEntriesMax, &kId, &kQuantity, false, {}};
  static const SizedType kOfDomains{kDeviceEntriesMax, &kDomain, &kAttributes, false, {}};
  static const SizedType kAmountsOfDomains{kDeviceEntriesMax, &kDomain, &kAmounts, false, {}};
  static const SizedType kDevice{.elements = 0,
                                 .fields = {{"driver", &kDomain},
                                            {"attributes", &kOfDomains},
                                            {"capacity", &kAmountsOfDomains},
                                            {"allowMultipleAllocations", &kFlag}}};
  return kDevice;
}

Environment made_for(DraFeatures features) {
  Environment environment;
  declare_standard_library(environment);
  if (features.list_attributes) environment.declare_functions(list_attribute_rows());
  // In the order of DeviceField.
  std::vector<Field> fields = {
      {"driver", parse_type("string")},
      {"attributes", parse_type(features.list_attributes ? "map(string, map(string, dyn))"
                                                         : "map(string, map(string, any))")},
      {"capacity", parse_type("map(string, map(string, quantity))")}};
  if (features.consumable_capacity) fields.push_back({"allowMultipleAllocations", parse_type("bool")});
  environment.declare_object(std::string(kDeviceTypeName), std::move(fields));
  environment.declare_variable("device", parse_type("device"));
  environment.set_sizes(&device_sizes(), "device");
  return environment;
}

}  // namespace

const Environment& dra_environment() {
  return dra_environment({});
}

const Environment& dra_environment(DraFeatures features) {
  static const Environment kAll = made_for({});
  static const Environment kRestricted[] = {made_for({false, false}), made_for({false, true}),
                                            made_for({true, false})};
  if (features.list_attributes && features.consumable_capacity) return kAll;
  return kRestricted[features.list_attributes ? 2 : features.consumable_capacity ? 1 : 0];
}

namespace {

std::string quoted_list(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "'" : ", '") + name + "'";
  return list;
}

std::string attribute_text(std::string_view domain, std::string_view id) {
  return "device.attributes['" + std::string(domain) + "']." + std::string(id);
}

}  // namespace

std::string unknown_domain_hint(std::string_view domain, std::string_view id, std::string_view driver,
                                std::vector<std::string> domains, const std::vector<std::string>& of_driver) {
  std::string hint =
      "'" + std::string(domain) + "' is read as a domain, and this device has none of that name";
  if (std::find(of_driver.begin(), of_driver.end(), domain) != of_driver.end())
    return hint + "; its driver publishes '" + std::string(domain) + "', so write " +
           attribute_text(driver, domain) + " (a value has no ." + std::string(id) + ")";
  const std::vector<std::string> near = nearest_names(domain, std::move(domains));
  if (!near.empty()) return hint + "; did you mean " + attribute_text(near[0], id) + "?";
  if (domain.find('.') != std::string_view::npos) return hint;
  return hint + "; for an attribute '" + std::string(domain) + "' of the driver write " +
         attribute_text(driver, domain);
}

std::string unknown_id_hint(std::string_view domain, std::string_view id, std::vector<std::string> known) {
  const std::vector<std::string> near = nearest_names(id, known);
  if (!near.empty())
    return "domain '" + std::string(domain) + "' has no '" + std::string(id) +
           "'; nearest: " + quoted_list(near);
  const bool all = known.size() <= kNearestMax;
  if (!all) known.resize(kNearestMax);
  return "domain '" + std::string(domain) + "' has " + quoted_list(known) + (all ? "" : " and others");
}

// Entries of one domain, sorted by name. An unknown domain has no entries.
class DeviceRecord::Domain : public MapSource {
 public:
  explicit Domain(std::string name, const Domains* among = nullptr) : name(std::move(name)), among(among) {}

  std::size_t size() const override { return entries.size(); }
  Value key_at(std::size_t index) const override { return Value::borrow_string(entries[index].first); }
  bool find(const Value& key, Value& out) const override {
    if (!key.is(Kind::String)) return false;
    for (const auto& [id, value] : entries) {
      if (id != key.as_text()) continue;
      out = value;
      return true;
    }
    return false;
  }
  std::string missing_key_hint(const Value& key) const override;
  std::vector<std::string> ids() const {
    std::vector<std::string> known;
    for (const auto& entry : entries) known.push_back(entry.first);
    return known;
  }

  std::string name;
  const Domains* among;  // of an unknown domain: the existing ones
  std::vector<std::pair<std::string, Value>> entries;
};

// Domains, sorted by name.
class DeviceRecord::Domains : public MapSource {
 public:
  std::size_t size() const override { return domains.size(); }
  Value key_at(std::size_t index) const override { return Value::borrow_string(domains[index]->name); }
  bool find(const Value& key, Value& out) const override {
    if (!key.is(Kind::String)) return false;
    for (const auto& domain : domains) {
      if (domain->name != key.as_text()) continue;
      out = Value::borrow_map(*domain);
      return true;
    }
    out = Value::of_map(std::make_shared<Domain>(std::string(key.as_text()), this));
    return true;
  }
  bool contains(const Value& key) const override {
    return key.is(Kind::String) && std::any_of(domains.begin(), domains.end(), [&](const auto& domain) {
             return domain->name == key.as_text();
           });
  }

  std::string driver;
  std::vector<std::shared_ptr<Domain>> domains;
};

std::string DeviceRecord::Domain::missing_key_hint(const Value& key) const {
  if (!key.is(Kind::String)) return {};
  if (!among) return unknown_id_hint(name, key.as_text(), ids());
  std::vector<std::string> known, of_driver;
  for (const auto& domain : among->domains) {
    known.push_back(domain->name);
    if (domain->name == among->driver) of_driver = domain->ids();
  }
  return unknown_domain_hint(name, key.as_text(), among->driver, std::move(known), of_driver);
}

DeviceRecord::DeviceRecord(std::string driver, bool allow_multiple_allocations)
    : driver_(std::move(driver)),
      allow_multiple_allocations_(allow_multiple_allocations),
      attributes_(std::make_shared<Domains>()),
      capacity_(std::make_shared<Domains>()) {
  attributes_->driver = capacity_->driver = driver_;
}

void DeviceRecord::add(Domains& domains, std::string_view name, Value value) {
  const std::size_t slash = name.find('/');
  const std::string domain_name(slash == std::string_view::npos ? std::string_view(driver_)
                                                                : name.substr(0, slash));
  const std::string id(slash == std::string_view::npos ? name : name.substr(slash + 1));
  auto domain =
      std::lower_bound(domains.domains.begin(), domains.domains.end(), domain_name,
                       [](const auto& candidate, const auto& wanted) { return candidate->name < wanted; });
  if (domain == domains.domains.end() || (*domain)->name != domain_name)
    domain = domains.domains.insert(domain, std::make_shared<Domain>(domain_name));
  auto& entries = (*domain)->entries;
  const auto entry = std::lower_bound(entries.begin(), entries.end(), id,
                                      [](const auto& e, const auto& wanted) { return e.first < wanted; });
  if (entry == entries.end() || entry->first != id)
    entries.emplace(entry, id, std::move(value));
  else
    entry->second = std::move(value);
}

void DeviceRecord::add_attribute(std::string_view name, Value value) {
  add(*attributes_, name, std::move(value));
}
void DeviceRecord::add_capacity(std::string_view name, Quantity value) {
  add(*capacity_, name, Value::of_quantity(value));
}

Value DeviceRecord::field(std::size_t index) const {
  switch (index) {
    case kDeviceDriver:
      return Value::borrow_string(driver_);
    case kDeviceAttributes:
      return Value::borrow_map(*attributes_);
    case kDeviceCapacity:
      return Value::borrow_map(*capacity_);
    default:
      return Value::of_bool(allow_multiple_allocations_);
  }
}

}  // namespace berth::cel
