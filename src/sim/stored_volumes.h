// PersistentVolumes, their claims and classes, read from their JSON and nothing else.
//
// Part of StoredState, and like it without code of what it judges. Claims of the namespace "default" are
// known by name, others by "namespace/name".
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"

namespace berth::sim {

struct StoredVolume {
  std::string name, storage_class, phase;
  std::string claim, claim_uid;  // spec.claimRef; empty: none
  bool deleting = false;
  Json affinity;  // required; null: every node
};

struct StoredVolumeClaim {
  std::string name, uid, storage_class, volume, selected_node;
  bool completed = false;  // pv.kubernetes.io/bind-completed
  bool is_bound() const { return completed && !volume.empty(); }
};

struct StoredVolumeClass {
  bool provisions = false;
  std::set<std::string> fails_on;  // nodes, or "*"
};

class StoredVolumes {
 public:
  std::map<std::string, StoredVolume> volumes;
  std::map<std::string, StoredVolumeClaim> claims;
  std::map<std::string, StoredVolumeClass> classes;

  // Whether a node selector selects the node of this name.
  using Selects = std::function<bool(const Json& selector, const std::string& node)>;
  // Volumes for all these claims on one node, those in `taken` left out: the names of volumes that they would
  // take; none if the node cannot have them.
  std::optional<std::vector<std::string>> reach(const std::vector<std::string>& of_claims,
                                                const std::string& node, const Selects& selects,
                                                const std::set<std::string>& taken) const;
  // Sentences about one volume or claim that was written: two owners.
  std::string volume_changed(const StoredVolume* before, const StoredVolume& after) const;
  std::string claim_changed(const StoredVolumeClaim& after) const;
  // Why a pod with these claims may not run on the node; empty: it may.
  std::string fault_of(const std::vector<std::string>& of_claims, const std::string& node,
                       const Selects& selects) const;
  // References to claims that did not get the volume.
  std::vector<std::string> left_over() const;
};

StoredVolume read_volume(const Json& object);
StoredVolumeClaim read_volume_claim(const Json& object);
StoredVolumeClass read_volume_class(const Json& object);

}  // namespace berth::sim
