// Whether a pod may have others evicted now, as its own fields and the pods on its nominated node say.
//
// Pure. Source: kube-scheduler 1.37, DefaultPreemption's PodEligibleToPreemptOthers; the delay is Berth's
// own.
#pragma once

#include <optional>
#include <string_view>

#include "client/view.h"
#include "placement/decision_core.h"

namespace berth::placement {

// Pods that were evicted for this one end on the node that it is nominated for. The Eviction API writes its
// own reason over the scheduler's.
bool has_ending_victims(const client::View& view, const api::Pod& pod);
// Notes the delay of a pod or group (kPreemptionDelayAnnotation) if it is not over or cannot be read. Returns
// when it is over, if it is not.
std::optional<Time> note_delay(const api::ObjectMeta& meta, Time now, Preempting& preempting);

}  // namespace berth::placement
