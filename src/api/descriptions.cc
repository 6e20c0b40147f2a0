#include "api/descriptions.h"

#include <algorithm>
#include <functional>
#include <span>
#include <string>

#include "api/type_table.h"

namespace berth::api {
namespace {

constexpr Description kOfCore[] = {
#include "api/descriptions/core.def"
};
constexpr Description kOfAdmission[] = {
#include "api/descriptions/admissionregistration.k8s.io.def"
};
constexpr Description kOfExtensions[] = {
#include "api/descriptions/apiextensions.k8s.io.def"
};
constexpr Description kOfRegistration[] = {
#include "api/descriptions/apiregistration.k8s.io.def"
};
constexpr Description kOfApps[] = {
#include "api/descriptions/apps.def"
};
constexpr Description kOfAuthentication[] = {
#include "api/descriptions/authentication.k8s.io.def"
};
constexpr Description kOfAuthorization[] = {
#include "api/descriptions/authorization.k8s.io.def"
};
constexpr Description kOfAutoscaling[] = {
#include "api/descriptions/autoscaling.def"
};
constexpr Description kOfBatch[] = {
#include "api/descriptions/batch.def"
};
constexpr Description kOfCertificates[] = {
#include "api/descriptions/certificates.k8s.io.def"
};
constexpr Description kOfCoordination[] = {
#include "api/descriptions/coordination.k8s.io.def"
};
constexpr Description kOfDiscovery[] = {
#include "api/descriptions/discovery.k8s.io.def"
};
constexpr Description kOfEvents[] = {
#include "api/descriptions/events.k8s.io.def"
};
constexpr Description kOfFlowControl[] = {
#include "api/descriptions/flowcontrol.apiserver.k8s.io.def"
};
constexpr Description kOfMeta[] = {
#include "api/descriptions/meta.k8s.io.def"
};
constexpr Description kOfUsage[] = {
#include "api/descriptions/metrics.k8s.io.def"
};
constexpr Description kOfNetworking[] = {
#include "api/descriptions/networking.k8s.io.def"
};
constexpr Description kOfNodeGroup[] = {
#include "api/descriptions/node.k8s.io.def"
};
constexpr Description kOfPolicy[] = {
#include "api/descriptions/policy.def"
};
constexpr Description kOfRbac[] = {
#include "api/descriptions/rbac.authorization.k8s.io.def"
};
constexpr Description kOfResource[] = {
#include "api/descriptions/resource.k8s.io.def"
};
constexpr Description kOfBerth[] = {
#include "api/descriptions/scheduling.berth.dev.def"
};
constexpr Description kOfScheduling[] = {
#include "api/descriptions/scheduling.k8s.io.def"
};
constexpr Description kOfStorage[] = {
#include "api/descriptions/storage.k8s.io.def"
};
constexpr Description kOfMigration[] = {
#include "api/descriptions/storagemigration.k8s.io.def"
};

struct GroupTexts {
  std::string_view group;
  std::span<const Description> texts;
};
constexpr GroupTexts kGroups[] = {
    {"", kOfCore},
    {"admissionregistration.k8s.io", kOfAdmission},
    {"apiextensions.k8s.io", kOfExtensions},
    {"apiregistration.k8s.io", kOfRegistration},
    {"apps", kOfApps},
    {"authentication.k8s.io", kOfAuthentication},
    {"authorization.k8s.io", kOfAuthorization},
    {"autoscaling", kOfAutoscaling},
    {"batch", kOfBatch},
    {"certificates.k8s.io", kOfCertificates},
    {"coordination.k8s.io", kOfCoordination},
    {"discovery.k8s.io", kOfDiscovery},
    {"events.k8s.io", kOfEvents},
    {"flowcontrol.apiserver.k8s.io", kOfFlowControl},
    {"meta.k8s.io", kOfMeta},
    {"metrics.k8s.io", kOfUsage},
    {"networking.k8s.io", kOfNetworking},
    {"node.k8s.io", kOfNodeGroup},
    {"policy", kOfPolicy},
    {"rbac.authorization.k8s.io", kOfRbac},
    {"resource.k8s.io", kOfResource},
    {kBerthGroup, kOfBerth},
    {"scheduling.k8s.io", kOfScheduling},
    {"storage.k8s.io", kOfStorage},
    {"storagemigration.k8s.io", kOfMigration},
};

// Equal keys are refused, too.
static_assert(std::ranges::is_sorted(kGroups, std::ranges::less_equal(), &GroupTexts::group) &&
              std::ranges::all_of(kGroups, [](const GroupTexts& one) {
                return std::ranges::is_sorted(one.texts, std::ranges::less_equal(), &Description::key);
              }));

}  // namespace

std::span<const Description> descriptions_of(std::string_view group) {
  const auto found = std::ranges::lower_bound(kGroups, group, {}, &GroupTexts::group);
  return found != std::end(kGroups) && found->group == group ? found->texts : std::span<const Description>();
}

std::string_view description_of(std::string_view group, std::string_view type, std::string_view field) {
  const std::span<const Description> texts = descriptions_of(group);
  std::string key(type);
  if (!field.empty()) key.append(".").append(field);
  const auto found = std::ranges::lower_bound(texts, key, {}, &Description::key);
  return found != texts.end() && found->key == key ? found->text : std::string_view();
}

}  // namespace berth::api
