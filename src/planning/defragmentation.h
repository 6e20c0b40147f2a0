// Which pods would have to move so that whole domains have no device in use, and what the moves buy: a dry
// run on a described cluster.
//
// Pure. What waits is decided first, without victims; the moves are for those that are refused then. Source:
// outer surface, `berth plan --defragment`; the search is placement/defragmentation. Cost: that of a plan,
// and of the search.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "placement/defragmentation/defragmentation.h"
#include "planning/plan.h"

namespace berth::planning {

struct DefragmentationOptions {
  // A level of the Topology named default, or a node label; empty: the topology's narrowest level above
  // hosts.
  std::string level;
  placement::DefragmentationLimits limits = {};
  std::string level_path = "--level";  // where `level` comes from, for the error about it
};

struct PlannedMove {
  std::string ns, name, from, to;
  std::string group;  // with all members of this PodGroup; empty: alone
  std::int64_t devices = 0;
};

struct PlannedDomain {
  std::string path;
  std::vector<PlannedMove> moves;  // in the order in which they are possible
  std::int64_t devices = 0;        // of the domain
  std::int64_t moved = 0;          // devices that the moved pods hold
  bool whole = false;
  struct Fitting {
    placement::EntityKey key;
    std::size_t pods = 1;
  };
  std::vector<Fitting> fits;  // what waited, and has its place then
  std::string buys;           // "3 moves make rack-7 whole: gang ns/g of 16 fits"
};

struct UnchangedDomain {
  std::string path;
  placement::StayReason reason = placement::StayReason::NoRoom;
  std::string pod;  // "ns/p"; empty: the reason is about the domain

  std::string why() const;
};

struct PlannedDefragmentation {
  std::string level;  // its name for people
  std::vector<std::string> keys;
  std::vector<PlannedDomain> domains;
  std::vector<UnchangedDomain> kept;  // by path
  std::size_t whole_before = 0, whole_after = 0;
  std::size_t waiting = 0;  // pods and groups with devices that are refused without moves
  bool ended = false;       // a bound was reached
  std::vector<std::string> notes;
};

// Refuses a level that is neither in the topology nor a label of a node; the error's path is `level_path`.
Result<PlannedDefragmentation> plan_defragmentation(std::vector<Document> documents,
                                                    const PlanOptions& options,
                                                    const DefragmentationOptions& asked,
                                                    dra::SelectorEvaluator& selectors);

Json to_json(const PlannedDefragmentation& plan);
std::string to_table(const PlannedDefragmentation& plan);

}  // namespace berth::planning
