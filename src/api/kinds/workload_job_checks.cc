// Validation of a Job's spec.
//
// Source: k8s.io/kubernetes pkg/apis/batch/validation (1.37); the order of the errors is that of the source.
#include <algorithm>
#include <optional>
#include <set>

#include "api/kinds/core_parts.h"
#include "api/kinds/pod.h"
#include "api/kinds/workload_kinds.h"
#include "api/names.h"
#include "api/selectors.h"
#include "api/types/meta.h"

namespace berth::api {
namespace {

constexpr std::int64_t kIndexedParallelismMax = 100'000, kFailedIndexesMax = 100'000;
// Beyond so many completions with a limit for each index, both others are lower.
constexpr std::int64_t kCompletionsWithoutLimits = 100'000;
constexpr std::int64_t kParallelismMax = 10'000, kFailedIndexesOfManyMax = 10'000;
constexpr std::size_t kFailureRulesMax = 20, kExitCodesMax = 255, kConditionPatternsMax = 20;
constexpr std::size_t kSuccessRulesMax = 20, kSucceededIndexesBytesMax = 64u << 10;
constexpr std::size_t kManagedByBytesMax = 63;

FieldErrors check_manager(const FieldPath& path, std::string_view manager) {
  const std::size_t slash = manager.find('/');
  FieldErrors errors;
  if (manager.empty())
    errors.push_back(required(path));
  else if (slash == std::string_view::npos || slash == 0 || slash + 1 == manager.size())
    errors.push_back(invalid(path, manager, "must be a domain-prefixed path (such as \"acme.io/foo\")"));
  else
    append(errors, check_format(path, manager.substr(0, slash), dns_subdomain_problems));
  if (manager.size() > kManagedByBytesMax) errors.push_back(too_long(path, kManagedByBytesMax));
  return errors;
}

std::string at_most(std::int64_t most, std::string_view rest = "") {
  return "must be less than or equal to " + std::to_string(most) + std::string(rest);
}

FieldErrors check_many_completions(const FieldPath& path, const Json& spec, const Json* failed_max) {
  const Json* parallelism = present(spec, "parallelism");
  const std::string beyond = std::to_string(kCompletionsWithoutLimits);
  const std::string rest = " when completions are above " + beyond + " and used with backoff limit per index";
  FieldErrors errors;
  if (!failed_max)
    errors.push_back(
        required(path.child("maxFailedIndexes"), "must be specified when completions is above " + beyond));
  if (parallelism && parallelism->as_int() > kParallelismMax)
    errors.push_back(invalid(path.child("parallelism"), *parallelism, at_most(kParallelismMax, rest)));
  if (failed_max && failed_max->as_int() > kFailedIndexesOfManyMax)
    errors.push_back(
        invalid(path.child("maxFailedIndexes"), *failed_max, at_most(kFailedIndexesOfManyMax, rest)));
  return errors;
}

FieldErrors check_indexes(const FieldPath& path, const Json& spec) {
  const Json* completions = present(spec, "completions");
  const Json* parallelism = present(spec, "parallelism");
  const Json* failed_max = present(spec, "maxFailedIndexes");
  FieldErrors errors;
  if (!completions) errors.push_back(required(path.child("completions"), "when completion mode is Indexed"));
  if (parallelism && parallelism->as_int() > kIndexedParallelismMax)
    errors.push_back(invalid(path.child("parallelism"), *parallelism,
                             at_most(kIndexedParallelismMax, " when completion mode is Indexed")));
  if (completions && failed_max && failed_max->as_int() > completions->as_int())
    errors.push_back(
        invalid(path.child("maxFailedIndexes"), *failed_max, "must be less than or equal to completions"));
  if (failed_max && failed_max->as_int() > kFailedIndexesMax)
    errors.push_back(invalid(path.child("maxFailedIndexes"), *failed_max, at_most(kFailedIndexesMax)));
  if (completions && completions->as_int() > kCompletionsWithoutLimits &&
      present(spec, "backoffLimitPerIndex"))
    append(errors, check_many_completions(path, spec, failed_max));
  return errors;
}

FieldErrors check_completion_mode(const FieldPath& path, const Json& spec) {
  const std::string_view mode = spec.string_at("completionMode");
  FieldErrors errors;
  if (!mode.empty())
    append(errors, check_one_of(path.child("completionMode"), mode, {"NonIndexed", "Indexed"}));
  if (mode == "Indexed") append(errors, check_indexes(path, spec));
  if (!mode.empty() && mode != "NonIndexed") return errors;
  for (std::string_view key : {"backoffLimitPerIndex", "maxFailedIndexes"})
    if (const Json* limit = present(spec, key))
      errors.push_back(invalid(path.child(key), *limit, "requires indexed completion mode"));
  return errors;
}

// Of the pod template, with init containers.
using ContainerNames = std::set<std::string_view>;

ContainerNames container_names(const Json& spec) {
  const Json* pod = present_at(spec, {"template", "spec"});
  ContainerNames names;
  for (std::string_view list : {"containers", "initContainers"})
    for (const Json& container : items(pod, list)) names.insert(container.string_at("name"));
  return names;
}

FieldErrors check_exit_codes(const FieldPath& path, const Json& codes, const ContainerNames& containers) {
  const std::string_view way = codes.string_at("operator");
  FieldErrors errors;
  if (way.empty())
    errors.push_back(required(path.child("operator"), R"(valid values: ["In" "NotIn"])"));
  else
    append(errors, check_one_of(path.child("operator"), way, {"In", "NotIn"}));
  if (const Json* name = present(codes, "containerName"); name && !containers.contains(name->as_string()))
    errors.push_back(invalid(path.child("containerName"), *name,
                             "must be one of the container or initContainer names in the pod template"));
  const FieldPath at = path.child("values");
  const JsonArray& values = items(&codes, "values");
  if (values.empty())
    errors.push_back(invalid(at, codes.part("values"), "at least one value is required"));
  else if (values.size() > kExitCodesMax)
    errors.push_back(too_many(at, values.size(), kExitCodesMax));
  std::set<std::int64_t> seen;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t value = values[i].is_int() ? values[i].as_int() : 0;
    if (way == "In" && value == 0)
      errors.push_back(invalid(at.index(i), values[i], "must not be 0 for the In operator"));
    if (!seen.insert(value).second) errors.push_back(duplicate(at.index(i), values[i]));
  }
  const auto less = [](const Json& a, const Json& b) {
    return a.is_int() && b.is_int() && a.as_int() < b.as_int();
  };
  if (!std::is_sorted(values.begin(), values.end(), less))
    errors.push_back(invalid(at, values, "must be ordered"));
  return errors;
}

FieldErrors check_patterns(const FieldPath& path, const JsonArray& patterns) {
  FieldErrors errors;
  if (patterns.size() > kConditionPatternsMax)
    errors.push_back(too_many(path, patterns.size(), kConditionPatternsMax));
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const FieldPath at = path.index(i);
    append(errors, check_format(at.child("type"), patterns[i].string_at("type"), qualified_name_problems));
    if (const std::string_view status = patterns[i].string_at("status"); status.empty())
      errors.push_back(required(at.child("status"), R"(valid values: ["False" "True" "Unknown"])"));
    else
      append(errors, check_one_of(at.child("status"), status, {"False", "True", "Unknown"}));
  }
  return errors;
}

