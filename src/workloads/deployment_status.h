// The status of a Deployment: counts, and the conditions Available, Progressing and ReplicaFailure.
//
// Pure; the engine's thread. Source: kube-controller-manager 1.37, deployment controller.
#pragma once

#include "workloads/rollout.h"

namespace berth::workloads {

// The time after which a rollout that does not progress is reported; nothing for none.
std::optional<Duration> progress_deadline(const Rollout& rollout);

// Progressing, with lastUpdateTime; unchanged while status and reason stay.
void set_progressing(Json& conditions, std::string_view status, std::string_view reason, std::string message,
                     Time now);

// Progressing=Unknown when the Deployment was paused or resumed; a pause stops the deadline.
void note_pause(const Rollout& rollout, Json& conditions, Time now);

// Whether a run judges progress: not while it only scales, or is paused.
enum class Progress { Judged, Left };

// The whole status; `conditions` has what this run decided so far. `effects` receives when to look again.
JsonObject deployment_status(const Rollout& rollout, Json conditions, std::int64_t collisions,
                             Progress progress, Time now, Effects& effects);

// Everything runs with the newest template.
bool is_complete(const Rollout& rollout);

}  // namespace berth::workloads
