#include "server/claim_status_access.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "server/access.h"

namespace berth::server {
namespace {

constexpr std::string_view kResourceGroup = "resource.k8s.io";
constexpr const char* kNodeNameExtra = "authentication.kubernetes.io/node-name";

using Device = std::tuple<std::string, std::string, std::string, std::string>;  // driver, pool, device, share

std::map<Device, Json> devices_of(const Json& status) {
  std::map<Device, Json> devices;
  for (const Json& device : status.items_at("devices"))
    devices[{std::string(device.string_at("driver")), std::string(device.string_at("pool")),
             std::string(device.string_at("device")), std::string(device.string_at("shareID"))}] = device;
  return devices;
}

// Drivers of devices whose status differs.
std::set<std::string> changed_drivers(const Json& next, const Json& before) {
  const std::map<Device, Json> now = devices_of(next), then = devices_of(before);
  std::set<std::string> drivers;
  for (const auto* const side : {&now, &then})
    for (const auto& [device, status] : *side) {
      const auto& other = side == &now ? then : now;
      const auto found = other.find(device);
      if (found == other.end() || found->second != status) drivers.insert(std::get<0>(device));
    }
  return drivers;
}

// The one node of an allocation; empty where it is of several or of any.
std::string_view node_of_allocation(const Json& allocation) {
  const JsonArray& terms = allocation.part("nodeSelector").items_at("nodeSelectorTerms");
  if (terms.size() != 1 || !terms[0].items_at("matchExpressions").empty()) return {};
  const JsonArray& fields = terms[0].items_at("matchFields");
  if (fields.size() != 1 || fields[0].string_at("key") != "metadata.name" ||
      fields[0].string_at("operator") != "In")
    return {};
  const JsonArray& values = fields[0].items_at("values");
  return values.size() == 1 && values[0].is_string() ? std::string_view(values[0].as_string())
                                                     : std::string_view();
}

bool is_account_on(const User& user, std::string_view node) {
  const auto extra = user.extra.find(kNodeNameExtra);
  return !node.empty() && user.name.starts_with(rbac::kServiceAccountPrefix) && extra != user.extra.end() &&
         extra->second.size() == 1 && extra->second.front() == node;
}

// Of the first of the verbs that is refused, where none is allowed; empty: one is.
std::string refusal_of(Access& access, const User& user, const std::vector<std::string>& verbs,
                       const rbac::Attributes& about) {
  std::string refusal;
  for (const std::string& verb : verbs) {
    rbac::Attributes asked = about;
    asked.verb = verb;
    const ApiResult<void> allowed = access.authorize(user, asked);
    if (allowed) return "";
    if (refusal.empty()) refusal = allowed.error().message;
  }
  return refusal;
}

// As Go prints a list.
std::string list_text(const std::vector<std::string>& verbs) {
  std::string text;
  for (const std::string& verb : verbs) text += (text.empty() ? "[" : " ") + verb;
  return text + "]";
}

}  // namespace

api::FieldErrors claim_status_errors(Access& access, const User& user, std::string_view verb,
                                     const ObjectTarget& target, const Json& next, const Json& before) {
  api::FieldErrors errors;
  if (user.is_administrator()) return errors;
  const Json &now = next.part("status"), &then = before.part("status");
  if (now.part("allocation") != then.part("allocation") ||
      now.items_at("reservedFor") != then.items_at("reservedFor")) {
    const std::string refusal = refusal_of(
        access, user, {std::string(verb)},
        {.verb = "", .group = kResourceGroup, .resource = "resourceclaims/binding", .ns = "", .name = ""});
    if (!refusal.empty())
      errors.push_back(api::forbidden(
          "status.allocation",
          "changing status.allocation or status.reservedFor requires resource=\"resourceclaims/binding\", "
          "verb=\"" +
              std::string(verb) + "\" permission: " + refusal));
  }
  // The status of devices goes with the allocation.
  if (!now.part("allocation").is_object()) return errors;
  std::vector<std::string> verbs = {"arbitrary-node:" + std::string(verb)};
  if (is_account_on(user, node_of_allocation(now.part("allocation"))))
    verbs.insert(verbs.begin(), "associated-node:" + std::string(verb));
  for (const std::string& driver : changed_drivers(now, then)) {
    const std::string refusal = refusal_of(access, user, verbs,
                                           {.verb = "",
                                            .group = kResourceGroup,
                                            .resource = "resourceclaims/driver",
                                            .ns = target.ns,
                                            .name = driver});
    if (!refusal.empty())
      errors.push_back(api::forbidden("status.devices",
                                      "changing status.devices requires resource=\"resourceclaims/driver\", "
                                      "verb=\"" +
                                          list_text(verbs) + "\" permission: " + refusal));
  }
  return errors;
}

}  // namespace berth::server