FieldErrors check_failure_rule(const FieldPath& path, const Json& rule, const Json& spec,
                               const ContainerNames& containers) {
  const std::string_view action = rule.string_at("action");
  const FieldPath at = path.child("action");
  FieldErrors errors;
  if (action.empty())
    errors.push_back(required(at, R"(valid values: ["Count" "FailIndex" "FailJob" "Ignore"])"));
  else if (action == "FailIndex" && !present(spec, "backoffLimitPerIndex"))
    errors.push_back(invalid(at, action, "requires the backoffLimitPerIndex to be set"));
  else
    append(errors, check_one_of(at, action, {"Count", "FailIndex", "FailJob", "Ignore"}));
  const Json* codes = present(rule, "onExitCodes");
  const JsonArray& patterns = items(&rule, "onPodConditions");
  if (codes) append(errors, check_exit_codes(path.child("onExitCodes"), *codes, containers));
  if (!patterns.empty()) append(errors, check_patterns(path.child("onPodConditions"), patterns));
  if (codes && !patterns.empty())
    errors.push_back({FieldErrorType::Invalid, path,
                      "Invalid value: specifying both OnExitCodes and OnPodConditions is not supported"});
  if (!codes && patterns.empty())
    errors.push_back({FieldErrorType::Invalid, path,
                      "Invalid value: specifying one of OnExitCodes and OnPodConditions is required"});
  return errors;
}

