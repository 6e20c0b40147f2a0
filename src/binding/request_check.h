// Whether a BindRequest fits its pod, for requests that another scheduler or a person wrote.
//
// The API server has checked the request alone (api/kinds); this is what needs the pod. Pure. Cost: O(claims
// of the pod squared). Source: docs/binder.md#bindrequest.
#pragma once

#include "api/field_error.h"
#include "api/types/bind_request.h"
#include "api/types/pod.h"

namespace berth::binding {

// A share of GPUs is the one that the pod asks for, and no pod has one that it did not ask for. Every claim
// of the pod has its allocation in the request, with the claim's UID, and no other claim has one. `pod` has
// the request's UID. A view that lags may lack claims that are made from templates.
api::FieldErrors check_request(const api::BindRequest& request, const api::Pod& pod);

}  // namespace berth::binding
