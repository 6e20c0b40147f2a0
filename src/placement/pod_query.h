// What filters, scores and reservations know of the pod under decision: the question, not the answer.
//
// Const after the prefilters, so that sets of nodes can be judged one by one or together. Owner: one attempt.
#pragma once

#include <map>
#include <string>

#include "client/view.h"
#include "model/cluster.h"
#include "placement/state_slots.h"
#include "placement/victim_scoring.h"

namespace berth::dra {
class Allocator;
}  // namespace berth::dra

namespace berth::placement {
using model::ClaimChoice;
using model::ClaimState;
using model::PodId;
using model::Reservation;
using model::ReservationPtr;
using model::value_of;

// Nodes that keep room for pods, by the UID of the pod: tried before status.nominatedNodeName.
using FirstNodes = std::map<std::string, model::NodeId>;

// Shared by all attempts of one decision. The cluster includes what the open transaction has changed.
struct SchedulingContext {
  const client::View& view;
  const model::Cluster& cluster;
  dra::Allocator& allocator;
  Time now = {};  // not set: no allocation is late
  Duration binding_timeout = Duration::seconds(600);
  VictimScoring victim_scoring = VictimScoring::Reference;
  const FirstNodes* first_nodes = nullptr;  // null: none
};

struct PluginSet;

struct PodQuery {
  const SchedulingContext* context = nullptr;
  const PluginSet* plugins = nullptr;  // of the pod's profile
  const api::Pod* pod = nullptr;
  PodId pod_id;
  StateSlots slots;  // written by prefilters
};

}  // namespace berth::placement
