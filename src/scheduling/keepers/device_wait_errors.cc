#include "scheduling/keepers/device_wait_errors.h"

#include "api/types/device_readiness.h"

namespace berth::scheduling {
namespace {

constexpr std::string_view kPreBind = "running PreBind plugin \"DynamicResources\": ";
constexpr std::string_view kVolumesPreBind = "running PreBind plugin \"VolumeBinding\": binding volumes: ";
constexpr std::string_view kTimeout = "device binding timeout: context deadline exceeded";

// The failure in the first claim that reports one.
std::string failure_of(const client::View& view, const api::BindRequest& request) {
  for (const api::ClaimAllocation& wanted : request.claims) {
    const api::ResourceClaim* claim = view.claims.find(request.meta.ns, wanted.claim_name);
    if (!claim || claim->meta.uid != wanted.claim_uid) continue;
    const api::DeviceReadiness readiness = api::readiness_of(*claim);
    if (readiness.failure) return api::failure_text(wanted.claim_name, *readiness.failure);
  }
  return {};
}

}  // namespace

void DeviceWaitErrors::note(const client::View& view, const api::BindRequest& failing) {
  if (failing.reason == api::kProvisioningFailed) return note_provisioning(view, failing);
  if (failing.reason != api::kBindingConditionsFailed || noted_.contains(failing.meta.uid)) return;
  if (std::string text = failure_of(view, failing); !text.empty())
    noted_.emplace(failing.meta.uid, std::string(kPreBind) + text);
}

// The provisioner gives up by taking the selected node away.
void DeviceWaitErrors::note_provisioning(const client::View& view, const api::BindRequest& failing) {
  for (const api::VolumeBinding& binding : failing.volumes) {
    const auto* claim = view.volume_claims.find(failing.meta.ns, binding.claim_name);
    if (!claim || !binding.volume.empty() || !claim->volume_name.empty() || !claim->selected_node().empty())
      continue;
    noted_.try_emplace(failing.meta.uid, std::string(kVolumesPreBind) + "provisioning failed for PVC \"" +
                                             binding.claim_name + "\"");
    return;
  }
}

std::string DeviceWaitErrors::take(const api::BindRequest& failed) {
  if (failed.reason == api::kVolumeBindingTimeout)
    return std::string(kVolumesPreBind).append("context deadline exceeded");
  if (failed.reason == api::kBindingTimeout) return std::string(kPreBind).append(kTimeout);
  const bool provisioning = failed.reason == api::kProvisioningFailed;
  if (failed.reason != api::kBindingConditionsFailed && !provisioning) return {};
  const auto noted = noted_.find(failed.meta.uid);
  if (noted == noted_.end())
    return provisioning ? std::string() : std::string(kPreBind) + "device binding failed";
  std::string sentence = std::move(noted->second);
  noted_.erase(noted);
  return sentence;
}

}  // namespace berth::scheduling
