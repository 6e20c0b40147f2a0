// HorizontalPodAutoscalers between autoscaling/v1 and v2, in which they are stored. v1 has one number for
// cpu; all else of v2 is in annotations of the v1 form, which the stored one never has.
//
// Pure, any thread. An annotation that does not parse says nothing. Source: Kubernetes' API reference,
// annotations autoscaling.alpha.kubernetes.io/…; their forms observed.
#pragma once

#include "base/json.h"

namespace berth::api {

void autoscaler_to_stored(Json& autoscaler);
void autoscaler_to_served(Json& autoscaler);

}  // namespace berth::api
