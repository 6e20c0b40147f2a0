// Validate and Mutate of the binder's plugins when a pod is created or updated.
//
// Pods of other schedulers are left as they are. Pure, thread-safe. Cost: one decoding of the pod and the
// plugins' own. Source: the Binder document's plugin interface.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/admission.h"
#include "binding/plugin.h"

namespace berth::binding {

class PodAdmission final : public api::Admission {
 public:
  // `scheduler_names`: spec.schedulerName of the pods that are looked at. Refuses unknown plugin names.
  static Result<std::unique_ptr<const PodAdmission>> make(BinderOptions options,
                                                          std::vector<std::string> scheduler_names);

  Json mutate(Json pod) const override;
  api::FieldErrors validate(const Json& pod, const Json* old) const override;

 private:
  PodAdmission(BinderOptions options, Plugins plugins, std::vector<std::string> scheduler_names)
      : options_(std::move(options)),
        plugins_(std::move(plugins)),
        scheduler_names_(std::move(scheduler_names)) {}
  bool concerns(const Json& pod) const;

  const BinderOptions options_;
  const Plugins plugins_;
  const std::vector<std::string> scheduler_names_;
};

}  // namespace berth::binding
