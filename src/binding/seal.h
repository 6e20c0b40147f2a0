// Seals: a write that gives an object a new version before something of it is released, so that no late write
// of this decision can land on it.
#pragma once

#include "binding/plugin.h"

namespace berth::binding {

// The name of the request's decision; of its object for a request that somebody made by hand.
const std::string& sealing_id(const api::BindRequest& request);

// A write that this decision has sent, perhaps from an earlier process, may still land on the version that it
// names; the seal gives the object a new one. None if any such write is refused already.
std::optional<client::Chain> seal(const BindContext& context, api::Kind kind, const api::ObjectMeta& meta);

}  // namespace berth::binding
