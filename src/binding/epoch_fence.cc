#include "binding/epoch_fence.h"

#include <algorithm>

#include "base/known_defects.h"

namespace berth::binding {

void EpochFence::note(const api::BindRequest& request) {
  if (request.epoch == 0) return;
  const auto found = newest_.find(request.scheduler_name);
  if (found == newest_.end()) {
    if (newest_.size() < kSchedulerNamesMax)
      newest_.emplace(request.scheduler_name, Term{request.epoch, request.meta.resource_version});
    return;
  }
  Term& newest = found->second;
  if (request.epoch > newest.epoch) {
    newest = {request.epoch, request.meta.resource_version};
  } else if (request.epoch == newest.epoch) {
    newest.first_version = std::min(newest.first_version, request.meta.resource_version);
  }
}

bool EpochFence::is_late(const api::BindRequest& request) const {
  if (request.epoch == 0 || request.status_names_decision) return false;
  if (has(KnownDefect::FirstListTrusted)) return false;
  const auto newest = newest_.find(request.scheduler_name);
  return newest != newest_.end() && request.epoch < newest->second.epoch &&
         request.meta.resource_version > newest->second.first_version;
}

}  // namespace berth::binding
