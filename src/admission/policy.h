// The admission policies of both phases and their bindings, compiled; and the verdict of a validating one on
// a request (mutation.h: what a mutating one makes of an object).
//
// Immutable once compiled, shared by threads. Bounds: kPolicyVariablesMax, kPolicyVariableNestingMax,
// kPolicyExpressionsMax; CEL's cost of one request as `cost_left` says. Source: KEP-3488 and KEP-3962;
// policy/validating and policy/mutating of k8s.io/apiserver 1.37.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admission/expression.h"
#include "admission/match.h"
#include "admission/match_conditions.h"
#include "admission/review.h"
#include "admission/webhook.h"
#include "base/json.h"

namespace berth::admission {

inline constexpr std::size_t kPolicyVariablesMax = 256;
inline constexpr std::size_t kPolicyVariableNestingMax = 32;  // that read each other; bounds the stack
inline constexpr std::size_t kPolicyExpressionsMax = 1024;    // of one list; further ones are refused
inline constexpr std::uint64_t kPolicyCostMax = 10'000'000;   // of all policies on one request
inline constexpr std::size_t kPolicyMessageBytesMax = 5 * 1024;
inline constexpr std::size_t kPolicyParamsMax = 256;  // of one binding; more are a failure

struct PolicyVariable {
  std::string name;
  Expression expression;
};

struct Validation {
  Expression expression;
  std::optional<Expression> message_expression;
  std::string message, reason;
};

struct AuditExpression {
  std::string key;
  Expression expression;
};

inline constexpr std::string_view kApplyConfiguration = "ApplyConfiguration", kJsonPatch = "JSONPatch";
enum class PatchKind : std::uint8_t { ApplyConfiguration, JsonPatch };

struct Mutation {
  PatchKind kind = PatchKind::ApplyConfiguration;
  Expression expression;
};

// `validations` and `annotations` are of a validating policy, `mutations` of a mutating one.
struct Policy {
  std::string name;
  MatchCriteria match;
  std::string params_version, params_kind;  // paramKind; empty for none
  bool ignores_failures = false;
  MatchConditions conditions;
  std::vector<PolicyVariable> variables;
  std::vector<Validation> validations;
  std::vector<AuditExpression> annotations;
  std::vector<Mutation> mutations;
  bool may_run_again = false;  // reinvocationPolicy IfNeeded
  // One for the conditions, one for each variable, one for what may name all of
  // them: programs refer to them.
  std::deque<cel::Environment> environments;

  bool has_params() const { return !params_kind.empty(); }
};
using PolicyPtr = std::shared_ptr<const Policy>;

struct ParamReference {
  std::string ns, name;
  std::optional<api::LabelSelector> selector;  // in place of `name`
  bool may_be_absent = false;                  // parameterNotFoundAction Allow
};

struct PolicyBinding {
  std::string name, policy;
  MatchCriteria match;
  std::optional<ParamReference> params;
  // validationActions, which a mutating policy has not.
  bool denies = false, warns = false, audits = false;
  Json actions;  // the same as they are written
};

// Stored objects, which have their defaults.
PolicyPtr read_policy(const Json& policy, Phase phase);
// A validating policy for objects of known types; `library` has those and the types of `request`, and
// outlives it.
PolicyPtr read_typed_policy(const Json& policy, const cel::Environment& library, const InputTypes& types);
PolicyBinding read_policy_binding(const Json& binding);

struct PolicyDenial {
  std::size_t index = 0;  // of the validation
  std::string message, reason;
};

struct PolicyVerdict {
  std::vector<PolicyDenial> denials;
  AuditAnnotations annotations;
  std::vector<std::string> annotation_errors;  // each denies, whatever the binding's actions
  std::vector<std::string> ignored;            // failures of conditions and validations that deny nothing
};

// How metrics name what went wrong, by the text of a denial or a failure. A validation that is false is an
// "invalid_error" too, as in the reference.
inline constexpr std::string_view kNoPolicyError = "no_error";
std::string_view policy_error_type(std::string_view message);

// What a validating policy says of one request with one parameter. A failure is a denial
// unless the policy ignores it.
PolicyVerdict judge(const Policy& policy, const ExpressionInputs& inputs, std::uint64_t& cost_left);

}  // namespace berth::admission