FieldErrors check_failure_policy(const FieldPath& path, const Json& policy, const Json& spec) {
  const JsonArray& rules = items(&policy, "rules");
  const ContainerNames containers = container_names(spec);
  FieldErrors errors;
  if (rules.size() > kFailureRulesMax) errors.push_back(too_many(path, rules.size(), kFailureRulesMax));
  for (std::size_t i = 0; i < rules.size(); ++i)
    append(errors, check_failure_rule(path.index(i), rules[i], spec, containers));
  return errors;
}

// How many indexes "1,3-5" names; `problem` receives why it names none.
std::int64_t count_indexes(std::string_view text, std::int64_t completions, std::string& problem) {
  std::optional<std::int64_t> last;
  std::int64_t total = 0;
  const auto increasing = [&](std::int64_t before, std::int64_t now) {
    if (before >= now)
      problem =
          "non-increasing order, previous: " + std::to_string(before) + ", current: " + std::to_string(now);
  };
  const auto number = [&](std::string_view word) -> std::int64_t {
    const auto read = to_int(word);
    if (problem.empty() && !read)
      problem = "cannot convert string to integer for index: " + to_string(Json(word));
    else if (problem.empty() && *read >= completions)
      problem = "too large index: " + to_string(Json(word));
    return read.value_or(0);
  };
  while (problem.empty() && !text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, comma);
    const std::size_t dash = part.find('-');
    if (std::count(part.begin(), part.end(), '-') > 1)
      problem =
          "the fragment " + to_string(Json(part)) +
          " violates the requirement that an index interval can have at most two parts separated by '-'";
    if (!problem.empty()) return 0;
    const std::int64_t from = number(part.substr(0, std::min(dash, part.size())));
    std::int64_t to = from;
    if (problem.empty() && dash != std::string_view::npos) {
      to = number(part.substr(dash + 1));
      if (problem.empty()) increasing(from, to);
    }
    if (problem.empty() && last) increasing(*last, from);
    total += to - from + 1;
    last = to;
    if (comma + 1 == text.size() && problem.empty()) number("");
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return problem.empty() ? total : 0;
}

FieldErrors check_success_rule(const FieldPath& path, const Json& rule, std::int64_t completions) {
  const Json* count = present(rule, "succeededCount");
  const Json* indexes = present(rule, "succeededIndexes");
  FieldErrors errors;
  if (!count && !indexes)
    errors.push_back(required(path, "at least one of succeededCount or succeededIndexes must be specified"));
  std::int64_t named = 0;
  if (indexes) {
    const FieldPath at = path.child("succeededIndexes");
    if (indexes->as_string().size() > kSucceededIndexesBytesMax)
      errors.push_back(too_long(at, kSucceededIndexesBytesMax));
    std::string problem;
    named = count_indexes(indexes->as_string(), completions, problem);
    if (!problem.empty())
      errors.push_back(invalid(at, *indexes, "error parsing succeededIndexes: " + problem));
  }
  if (!count) return errors;
  const FieldPath at = path.child("succeededCount");
  append(errors, check_not_negative(at, rule, "succeededCount"));
  if (count->as_int() > completions)
    errors.push_back(invalid(at, *count, at_most(completions, " (the number of specified completions)")));
  if (indexes && count->as_int() > named)
    errors.push_back(invalid(
        at, *count, at_most(named, " (the number of indexes in the specified succeededIndexes field)")));
  return errors;
}

