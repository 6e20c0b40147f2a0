#include "dra/pools/constraints.h"

#include <algorithm>

#include "base/known_defects.h"

namespace berth::dra {

bool covers(const api::DeviceConstraint& constraint, std::string_view request, std::string_view full_name) {
  const std::vector<std::string>& requests = constraint.requests;
  if (requests.empty()) return true;
  return std::any_of(requests.begin(), requests.end(),
                     [&](const std::string& name) { return name == request || name == full_name; });
}

bool ConstraintState::add(std::span<const std::uint32_t> values) {
  if (values.empty()) return false;
  const std::size_t begin = values_.size();
  if (!is_match_) {
    for (const std::uint32_t value : values)
      if (taken_[value] && !has(KnownDefect::DistinctKeyedByRequest)) return false;
    for (const std::uint32_t value : values) taken_[value] = 1;
    values_.insert(values_.end(), values.begin(), values.end());
  } else if (marks_.empty()) {
    values_.assign(values.begin(), values.end());
  } else {
    std::size_t mine = marks_.back();
    for (const std::uint32_t value : values) {
      while (mine < begin && values_[mine] < value) ++mine;
      if (mine == begin) break;
      if (values_[mine] == value) values_.push_back(value);
    }
    if (values_.size() == begin) return false;
  }
  marks_.push_back(begin);
  return true;
}

void ConstraintState::undo() {
  if (has(KnownDefect::ListIntersectionNotRestored) && is_match_ && marks_.size() > 1) {
    const auto narrowed = values_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    values_.erase(values_.begin() + static_cast<std::ptrdiff_t>(marks_[marks_.size() - 2]), narrowed);
    return marks_.pop_back();
  }
  if (!is_match_)
    for (std::size_t i = marks_.back(); i < values_.size(); ++i) taken_[values_[i]] = 0;
  values_.resize(marks_.back());
  marks_.pop_back();
}

}  // namespace berth::dra
