#include "dra/columns/device_columns.h"

#include <algorithm>
#include <cstring>

#include "dra/columns/mask.h"

namespace berth::dra {
namespace {

constexpr std::size_t kPlansMax = 64;
constexpr std::uint32_t kNoRow = UINT32_MAX;

template <class T>
std::uint32_t read_code(const std::uint8_t* codes, std::uint32_t row) {
  T code;
  std::memcpy(&code, codes + std::size_t{row} * sizeof(T), sizeof(T));
  return code;
}
template <class T>
void write_code(std::uint8_t* codes, std::uint32_t row, std::uint32_t code) {
  const T narrow = static_cast<T>(code);
  std::memcpy(codes + std::size_t{row} * sizeof(T), &narrow, sizeof(T));
}

unsigned width_for(std::uint32_t code) {
  return code <= UINT8_MAX ? 1 : code <= UINT16_MAX ? 2 : 4;
}

}  // namespace

std::uint32_t Column::code(std::uint32_t row) const {
  if (row >= rows()) return kNoValue;
  if (width_ == 1) return codes_[row];
  return width_ == 2 ? read_code<std::uint16_t>(codes_.data(), row)
                     : read_code<std::uint32_t>(codes_.data(), row);
}

void Column::set(std::uint32_t row, std::uint32_t code) {
  if (row >= rows()) {
    if (code == kNoValue) return;
    const std::size_t words = row / kRowsPerWord + 1;
    codes_.resize(words * kRowsPerWord * width_);
    rows_ = static_cast<std::uint32_t>(words * kRowsPerWord);
  }
  if (width_for(code) > width_) widen(width_for(code));
  if (width_ == 1)
    codes_[row] = static_cast<std::uint8_t>(code);
  else if (width_ == 2)
    write_code<std::uint16_t>(codes_.data(), row, code);
  else
    write_code<std::uint32_t>(codes_.data(), row, code);
}

void Column::clear(std::uint32_t begin, std::uint32_t count) {
  const std::uint32_t end = std::min(begin + count, rows());
  if (begin < end) std::memset(codes_.data() + std::size_t{begin} * width_, 0, (end - begin) * width_);
}

void Column::widen(unsigned width) {
  std::vector<std::uint8_t> wide(std::size_t{rows()} * width);
  for (std::uint32_t row = 0; row < rows(); ++row)
    width == 2 ? write_code<std::uint16_t>(wide.data(), row, code(row))
               : write_code<std::uint32_t>(wide.data(), row, code(row));
  codes_ = std::move(wide);
  width_ = width;
}

void Column::drop_unused_values() {
  std::vector<std::uint32_t> moved(values_.size(), kNoValue);
  Dictionary kept;
  Column fresh(name_);
  for (std::uint32_t row = 0; row < rows(); ++row) {
    const std::uint32_t old = code(row);
    if (old == kNoValue) continue;
    if (moved[old] == kNoValue) moved[old] = kept.add(values_.key_at(old), values_.at(old));
    fresh.set(row, moved[old]);
  }
  values_ = std::move(kept);
  codes_ = std::move(fresh.codes_);
  width_ = fresh.width_;
  rows_ = fresh.rows_;
  ++epoch_;
}

SliceRows::~SliceRows() {
  if (owner_) owner_->retire(begin_, count_);
}

DeviceColumns::DeviceColumns() : changes_(kChangesMax) {
  column_for(cel::kDeviceDriver, "", "");
  column_for(cel::kDeviceAllowMultipleAllocations, "", "");
}

const Column* DeviceColumns::find(const cel::AttributeRef& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

Column* DeviceColumns::column_for(cel::DeviceField field, const std::string& driver,
                                  const std::string& name) {
  const std::size_t slash = name.find('/');
  cel::AttributeRef reading{field, slash == std::string::npos ? driver : name.substr(0, slash),
                            slash == std::string::npos ? name : name.substr(slash + 1)};
  const auto found = by_name_.find(reading);
  if (found != by_name_.end()) return found->second;
  if (columns_.size() >= kColumnsMax) {
    left_some_out_ = true;
    return nullptr;
  }
  columns_.push_back(std::make_unique<Column>(reading));
  return by_name_.emplace(std::move(reading), columns_.back().get()).first->second;
}

Column* DeviceColumns::planned(std::vector<std::pair<std::string, Column*>>& plan, std::size_t position,
                               cel::DeviceField field, const std::string& driver, const std::string& name) {
  if (position < plan.size() && same_text(plan[position].first, name)) return plan[position].second;
  if (position >= plan.size()) plan.resize(position + 1);
  plan[position] = {name, column_for(field, driver, name)};
  return plan[position].second;
}

template <class MakeValue>
void DeviceColumns::put(Column& column, std::uint32_t row, const ValueKey& key, MakeValue make) {
  std::uint32_t code = column.values_.find(key);
  if (code == kNoValue) {
    std::optional<cel::Value> value = make();
    if (!value) return;
    code = column.values_.add(key, std::move(*value));
  }
  column.set(row, code);
}

void DeviceColumns::encode(const api::ResourceSlice& slice, const api::Device& device, Plan& plan,
                           std::uint32_t row, std::uint32_t row_before) {
  const auto unchanged = [&](Column& column, const auto& value) {
    const std::uint32_t code = row_before == kNoRow ? kNoValue : column.code(row_before);
    if (code == kNoValue || !column.values_.holds(code, value)) return false;
    column.set(row, code);
    return true;
  };
  std::size_t position = 0;
  for (const auto& [name, value] : device.attributes) {
    Column* column = planned(plan.attributes, position++, cel::kDeviceAttributes, slice.driver, name);
    if (!column || unchanged(*column, value)) continue;
    const ValueKey key = key_of(value, scratch_);
    if (key.form == ValueKey::Form::None) continue;
    const bool itself = key.form != ValueKey::Form::Encoded;
    put(*column, row, key,
        [&] { return itself ? std::optional(cel::Value()) : cel_value(value, Ownership::Owned); });
  }
  position = 0;
  for (const auto& [name, capacity] : device.capacity) {
    Column* column = planned(plan.capacity, position++, cel::kDeviceCapacity, slice.driver, name);
    if (!column || unchanged(*column, capacity.value)) continue;
    put(*column, row, key_of(capacity.value, scratch_),
        [&] { return std::optional(cel::Value::of_quantity(capacity.value)); });
  }
}

SliceRows DeviceColumns::admit(std::shared_ptr<const api::ResourceSlice> slice, const SliceRows* before) {
  const auto count = static_cast<std::uint32_t>(std::min(slice->devices.size(), kSliceDevicesMax));
  const std::uint32_t begin = free_.take(count);
  if (plans_.size() > kPlansMax) plans_.clear();
  Plan& plan = plans_[slice->driver];
  Column &driver = *columns_[0], &multiple = *columns_[1];
  const auto plain = [] { return std::optional(cel::Value()); };
  for (std::uint32_t i = 0; i < count; ++i) {
    const api::Device& device = slice->devices[i];
    const std::uint32_t row = begin + i;
    if (i == 0)
      put(driver, row, {ValueKey::Form::Text, 0, slice->driver}, plain);
    else
      driver.set(row, driver.code(begin));
    if (i > 0 && device.allow_multiple == slice->devices[i - 1].allow_multiple)
      multiple.set(row, multiple.code(row - 1));
    else
      put(multiple, row, {ValueKey::Form::Bool, device.allow_multiple ? 1 : 0, {}}, plain);
    encode(*slice, device, plan, row, before && i < before->count() ? before->begin() + i : kNoRow);
  }
  for (const auto& column : columns_)
    if (column->values_.size() / 2 > free_.in_use() + kSpareValues) column->drop_unused_values();
  changes_[version_ % kChangesMax] = {begin / kRowsPerWord,
                                      (begin + count + kRowsPerWord - 1) / kRowsPerWord};
  ++version_;
  if (count > 0) live_.emplace(begin, Live{std::move(slice), count});
  return SliceRows(*this, begin, count);
}

void DeviceColumns::retire(std::uint32_t begin, std::uint32_t count) {
  if (count == 0) return;
  for (const auto& column : columns_) column->clear(begin, count);
  live_.erase(begin);
  free_.give(begin, count);
}

bool DeviceColumns::changes_since(std::uint64_t version, std::vector<WordRange>& out) const {
  if (version_ - version > kChangesMax) return false;
  for (std::uint64_t v = version; v < version_; ++v) out.push_back(changes_[v % kChangesMax]);
  return true;
}

std::size_t DeviceColumns::bytes() const {
  constexpr std::size_t kMapNode = 64;
  std::size_t total = live_.size() * (kMapNode + sizeof(Live));
  for (const auto& column : columns_) total += column->codes_.capacity() + column->values_.bytes();
  return total;
}

}  // namespace berth::dra
