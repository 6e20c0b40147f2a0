// Objects of an offline cluster that are kept apart from it: what arrives later, what is copied, what
// returns.
//
// Deterministic. The objects are complete: with UIDs, priorities, and the claims of templates.
#pragma once

#include <vector>

#include "planning/planner.h"

namespace berth::simulate {

struct StoredObject {
  api::ObjectKey key;
  api::TypedObject object;
};

// The object; of a pod also the claims that were made for it. Empty: it is not there.
std::vector<StoredObject> stored_of(planning::OfflineCluster& offline, const api::ObjectKey& key);
// Takes the object out of the cluster; of a pod also the claims that were made for it. Empty: it is not
// there.
std::vector<StoredObject> take_stored(planning::OfflineCluster& offline, const api::ObjectKey& key);
// `created`: the time from which it counts as old.
void put_stored(planning::OfflineCluster& offline, const StoredObject& stored, Time created);
// The key that the object has in the cluster.
api::ObjectKey key_of_document(const planning::Document& document);

// Decides about these in the order of the queue; those that do not wait are left out.
planning::Plan decide_entities(planning::OfflineCluster& offline, planning::Planner& planner,
                               const std::vector<placement::EntityKey>& keys);

}  // namespace berth::simulate
