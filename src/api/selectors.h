// Label and field selectors: parsing, and matching objects.
//
// Immutable, any thread. Cost of a match: a lookup for each requirement, no allocation for labels. Errors
// carry the reference's sentence (400 in an API response).
// Source: k8s.io/apimachinery labels, fields; observed responses of kube-apiserver 1.37.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace berth::api {

// The longest selector text, and the longest requirement in it.
inline constexpr std::size_t kSelectorBytesMax = 64 * 1024;

enum class LabelOperator : std::uint8_t { In, NotIn, Exists, DoesNotExist, GreaterThan, LessThan };

// `=` and `!=` are In and NotIn with one value.
struct LabelRequirement {
  std::string key;
  LabelOperator op = LabelOperator::Exists;
  std::vector<std::string> values;  // sorted, each once

  // `value` is the label's, null when the object lacks the label: NotIn and DoesNotExist hold then.
  bool holds(const std::string* value) const;
  friend bool operator==(const LabelRequirement&, const LabelRequirement&) = default;
};

class LabelSelector {
 public:
  // Selects everything.
  LabelSelector() = default;

  // "a=b,c in (x,y),!d". Empty text selects everything.
  static Result<LabelSelector> parse(std::string_view text);
  // metav1.LabelSelector: {} selects everything, null selects nothing.
  static Result<LabelSelector> of(const Json& selector);

  // `labels` is metadata.labels; null when absent.
  bool matches(const Json* labels) const;
  bool matches(const std::map<std::string, std::string, std::less<>>& labels) const;

  // In: objects must have this label as well; NotIn: they must not.
  void also_requires(std::string key, LabelOperator op, std::string value);

  bool selects_everything() const { return !nothing_ && requirements_.empty(); }
  bool selects_nothing() const { return nothing_; }
  const std::vector<LabelRequirement>& requirements() const { return requirements_; }
  // The first In requirement: whatever is selected has this label with one of these values. Null: there is
  // none.
  const LabelRequirement* first_in() const;
  friend bool operator==(const LabelSelector&, const LabelSelector&) = default;

 private:
  std::vector<LabelRequirement> requirements_;
  bool nothing_ = false;
};

struct FieldRequirement {
  std::string label;  // "spec.nodeName"
  std::string value;
  bool equal = true;  // false: `!=`
};

class FieldSelector {
 public:
  // Selects everything.
  FieldSelector() = default;

  // Refuses field labels that the kind does not have. Kinds without field labels of their own, custom ones
  // too, have metadata.name and metadata.namespace; `own` adds a custom kind's selectable fields as plain
  // paths.
  static Result<FieldSelector> parse(std::string_view group, std::string_view kind, std::string_view text,
                                     const std::vector<std::string>& own = {});

  bool matches(const Json& object) const;
  bool selects_everything() const { return requirements_.empty(); }
  const std::vector<FieldRequirement>& requirements() const { return requirements_; }

 private:
  std::vector<FieldRequirement> requirements_;
  std::vector<std::string> paths_;        // by requirement: the value's path; "a|b": the first that is set
  std::vector<std::string_view> absent_;  // by requirement: the value of an absent field (literals)
};

// The requirements of a field selector's text, independent of a kind.
Result<std::vector<FieldRequirement>> parse_field_requirements(std::string_view text);

}  // namespace berth::api
