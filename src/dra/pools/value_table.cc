#include "dra/pools/value_table.h"

#include <algorithm>

namespace berth::dra {

const api::AttributeValue* attribute_of(const api::Device& device, std::string_view driver,
                                        std::string_view name) {
  const auto found = device.attributes.find(std::string(name));
  if (found != device.attributes.end()) return &found->second;
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos || name.substr(0, slash) != driver) return nullptr;
  const auto bare = device.attributes.find(std::string(name.substr(slash + 1)));
  return bare == device.attributes.end() ? nullptr : &bare->second;
}

const std::string* ValueTable::error(std::uint32_t variant, std::size_t device) const {
  const std::size_t place = variant * devices_ + device;
  const auto found = std::lower_bound(errors_.begin(), errors_.end(), place,
                                      [](const auto& error, std::size_t at) { return error.first < at; });
  return found != errors_.end() && found->first == place ? &found->second : nullptr;
}

void ValueTable::Builder::add_item(char kind, std::string_view text) {
  key_.assign(1, kind);
  key_ += text;
  const auto [at, added] = numbers_.try_emplace(key_, table_.value_count_);
  if (added) ++table_.value_count_;
  table_.ids_.push_back(at->second);
}

struct ValueTable::Builder::Adder {
  Builder& to;
  void operator()(std::monostate) const {}
  void operator()(std::int64_t number) const { to.add_item('i', std::to_string(number)); }
  void operator()(bool truth) const { to.add_item('b', truth ? "1" : "0"); }
  void operator()(const std::string& text) const { to.add_item('s', text); }
  void operator()(const api::AttributeVersion& version) const { to.add_item('v', version.text); }
  template <class T>
  void operator()(const std::vector<T>& list) const {
    for (auto&& item : list) (*this)(T(item));
  }
};

void ValueTable::Builder::add(const api::AttributeValue* value) {
  constexpr std::size_t kScalars = 5;  // of AttributeValue, the empty one included; lists follow
  const auto first = static_cast<std::uint32_t>(table_.ids_.size());
  if (value && (value->index() < kScalars || lists_ == ListAttributes::AsSets))
    std::visit(Adder{*this}, *value);
  const auto begin = table_.ids_.begin() + first;
  std::sort(begin, table_.ids_.end());
  table_.ids_.erase(std::unique(begin, table_.ids_.end()), table_.ids_.end());
  table_.entries_.push_back({first, static_cast<std::uint32_t>(table_.ids_.size()) - first});
}

void ValueTable::Builder::add_error(std::string text) {
  table_.errors_.emplace_back(table_.entries_.size(), std::move(text));
  table_.entries_.push_back({});
}

}  // namespace berth::dra
