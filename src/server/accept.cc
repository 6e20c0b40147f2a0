#include "server/accept.h"

#include <charconv>
#include <optional>

#include "base/ascii.h"

namespace berth::server {
namespace {

// Go's parser takes no other blanks away.
std::string_view without_spaces(std::string_view text) {
  return trimmed(text, " ");
}

// What is before the separator; `rest` becomes what is behind it.
std::string_view next_part(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  const std::string_view part = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return part;
}

// 0 for what is no number.
double quality_of(std::string_view text) {
  double quality = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), quality);
  return error == std::errc() && end == text.data() + text.size() ? quality : 0;
}

std::optional<AcceptClause> clause_of(std::string_view text) {
  AcceptClause clause;
  std::string_view subtype = next_part(text, ';');
  clause.type = without_spaces(next_part(subtype, '/'));
  if (subtype.empty() && clause.type != "*") return std::nullopt;
  if (subtype.find('/') < subtype.size() - 1) return std::nullopt;
  clause.subtype = subtype.empty() ? "*" : without_spaces(next_part(subtype, '/'));
  while (!text.empty()) {
    std::string_view value = next_part(text, ';');
    const std::string_view name = without_spaces(next_part(value, '='));
    if (value.empty() || value.find('=') < value.size() - 1) continue;
    value = next_part(value, '=');
    if (name == "q")
      clause.quality = quality_of(value);
    else
      clause.parameters.emplace_back(name, without_spaces(value));
  }
  return clause;
}

bool is_preferred(const AcceptClause& one, const AcceptClause& other) {
  return one.quality > other.quality || (one.type != "*" && other.type == "*") ||
         (one.subtype != "*" && other.subtype == "*");
}

}  // namespace

const std::string_view* AcceptClause::parameter(std::string_view name) const {
  const std::string_view* found = nullptr;
  for (const auto& [key, value] : parameters)
    if (key == name) found = &value;
  return found;
}

std::vector<AcceptClause> parse_accept(std::string_view header) {
  std::vector<AcceptClause> clauses;
  while (!header.empty() && clauses.size() < kAcceptClausesMax) {
    std::optional<AcceptClause> clause = clause_of(without_spaces(next_part(header, ',')));
    if (!clause) continue;
    clauses.push_back(*std::move(clause));
    // The order is none of a sort: a wildcard of high quality goes behind a type of a low one, and before
    // another of a middle one. Go's sort of few elements inserts one after the other.
    for (std::size_t at = clauses.size() - 1; at > 0 && is_preferred(clauses[at], clauses[at - 1]); --at)
      std::swap(clauses[at], clauses[at - 1]);
  }
  return clauses;
}

bool names_media_type(std::string_view header, std::string_view media_type) {
  while (!header.empty()) {
    std::string_view clause = next_part(header, ',');
    const std::string_view named = without_spaces(next_part(clause, ';'));
    if (named == "*/*" || named == media_type) return true;
  }
  return false;
}

}  // namespace berth::server
