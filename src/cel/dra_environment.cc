#include "cel/dra_environment.h"

#include <algorithm>

namespace berth::cel {

const Environment& dra_environment() {
  static const Environment kEnvironment = [] {
    Environment environment;
    declare_standard_library(environment);
    environment.declare_object(std::string(kDeviceTypeName),
                               {{"driver", parse_type("string")},
                                {"attributes", parse_type("map(string, map(string, dyn))")},
                                {"capacity", parse_type("map(string, map(string, quantity))")},
                                {"allowMultipleAllocations", parse_type("bool")}});
    environment.declare_variable("device", parse_type("device"));
    return environment;
  }();
  return kEnvironment;
}

std::string unknown_domain_hint(std::string_view domain, std::string_view id) {
  const std::string read =
      "'" + std::string(domain) + "' is read as a domain, and this device has none of that name";
  if (domain.find('.') != std::string_view::npos) return read;
  return read + "; for an attribute '" + std::string(domain) +
         "' of the driver write device.attributes['<driver>']." + std::string(domain) + " (a value has no ." +
         std::string(id) + ")";
}

std::string unknown_id_hint(std::string_view domain, std::string_view id, std::vector<std::string> known) {
  std::string list;
  for (const std::string& name : nearest_names(id, std::move(known)))
    list += (list.empty() ? "'" : ", '") + name + "'";
  return list.empty() ? "" : "nearest in domain '" + std::string(domain) + "': " + list;
}

// Entries of one domain, in order of their names. An unknown domain is one without entries.
class DeviceRecord::Domain : public MapSource {
 public:
  explicit Domain(std::string name) : name(std::move(name)) {}

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
  std::string missing_key_hint(const Value& key) const override {
    if (!key.is(Kind::String)) return {};
    if (entries.empty()) return unknown_domain_hint(name, key.as_text());
    std::vector<std::string> known;
    for (const auto& entry : entries) known.push_back(entry.first);
    return unknown_id_hint(name, key.as_text(), std::move(known));
  }

  std::string name;
  std::vector<std::pair<std::string, Value>> entries;
};

// Domains in order of their names.
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
    out = Value::of_map(std::make_shared<Domain>(std::string(key.as_text())));
    return true;
  }
  bool contains(const Value& key) const override {
    return key.is(Kind::String) && std::any_of(domains.begin(), domains.end(), [&](const auto& domain) {
             return domain->name == key.as_text();
           });
  }

  std::vector<std::shared_ptr<Domain>> domains;
};

DeviceRecord::DeviceRecord(std::string driver, bool allow_multiple_allocations)
    : driver_(std::move(driver)),
      allow_multiple_allocations_(allow_multiple_allocations),
      attributes_(std::make_shared<Domains>()),
      capacity_(std::make_shared<Domains>()) {}

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
