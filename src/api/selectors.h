// Label and field selectors: their texts, and whether an object is selected.
//
// Immutable once made, any thread. Cost of a match: a lookup for each requirement, no allocation for labels.
// Errors carry the reference's sentence (400 in an API answer).
// Source: k8s.io/apimachinery labels, fields; observed answers of kube-apiserver 1.37.
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

// A selector's text, and the requirements in it, are no longer than this.
inline constexpr std::size_t kSelectorBytesMax = 64 * 1024;

enum class LabelOperator : std::uint8_t { In, NotIn, Exists, DoesNotExist, GreaterThan, LessThan };

// `=` and `!=` are In and NotIn with one value.
struct LabelRequirement {
  std::string key;
  LabelOperator op = LabelOperator::Exists;
  std::vector<std::string> values;  // sorted, each once

  // `value` is the label's, null pointer when the object lacks the label: NotIn and DoesNotExist hold then.
  bool holds(const std::string* value) const;
};

class LabelSelector {
 public:
  // Everything.
  LabelSelector() = default;

  // "a=b,c in (x,y),!d". Empty text selects everything.
  static Result<LabelSelector> parse(std::string_view text);
  // metav1.LabelSelector: {} selects everything, null selects nothing.
  static Result<LabelSelector> of(const Json& selector);

  // `labels` is metadata.labels; null pointer when there is none.
  bool matches(const Json* labels) const;
  bool matches(const std::map<std::string, std::string, std::less<>>& labels) const;

  bool selects_everything() const { return !nothing_ && requirements_.empty(); }
  const std::vector<LabelRequirement>& requirements() const { return requirements_; }

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
  // Everything.
  FieldSelector() = default;

  // Refuses labels that the kind does not offer. Kinds without own labels, custom ones too, offer
  // metadata.name and metadata.namespace; `own` adds a custom kind's selectable fields as plain paths.
  static Result<FieldSelector> parse(std::string_view group, std::string_view kind, std::string_view text,
                                     const std::vector<std::string>& own = {});

  bool matches(const Json& object) const;
  bool selects_everything() const { return requirements_.empty(); }
  const std::vector<FieldRequirement>& requirements() const { return requirements_; }

 private:
  std::vector<FieldRequirement> requirements_;
  std::vector<std::string> paths_;  // by requirement: where the value stands; "a|b": the first that is set
  std::vector<std::string_view> absent_;  // by requirement: what an absent value compares as (literals)
};

// The terms of a field selector's text, not bound to a kind.
Result<std::vector<FieldRequirement>> parse_field_requirements(std::string_view text);

}  // namespace berth::api
