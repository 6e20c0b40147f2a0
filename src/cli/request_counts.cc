#include "cli/request_counts.h"

#include <algorithm>
#include <string_view>

#include "api/metric_table.h"

namespace berth::cli {
namespace {

struct VerbRow {
  std::string_view audited;
  std::string_view counted;
};
// A verb in the audit log, and in kube-apiserver's metrics.
constexpr VerbRow kVerbRows[] = {
    {"create", "POST"}, {"delete", "DELETE"}, {"deletecollection", "DELETECOLLECTION"},
    {"get", "GET"},     {"list", "LIST"},     {"patch", "PATCH"},
    {"update", "PUT"},  {"watch", "WATCH"},
};

std::string_view counted_verb(std::string_view audited) {
  for (const VerbRow& row : kVerbRows)
    if (row.audited == audited) return row.counted;
  return audited;
}

// Removes the text up to `mark` from `text` and returns it.
std::string_view up_to(std::string_view& text, char mark) {
  const std::size_t end = std::min(text.find(mark), text.size());
  const std::string_view component = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return component;
}

}  // namespace

void RequestCounts::count(const server::AuditRecord& record) {
  Row row(record.resource, record.verb, record.code);
  const std::lock_guard lock(mutex_);
  if (rows_.size() < kRequestRowsMax || rows_.contains(row)) ++rows_[std::move(row)];
}

void RequestCounts::write_metrics(MetricsText& text) const {
  text.family(api::family_of(api::Metric::Requests));
  const std::lock_guard lock(mutex_);
  for (const auto& [row, count] : rows_) {
    const auto& [qualified, verb, code] = row;
    std::string_view rest = qualified;
    std::string_view object = up_to(rest, '/');
    const std::string_view resource = up_to(object, '.');
    const std::string code_text = std::to_string(code);
    text.sample({counted_verb(verb), object, resource, rest, code_text}, count);
  }
}

}  // namespace berth::cli
