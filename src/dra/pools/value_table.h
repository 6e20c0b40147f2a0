// The values of one attribute on all devices of a node, as small numbers: equal values have equal numbers.
//
// Owner: the node's NodeDevices. Built once per attribute and version of the node's slices. Lists are sets
// (KEP-5491); a scalar is a set of one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/types/dra.h"

namespace berth::dra {

// The attribute of the exact name, else of its bare id when its domain is the device's driver. Null when
// absent.
const api::AttributeValue* attribute_of(const api::Device& device, std::string_view driver,
                                        std::string_view name);

enum class ListAttributes : std::uint8_t { Refused, AsSets };

// A device can have several values for one name: its own (variant 0), and the results of derived attributes
// of that name.
class ValueTable {
 public:
  // `devices`: the number of flat device numbers.
  ValueTable(std::string key, std::size_t devices) : key_(std::move(key)), devices_(devices) {}

  const std::string& key() const { return key_; }
  // Sorted. Empty: the device has no such attribute, or one of a kind that cannot be compared.
  std::span<const std::uint32_t> ids(std::uint32_t variant, std::size_t device) const {
    const ValueSpan& entry = entries_[variant * devices_ + device];
    return std::span(ids_).subspan(entry.first, entry.count);
  }
  // Why a derived attribute has no value; null when it has one.
  const std::string* error(std::uint32_t variant, std::size_t device) const;
  bool has_errors() const { return !errors_.empty(); }
  // All value numbers are below this.
  std::uint32_t value_count() const { return value_count_; }

  // Fills the table: one variant after the other, the devices of each in order.
  class Builder {
   public:
    Builder(ValueTable& table, ListAttributes lists) : table_(table), lists_(lists) {}
    // Null: the device has no such attribute.
    void add(const api::AttributeValue* value);
    void add_error(std::string text);

   private:
    struct Adder;
    void add_item(char kind, std::string_view text);

    ValueTable& table_;
    ListAttributes lists_;
    std::unordered_map<std::string, std::uint32_t> numbers_;
    std::string key_;  // scratch
  };

 private:
  struct ValueSpan {
    std::uint32_t first = 0, count = 0;
  };
  std::string key_;
  std::size_t devices_;
  std::uint32_t value_count_ = 0;
  std::vector<ValueSpan> entries_;
  std::vector<std::uint32_t> ids_;
  std::vector<std::pair<std::size_t, std::string>> errors_;  // by position in entries_, ascending
};

// The tables of a request's constraints, by claim and constraint.
using ConstraintValues = std::vector<std::vector<const ValueTable*>>;

}  // namespace berth::dra