FieldErrors check_success_policy(const FieldPath& path, const Json& policy, const Json& spec) {
  if (spec.string_at("completionMode") != "Indexed")
    return {invalid(path, go_form(policy, table_type("batch", "v1", "SuccessPolicy")),
                    "requires indexed completion mode")};
  const JsonArray& rules = items(&policy, "rules");
  const FieldPath at = path.child("rules");
  FieldErrors errors;
  if (rules.empty())
    errors.push_back(
        required(at, "at least one rules must be specified when the successPolicy is specified"));
  if (rules.size() > kSuccessRulesMax) errors.push_back(too_many(at, rules.size(), kSuccessRulesMax));
  for (std::size_t i = 0; i < rules.size(); ++i)
    append(errors, check_success_rule(at.index(i), rules[i], spec.int_at("completions")));
  return errors;
}

FieldErrors check_replacement(const FieldPath& path, const Json& spec) {
  const Json* policy = present(spec, "podReplacementPolicy");
  if (!policy) return {};
  if (present(spec, "podFailurePolicy")) return check_one_of(path, policy->as_string(), {"Failed"});
  return check_one_of(path, policy->as_string(), {"Failed", "TerminatingOrFailed"});
}

FieldErrors check_restart_policy(const FieldPath& path, const Json& spec) {
  const Json* pod = present_at(spec, {"template", "spec"});
  const std::string_view policy = pod ? pod->string_at("restartPolicy") : "";
  if (policy.empty() || policy == "Always") return {required(path, R"(valid values: "OnFailure", "Never")")};
  if (policy != "OnFailure" && policy != "Never")
    return {not_supported(path, policy, {"OnFailure", "Never"})};
  if (policy != "Never" && present(spec, "podFailurePolicy"))
    return {invalid(path, policy, R"(only "Never" is supported when podFailurePolicy is specified)")};
  return {};
}

FieldErrors check_job_selector(const FieldPath& path, const Json& spec) {
  const Json* selector = present(spec, "selector");
  FieldErrors errors;
  if (!selector)
    errors.push_back(required(path.child("selector")));
  else
    append(errors, check_label_selector(path.child("selector"), *selector));
  if (selector && !errors.empty()) return errors;
  const Json* labels = present_at(spec, {"template", "metadata", "labels"});
  append(errors, check_found(path.child("template"), selector, labels));
  return errors;
}

// All but the selector.
FieldErrors check_pods_of_job(const FieldPath& path, const Json& spec) {
  FieldErrors errors;
  for (std::string_view key : {"parallelism", "completions", "activeDeadlineSeconds", "backoffLimit",
                               "ttlSecondsAfterFinished", "backoffLimitPerIndex", "maxFailedIndexes"})
    append(errors, check_not_negative(path.child(key), spec, key));
  if (present(spec, "maxFailedIndexes") && !present(spec, "backoffLimitPerIndex"))
    errors.push_back(required(path.child("backoffLimitPerIndex"), "when maxFailedIndexes is specified"));
  if (const Json* manager = present(spec, "managedBy"))
    append(errors, check_manager(path.child("managedBy"), manager->as_string()));
  append(errors, check_completion_mode(path, spec));
  if (const Json* policy = present(spec, "podFailurePolicy"))
    append(errors, check_failure_policy(path.child("podFailurePolicy").child("rules"), *policy, spec));
  if (const Json* policy = present(spec, "successPolicy"))
    append(errors, check_success_policy(path.child("successPolicy"), *policy, spec));
  append(errors, check_replacement(path.child("podReplacementPolicy"), spec));
  append(errors, check_pod_template(path.child("template"), spec.part("template")));
  append(errors, check_restart_policy(path.child("template").child("spec").child("restartPolicy"), spec));
  return errors;
}

}  // namespace

FieldErrors check_job_spec(const FieldPath& path, const Json& spec) {
  FieldErrors errors = check_pods_of_job(path, spec);
  append(errors, check_job_selector(path, spec));
  return errors;
}

FieldErrors check_job_template(const FieldPath& path, const Json& job_template) {
  const FieldPath at = path.child("spec");
  const Json& spec = job_template.part("spec");
  FieldErrors errors = check_pods_of_job(at, spec);
  if (const Json* selector = present(spec, "selector"))
    errors.push_back(invalid(at.child("selector"), *selector, "`selector` will be auto-generated"));
  if (spec.bool_at("manualSelector"))
    errors.push_back(not_supported(at.child("manualSelector"), "true", {"nil", "false"}));
  return errors;
}

}  // namespace berth::api
