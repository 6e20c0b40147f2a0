// Its functions are part of every environment, as in Kubernetes; the variable `authorizer` is declared where
// requests are admitted. Costs: cost.go of the same library.
#include "cel/authorization.h"

#include <memory>

#include "base/ascii.h"
#include "cel/environment.h"
#include "cel/libraries.h"
#include "cel/limits.h"

namespace berth::cel {
namespace {

using Extents = std::span<const Extent>;
using Operands = std::span<Value>;

constexpr std::string_view kAuthorizerType = "kubernetes.authorization.Authorizer";
constexpr std::string_view kResourceCheckType = "kubernetes.authorization.ResourceCheck";

std::uint64_t check_cost(Extents, const Extent&) {
  constexpr std::uint64_t kCheckCost = 350000;  // leaves room for two
  return kCheckCost;
}

// A list, its text read once, and a requirement (a list and a struct) for every second character.
std::uint64_t selector_cost(Extents a, const Extent&) {
  constexpr std::uint64_t kRequirementCost = 50;
  const std::uint64_t size = size_of(a[1]);
  return kListCost + tenth(size) + (size / 2 + size % 2) * kRequirementCost;
}

// An authorizer, or a check on its way to a decision: what has been asked so far.
class Check final : public ObjectSource {
 public:
  Check(std::string_view type, const Authorizer& authorizer, AccessQuestion question)
      : type_(type), authorizer_(authorizer), question_(std::move(question)) {}

  std::string_view type_name() const override { return type_; }
  bool is_opaque() const override { return type_ != kAuthorizerType; }
  bool equals(const ObjectSource& other) const override { return &other == this; }
  // requestResource, the one field of an authorizer.
  Value field(std::size_t) const override {
    return Value::of_object(std::make_shared<Check>(kResourceCheckType, authorizer_, question_));
  }

  Value next(std::string_view type, std::string AccessQuestion::* member, std::string_view value) const {
    AccessQuestion question = question_;
    question.*member = value;
    return Value::of_object(std::make_shared<Check>(type, authorizer_, std::move(question)));
  }
  // A check of something else than the request's resource, for the same account.
  Value begin(std::string_view type, std::string AccessQuestion::* member, std::string_view value) const {
    AccessQuestion question;
    question.account_ns = question_.account_ns;
    question.account = question_.account;
    question.*member = value;
    return Value::of_object(std::make_shared<Check>(type, authorizer_, std::move(question)));
  }
  Value as_account(std::string_view ns, std::string_view name) const {
    AccessQuestion question = question_;
    question.account_ns = ns;
    question.account = name;
    return Value::of_object(std::make_shared<Check>(kAuthorizerType, authorizer_, std::move(question)));
  }
  AccessAnswer answer(std::string_view verb) const {
    AccessQuestion question = question_;
    question.verb = verb;
    return authorizer_.answer(question);
  }

 private:
  const std::string_view type_;
  const Authorizer& authorizer_;
  const AccessQuestion question_;
};

class Decision final : public ObjectSource {
 public:
  explicit Decision(AccessAnswer answer) : answer(std::move(answer)) {}
  std::string_view type_name() const override { return "kubernetes.authorization.Decision"; }
  bool is_opaque() const override { return true; }
  bool equals(const ObjectSource& other) const override { return &other == this; }

  const AccessAnswer answer;
};

const Check& check_of(const Value& value) {
  return static_cast<const Check&>(value.as_object());
}
const AccessAnswer& answer_of(const Value& value) {
  return static_cast<const Decision&>(value.as_object()).answer;
}

Value path_check(Operands a, Runtime&) {
  if (trimmed(a[1].as_text()).empty()) return Value::error("path must not be empty");
  return check_of(a[0]).begin("kubernetes.authorization.PathCheck", &AccessQuestion::path, a[1].as_text());
}
Value group_check(Operands a, Runtime&) {
  return check_of(a[0]).begin("kubernetes.authorization.GroupCheck", &AccessQuestion::group, a[1].as_text());
}
Value account_of(Operands a, Runtime&) {
  if (a[2].as_text().empty()) return Value::error("Invalid service account name");
  if (a[1].as_text().empty()) return Value::error("Invalid service account namespace");
  return check_of(a[0]).as_account(a[1].as_text(), a[2].as_text());
}
Value resource_check(Operands a, Runtime&) {
  if (trimmed(a[1].as_text()).empty()) return Value::error("resource must not be empty");
  return check_of(a[0]).next(kResourceCheckType, &AccessQuestion::resource, a[1].as_text());
}
Value with_subresource(Operands a, Runtime&) {
  return check_of(a[0]).next(kResourceCheckType, &AccessQuestion::subresource, a[1].as_text());
}
Value in_namespace(Operands a, Runtime&) {
  return check_of(a[0]).next(kResourceCheckType, &AccessQuestion::ns, a[1].as_text());
}
Value with_name(Operands a, Runtime&) {
  return check_of(a[0]).next(kResourceCheckType, &AccessQuestion::name, a[1].as_text());
}
// Roles decide without selectors.
Value with_selector(Operands a, Runtime&) {
  return a[0];
}
Value decision(Operands a, Runtime&) {
  return Value::of_object(std::make_shared<Decision>(check_of(a[0]).answer(a[1].as_text())));
}
Value errored(Operands, Runtime&) {
  return Value::of_bool(false);
}
Value error(Operands, Runtime&) {
  return Value::of_string("");
}
Value allowed(Operands a, Runtime&) {
  return Value::of_bool(answer_of(a[0]).allowed);
}
Value reason(Operands a, Runtime&) {
  return Value::of_string(answer_of(a[0]).reason);
}

constexpr FunctionRow kAuthorizationRows[] = {
    {"path", "authorizer.(string) path_check", path_check},
    {"group", "authorizer.(string) group_check", group_check},
    {"serviceAccount", "authorizer.(string, string) authorizer", account_of},
    {"resource", "group_check.(string) resource_check", resource_check},
    {"subresource", "resource_check.(string) resource_check", with_subresource},
    {"namespace", "resource_check.(string) resource_check", in_namespace},
    {"name", "resource_check.(string) resource_check", with_name},
    {"fieldSelector", "resource_check.(string) resource_check", with_selector, selector_cost},
    {"labelSelector", "resource_check.(string) resource_check", with_selector, selector_cost},
    {"check", "path_check.(string) decision", decision, check_cost},
    {"check", "resource_check.(string) decision", decision, check_cost},
    {"errored", "decision.() bool", errored},
    {"error", "decision.() string", error},
    {"allowed", "decision.() bool", allowed},
    {"reason", "decision.() string", reason},
};

}  // namespace

std::span<const FunctionRow> authorization_rows() {
  return kAuthorizationRows;
}

Value authorizer_value(const Authorizer& authorizer, AccessQuestion request_resource) {
  return Value::of_object(std::make_shared<Check>(kAuthorizerType, authorizer, std::move(request_resource)));
}

void declare_authorizer(Environment& environment) {
  environment.declare_object(std::string(kAuthorizerType),
                             {{"requestResource", parse_type("resource_check")}});
  environment.declare_variable("authorizer", parse_type("authorizer"));
}

}  // namespace berth::cel
