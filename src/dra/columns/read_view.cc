#include "dra/columns/read_view.h"

namespace berth::dra {

using cel::Kind;
using cel::Value;

// One domain's entries among the attribute references.
class ReadView::Entries final : public cel::MapSource {
 public:
  std::size_t size() const override { return ids_.size(); }
  Value key_at(std::size_t index) const override { return Value::borrow_string(ids_[index].first); }
  bool find(const Value& key, Value& out) const override {
    if (!key.is(Kind::String)) return false;
    for (const auto& [id, value] : ids_) {
      if (id != key.as_text()) continue;
      if (*value) out = **value;
      return value->has_value();
    }
    return false;
  }
  void add(std::string_view id, const std::optional<Value>& value) { ids_.emplace_back(id, &value); }

 private:
  std::vector<std::pair<std::string_view, const std::optional<Value>*>> ids_;
};

// Every domain is found; one without attribute references is empty.
class ReadView::Domains final : public cel::MapSource {
 public:
  std::size_t size() const override { return domains_.size(); }
  Value key_at(std::size_t index) const override { return Value::borrow_string(domains_[index].first); }
  bool find(const Value& key, Value& out) const override {
    if (!key.is(Kind::String)) return false;
    for (const auto& [domain, entries] : domains_)
      if (domain == key.as_text()) return (out = Value::borrow_map(entries), true);
    out = Value::borrow_map(none_);
    return true;
  }
  Entries& of(std::string_view domain) {
    for (auto& [name, entries] : domains_)
      if (name == domain) return entries;
    return domains_.emplace_back(domain, Entries()).second;
  }

 private:
  std::vector<std::pair<std::string_view, Entries>> domains_;
  Entries none_;
};

ReadView::ReadView(std::span<const cel::AttributeRef> readings)
    : readings_(readings.begin(), readings.end()),
      values_(readings.size()),
      attributes_(std::make_unique<Domains>()),
      capacity_(std::make_unique<Domains>()) {
  for (std::size_t i = 0; i < readings_.size(); ++i) {
    const cel::AttributeRef& reading = readings_[i];
    if (reading.field == cel::kDeviceAttributes)
      attributes_->of(reading.domain).add(reading.id, values_[i]);
    else if (reading.field == cel::kDeviceCapacity)
      capacity_->of(reading.domain).add(reading.id, values_[i]);
  }
}
ReadView::~ReadView() = default;

void ReadView::set(std::size_t reading, std::optional<Value> value) {
  values_[reading] = std::move(value);
}

Value ReadView::field(std::size_t index) const {
  if (index == cel::kDeviceAttributes) return Value::borrow_map(*attributes_);
  if (index == cel::kDeviceCapacity) return Value::borrow_map(*capacity_);
  for (std::size_t i = 0; i < readings_.size(); ++i)
    if (readings_[i].field == index && values_[i]) return *values_[i];
  return Value::error("no such field");
}

}  // namespace berth::dra
