#include "crd/label_text.h"

#include <algorithm>

#include "base/ascii.h"

namespace berth::crd {

api::NameProblems label_problems(std::string_view text) {
  const bool shaped =
      !text.empty() && is_lower(text.front()) && text.back() != '-' &&
      std::all_of(text.begin(), text.end(), [](char c) { return is_lower_or_digit(c) || c == '-'; });
  api::NameProblems problems;
  if (text.size() > api::kDnsLabelBytesMax)
    problems.push_back("must be no more than " + std::to_string(api::kDnsLabelBytesMax) + " characters");
  if (!shaped)
    problems.emplace_back(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
        "alphabetic "
        "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "
        "validation is '[a-z]([-a-z0-9]*[a-z0-9])?')");
  return problems;
}

}  // namespace berth::crd
