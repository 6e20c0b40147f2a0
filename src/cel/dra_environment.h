// The environment of device selectors: the variable `device` of type kubernetes.DRADevice.
//
// Source: KEP-4381 and KEP-5004 (list attributes), k8s.io/dynamic-resource-allocation/cel.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cel/environment.h"

namespace berth::cel {

inline constexpr std::string_view kDeviceTypeName = "kubernetes.DRADevice";

// The positions of the fields, for ObjectSource::field.
enum DeviceField : std::size_t {
  kDeviceDriver,
  kDeviceAttributes,
  kDeviceCapacity,
  kDeviceAllowMultipleAllocations
};

// For stored expressions and for everything that the scheduler evaluates: all known names. Built once; shared
// by all threads.
const Environment& dra_environment();

// What feature gates remove from new expressions. The version removes nothing: a new expression of 1.37 may
// use what 1.36 understands. The latest library is of 1.34, apart from includes(), which 1.37 gives to all
// expressions and devices have had since 1.36. Gates do not apply to stored expressions.
struct DraFeatures {
  bool list_attributes = true;      // DRAListTypeAttributes: includes(), and macros over an attribute
  bool consumable_capacity = true;  // DRAConsumableCapacity: device.allowMultipleAllocations
};
const Environment& dra_environment(DraFeatures features);

// The hint after "no such key" below a domain that the device lacks: 'type' is read as a domain, and the
// expression that was probably meant. `domains` are the device's, `of_driver` the names in its driver's
// domain.
std::string unknown_domain_hint(std::string_view domain, std::string_view id, std::string_view driver,
                                std::vector<std::string> domains, const std::vector<std::string>& of_driver);
// The hint after "no such key" below a domain that the device has: the nearest names, or some of the existing
// ones.
std::string unknown_id_hint(std::string_view domain, std::string_view id, std::vector<std::string> known);

// A device held as plain lists, for tests, explanations and the command line; the allocator has its own view.
class DeviceRecord : public ObjectSource {
 public:
  explicit DeviceRecord(std::string driver, bool allow_multiple_allocations = false);

  // Splits a qualified name at its first '/'; without one the driver is the domain. The last of two equal
  // names wins.
  void add_attribute(std::string_view name, Value value);
  void add_capacity(std::string_view name, Quantity value);

  std::string_view type_name() const override { return kDeviceTypeName; }
  Value field(std::size_t index) const override;

 private:
  class Domain;
  class Domains;
  void add(Domains& domains, std::string_view name, Value value);

  std::string driver_;
  bool allow_multiple_allocations_;
  std::shared_ptr<Domains> attributes_;
  std::shared_ptr<Domains> capacity_;
};

}  // namespace berth::cel
