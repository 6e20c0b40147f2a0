#include "dra/cel_check.h"

#include <algorithm>

#include "api/gates.h"
#include "cel/dra_environment.h"
#include "cel/program.h"

namespace berth::dra {
namespace {

// Result types that are statically no attribute value are refused; dynamic ones pass.
bool can_be_attribute(std::string_view type) {
  constexpr std::string_view kList = "list(";
  if (type.starts_with(kList)) type = type.substr(kList.size(), type.size() - kList.size() - 1);
  constexpr std::string_view kTypes[] = {"string", "int", "bool", "kubernetes.Semver", "dyn", "any"};
  return std::find(std::begin(kTypes), std::end(kTypes), type) != std::end(kTypes);
}

}  // namespace

api::CelVerdict check_cel(std::string_view expression, api::CelUse use, const api::Gates& gates) {
  const bool selects = use == api::CelUse::Selector;
  const cel::DraFeatures features{gates.enabled("DRAListTypeAttributes"),
                                  gates.enabled("DRAConsumableCapacity")};
  const auto compiled = cel::compile(cel::dra_environment(features), expression,
                                     selects ? cel::ResultRule::Selector : cel::ResultRule::Any);
  api::CelVerdict verdict;
  if (const auto* error = std::get_if<cel::CompileError>(&compiled)) {
    verdict.complaint = error->text;
    return verdict;
  }
  const auto& program = std::get<cel::Program>(compiled);
  if (const std::string type = program.result_type(); !selects && !can_be_attribute(type))
    verdict.complaint =
        "must evaluate to a primitive scalar (string, integer, boolean, semver) or a list of these scalars, "
        "not " +
        type;
  verdict.cost_max = program.estimated_cost();
  verdict.too_complex = verdict.cost_max > api::kCelCostMax;
  return verdict;
}

}  // namespace berth::dra
