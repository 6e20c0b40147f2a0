#include <algorithm>
#include <array>

#include "base/utf8.h"
#include "cel/libraries.h"
#include "cel/regex.h"
#include "cel/times.h"
#include "cel/work.h"

namespace berth::cel {
namespace {

using Args = std::span<Value>;

constexpr std::string_view kLabel = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
constexpr std::string_view kLabelPrefix = "^[a-z0-9][-a-z0-9]*$";
constexpr std::string_view kSubdomain = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
constexpr std::string_view kSubdomainPrefix =
    "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*[-.]?$";

struct Format {
  std::string_view name;
  std::size_t length_max;  // 0: any
  std::string_view pattern;
  std::string_view complaint;
};

constexpr std::array<Format, 13> kFormats = {{
    {"dns1123Label", 63, kLabel,
     "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start "
     "and end with an alphanumeric character"},
    {"dns1123Subdomain", 253, kSubdomain,
     "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and "
     "must start and end with an alphanumeric character"},
    {"dns1035Label", 63, "^[a-z]([-a-z0-9]*[a-z0-9])?$",
     "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
     "character, and end with an alphanumeric character"},
    {"qualifiedName", 0, "^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$",
     "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with "
     "an alphanumeric character"},
    {"dns1123LabelPrefix", 63, kLabelPrefix,
     "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start "
     "and end with an alphanumeric character"},
    {"dns1123SubdomainPrefix", 253, kSubdomainPrefix,
     "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and "
     "must start and end with an alphanumeric character"},
    {"dns1035LabelPrefix", 63, "^[a-z][-a-z0-9]*$",
     "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
     "character, and end with an alphanumeric character"},
    {"labelValue", 63, "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$",
     "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
     "start and end with an alphanumeric character"},
    {"uri", 0, "", "invalid URI"},
    {"uuid", 0, "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$",
     "does not match the UUID format"},
    {"byte", 0, "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$", "invalid base64"},
    {"date", 0, "", "invalid date"},
    {"datetime", 0, "", "invalid datetime"},
}};

class NamedFormat : public ObjectSource {
 public:
  explicit NamedFormat(const Format& format) : format(format) {}
  std::string_view type_name() const override { return "kubernetes.NamedFormat"; }
  bool is_opaque() const override { return true; }
  bool equals(const ObjectSource& other) const override {
    return &format == &static_cast<const NamedFormat&>(other).format;
  }

  const Format& format;
};

Value value_of(const Format& format) {
  return Value::of_object(std::make_shared<NamedFormat>(format));
}

template <std::size_t index>
Value get(Args, Runtime&) {
  return value_of(kFormats[index]);
}

Value named(Args a, Runtime&) {
  for (const Format& format : kFormats)
    if (format.name == a[0].as_text()) return Value::some(value_of(format));
  return Value::none();
}

// Compiled once for the process: they are few, and constant.
const Regex* pattern_of(const Format& format) {
  static const std::vector<std::shared_ptr<const Regex>> kPatterns = [] {
    std::vector<std::shared_ptr<const Regex>> patterns;
    std::string reason;
    for (const Format& row : kFormats) patterns.push_back(Regex::compile(row.pattern, reason));
    return patterns;
  }();
  return kPatterns[static_cast<std::size_t>(&format - std::begin(kFormats))].get();
}

bool is_valid(const Format& format, const Value& text, Runtime& runtime) {
  const std::string written(text.as_text());
  if (format.name == "date") return parse_instant(written + "T00:00:00Z").has_value();
  if (format.name == "datetime") return parse_instant(written).has_value();
  if (format.name == "uri") {
    for (const FunctionRow& row : url_rows())
      if (std::string_view(row.name) == "isURL") {
        std::array<Value, 1> args = {text};
        return row.run(args, runtime).is_true();
      }
  }
  const Regex* regex = pattern_of(format);
  return regex && spend_work(written.size() * regex->size() / kPatternBytesPerStep) &&
         regex->found_in(text.as_text());
}

Value validate(Args a, Runtime& runtime) {
  const Format& format = static_cast<const NamedFormat&>(a[0].as_object()).format;
  std::vector<Value> complaints;
  if (format.length_max > 0 && a[1].as_text().size() > format.length_max)
    complaints.push_back(
        Value::of_string("must be no more than " + std::to_string(format.length_max) + " characters"));
  if (!is_valid(format, a[1], runtime)) complaints.push_back(Value::of_string(std::string(format.complaint)));
  return complaints.empty() ? Value::none() : Value::some(Value::of_list(std::move(complaints)));
}

std::uint64_t validate_cost(std::span<const Extent> a, const Extent&) {
  std::size_t pattern = 0;
  for (const Format& format : kFormats) pattern = std::max(pattern, format.pattern.size());
  if (a[0].value) pattern = static_cast<const NamedFormat&>(a[0].value->as_object()).format.pattern.size();
  return tenth(1 + size_of(a[1])) * ((pattern + 3) / 4);
}

constexpr FunctionRow kNamedFormatsRows[] = {
    {"format.dns1123Label", "() format", get<0>},
    {"format.dns1123Subdomain", "() format", get<1>},
    {"format.dns1035Label", "() format", get<2>},
    {"format.qualifiedName", "() format", get<3>},
    {"format.dns1123LabelPrefix", "() format", get<4>},
    {"format.dns1123SubdomainPrefix", "() format", get<5>},
    {"format.dns1035LabelPrefix", "() format", get<6>},
    {"format.labelValue", "() format", get<7>},
    {"format.uri", "() format", get<8>},
    {"format.uuid", "() format", get<9>},
    {"format.byte", "() format", get<10>},
    {"format.date", "() format", get<11>},
    {"format.datetime", "() format", get<12>},
    {"format.named", "(string) optional(format)", named},
    {"validate", "format.(string) optional(list(string))", validate, validate_cost},
};

}  // namespace

std::span<const FunctionRow> named_format_rows() {
  return kNamedFormatsRows;
}

}  // namespace berth::cel
