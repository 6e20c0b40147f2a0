// The expressions of one policy over one state of a request.
//
// Owner: one thread; the policy and what the inputs refer to outlive it. Bounds: kPolicyVariableNestingMax,
// and CEL's cost as `cost_left` says. Source: plugin/cel/composition.go of k8s.io/apiserver 1.37.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "admission/policy.h"

namespace berth::admission {

// What an expression is answered with once nothing of the cost is left.
inline constexpr std::string_view kOutOfBudget =
    "validation failed due to running out of cost budget, no further validation rules will be run";

// The values of variables, each evaluated when it is first read.
class LazyVariables final : public cel::MapSource {
 public:
  LazyVariables(const Policy& policy, std::uint64_t& cost_left)
      : policy_(policy), cost_left_(cost_left), values_(policy.variables.size()) {}
  // `values` are those of every expression, these variables among them.
  void use(std::span<const cel::Value> values) { inputs_ = values; }

  std::size_t size() const override { return values_.size(); }
  cel::Value key_at(std::size_t index) const override;
  bool find(const cel::Value& key, cel::Value& out) const override;

 private:
  cel::Value value_at(std::size_t index) const;
  cel::Value evaluated(const PolicyVariable& variable) const;

  const Policy& policy_;
  std::uint64_t& cost_left_;
  std::span<const cel::Value> inputs_;
  mutable std::vector<std::optional<cel::Value>> values_;
  mutable std::size_t open_ = 0;  // variables that are being evaluated
};

class PolicyEvaluation {
 public:
  PolicyEvaluation(const Policy& policy, const ExpressionInputs& inputs, std::uint64_t& cost_left);
  PolicyEvaluation(const PolicyEvaluation&) = delete;

  // The value, which may refer to the inputs and to this. Nothing, and `why`, when there is none.
  std::optional<cel::Value> value_of(const Expression& expression, std::string& why);
  bool is_out_of_budget() const { return is_out_of_budget_; }

 private:
  std::uint64_t& cost_left_;
  LazyVariables variables_;
  std::vector<cel::Value> values_;
  bool is_out_of_budget_ = false;
};

}  // namespace berth::admission
