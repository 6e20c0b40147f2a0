#include "binding/seal.h"

#include "client/claim_writes.h"

namespace berth::binding {

const std::string& sealing_id(const api::BindRequest& request) {
  return request.decision_id.empty() ? request.meta.uid : request.decision_id;
}

std::optional<client::Chain> seal(const BindContext& context, api::Kind kind, const api::ObjectMeta& meta) {
  if (meta.deleting() || meta.annotation(client::kGivenUpAnnotation) == sealing_id(context.request))
    return std::nullopt;
  // PreBind sends nothing after step RollingBack, so any later change of the object has sealed it.
  if (context.request.step == api::BindStep::RollingBack &&
      meta.resource_version > context.request.meta.resource_version)
    return std::nullopt;
  const api::ObjectKey key = client::key_of(kind, meta);
  return client::Chain{key, {client::seal_object(key, meta, sealing_id(context.request))}};
}

}  // namespace berth::binding
