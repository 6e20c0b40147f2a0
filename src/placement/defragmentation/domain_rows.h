// The domains of one level by counts of devices: how many each has, how many are in use, and what would have
// to move.
//
// Owner: one search, one thread. Cost: construction O(nodes and their pods), and O(pods) for each set of
// taints that evict; refresh() O(nodes and their pods) of the domains of these nodes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "placement/defragmentation/pod_mover.h"

namespace berth::placement {

struct DomainRow {
  std::string path;
  std::vector<NodeId> nodes;  // by name; without those that are cordoned or fail
  std::int64_t offered = 0, used = 0;
  std::size_t moves = 0;            // pods that would have to move
  std::int64_t moved = 0;           // devices that these hold
  std::int64_t largest = 0;         // devices of one unit that may move
  std::optional<StayingPod> stays;  // the first pod that does not move
  bool settled = false;             // a plan has changed it, or it is not tried again
  std::optional<StayReason> why;    // of a settled one that keeps its pods

  std::int64_t free() const { return std::max<std::int64_t>(0, offered - used); }
  bool whole() const { return offered > 0 && used == 0; }
  // Fewer moves for the devices of the domain, then fewer devices that move, then the path.
  bool cheaper_than(const DomainRow& other) const;
};

class DomainRows {
 public:
  // All outlive it.
  DomainRows(const DefragmentationQuestion& question, DomainIndex& domains, const DeviceCounts& counts,
             const PodMover& mover);

  std::vector<DomainRow>& rows() { return rows_; }
  void refresh(std::span<const NodeId> nodes);
  void refresh_all();
  // Devices that are free where pods may go: outside of whole domains and of settled ones.
  std::int64_t free_elsewhere() const;
  // Ascending: nodes of these domains, of whole and of emptied ones, and failing nodes.
  std::vector<NodeId> avoided(std::span<const std::size_t> emptied) const;

 private:
  void read(DomainRow& row) const;

  const SchedulingContext& context_;
  const DeviceCounts& counts_;
  const PodMover& mover_;
  std::vector<DomainRow> rows_;      // by path
  std::vector<std::size_t> row_of_;  // by node; SIZE_MAX: none
  std::vector<NodeId> outside_;      // nodes of no domain that take pods
  std::vector<NodeId> failing_;
};

}  // namespace berth::placement
