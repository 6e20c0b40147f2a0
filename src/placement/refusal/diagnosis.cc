#include "placement/refusal/diagnosis.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace berth::placement {

void Diagnosis::clear() {
  rows_.clear();
  flat_.clear();
  everywhere_row_ = nullptr;
  everywhere_.clear();
  error_.clear();
  hint_.clear();
  ended_by_ = {};
  unproved_ = {};
}

ReasonId Diagnosis::known(const Reason& row, std::string_view subject, std::string_view second,
                          model::ResourceId resource) {
  std::string both;
  if (!second.empty()) both.append(subject).append("\n").append(second);
  const std::string_view key = second.empty() ? subject : std::string_view(both);
  auto& by_subject = ids_[&row];
  if (const auto found = by_subject.find(key); found != by_subject.end()) return found->second;
  const ReasonId id(static_cast<std::uint32_t>(reasons_.size()));
  reasons_.push_back({&row, with_subjects(row.text, subject, second), std::string(subject), resource});
  by_subject.emplace(key, id);
  return id;
}

ReasonId Diagnosis::reason(const Reason& row, std::string_view subject, std::string_view second) {
  return known(row, subject, second, model::ResourceId::none());
}

ReasonId Diagnosis::lack_of(const Reason& row, model::ResourceId resource, std::string_view resource_name) {
  return known(row, resource_name, {}, resource);
}

void Diagnosis::refuse_everywhere(const Reason& row, std::string_view subject, std::string_view second,
                                  std::string hint) {
  everywhere_row_ = &row;
  everywhere_ = with_subjects(row.text, subject, second);
  hint_ = std::move(hint);
  ended_by_ = row.plugin;
  unproved_ = row.unproved;
}

void Diagnosis::refuse(NodeId node, ReasonId reason) {
  const Reason& row = *reasons_[reason.index()].row;
  if (unproved_.empty()) unproved_ = row.unproved;
  rows_.push_back({node, row.refusal, static_cast<std::uint32_t>(flat_.size()), 1});
  flat_.push_back(reason);
}

void Diagnosis::add_reason(ReasonId reason) {
  BERTH_ASSERT(!rows_.empty(), "a further reason follows a first one");
  const Reason& row = *reasons_[reason.index()].row;
  if (unproved_.empty()) unproved_ = row.unproved;
  rows_.back().refusal = std::max(rows_.back().refusal, row.refusal);
  ++rows_.back().count;
  flat_.push_back(reason);
}

void Diagnosis::fail(std::string_view plugin, std::string message, std::string hint) {
  if (!error_.empty()) return;
  error_ = std::move(message);
  hint_ = std::move(hint);
  ended_by_ = plugin;
}

}  // namespace berth::placement
