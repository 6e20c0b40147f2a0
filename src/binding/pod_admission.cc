#include "binding/pod_admission.h"

#include <algorithm>

namespace berth::binding {

Result<std::unique_ptr<const PodAdmission>> PodAdmission::make(BinderOptions options,
                                                               std::vector<std::string> scheduler_names) {
  Plugins plugins = TRY(options.registry.make(options.plugins));
  return std::unique_ptr<const PodAdmission>(
      new PodAdmission(std::move(options), std::move(plugins), std::move(scheduler_names)));
}

bool PodAdmission::concerns(const Json& pod) const {
  const std::string_view name = pod.part("spec").string_at("schedulerName");
  return std::find(scheduler_names_.begin(), scheduler_names_.end(), name) != scheduler_names_.end();
}

Json PodAdmission::mutate(Json pod) const {
  if (!concerns(pod)) return pod;
  for (const auto& plugin : plugins_) pod = plugin->mutate(std::move(pod), options_);
  return pod;
}

api::FieldErrors PodAdmission::validate(const Json& pod, const Json* old) const {
  if (!concerns(pod)) return {};
  const api::FieldErrors errors = binding::validate(plugins_, api::decode_pod(pod, nullptr), options_);
  if (errors.empty() || !old) return errors;
  // A pod may have become invalid by an option: it can still be updated in everything else.
  const api::FieldErrors before = binding::validate(plugins_, api::decode_pod(*old, nullptr), options_);
  api::FieldErrors added;
  for (const api::FieldError& error : errors) {
    const bool known = std::any_of(before.begin(), before.end(), [&error](const api::FieldError& earlier) {
      return earlier.path == error.path && earlier.body == error.body;
    });
    if (!known) added.push_back(error);
  }
  return added;
}

}  // namespace berth::binding
