// Which nodes belong together: the tree of domains that node labels form.
//
// Owner: the scheduler, on its thread. Cost: lookups O(1), a node change O(levels + log of the leaf's nodes).
// A change also moves the ids (4 bytes each) that come after the node's in its leaf's list.
// Source: KEP-5732 (one key today: a tree of one level below the root).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/types/meta.h"
#include "base/ids.h"
#include "model/cluster.h"

namespace berth::topology {

using DomainId = DenseId<struct DomainTag>;
using model::NodeId;

// Levels below the root: block, rack, host and the like. In a tree of groups, also the other topology keys of
// the groups above.
inline constexpr std::size_t kLevelsMax = 10;

struct Domain {
  std::string value;  // the label's value at this level; empty for the root
  std::string path;   // "r7", or "block-1/r7" below several levels
  DomainId parent;    // none for the root
  std::uint32_t level = 0;
  std::uint32_t children = 0;
  std::vector<NodeId> nodes;  // of a leaf, by node name
};

class Tree {
 public:
  // Label keys, outermost level first: at most kLevelsMax. Without any, all nodes belong
  // to the root, which does not list them.
  explicit Tree(std::vector<std::string> keys);

  // Places the node by its labels, or moves it. A node that lacks a label of any level belongs to no domain.
  void put(NodeId node, std::string_view name, const api::StringMap& labels);
  // Does nothing for an unknown node.
  void remove(NodeId node);

  const std::vector<std::string>& keys() const { return keys_; }
  static DomainId root() { return DomainId(0); }
  const Domain& domain(DomainId id) const { return domains_[id.index()]; }
  // One above the highest id ever used; the id of a removed domain is reused.
  std::size_t domain_count() const { return domains_.size(); }
  // none() for a node without a domain.
  DomainId leaf_of(NodeId node) const;
  const std::string& path_of(DomainId id) const { return domains_[id.index()].path; }
  // Domains of the last level that hold a node, by path: the order of every walk over them. Sorted after the
  // first or last node of a domain came or left. Valid until the next change.
  const std::vector<DomainId>& leaves() const;
  std::size_t unlabelled_count() const { return unlabelled_; }

 private:
  struct Member {
    bool known = false;
    DomainId leaf;
    std::string name;
  };
  using ChildKey = std::pair<DomainId, std::string>;

  DomainId child_of(DomainId parent, const std::string& value);
  DomainId leaf_for(const api::StringMap& labels);
  void drop_if_empty(DomainId id);
  // Where a node of this name is, or belongs.
  std::vector<NodeId>::const_iterator place_of(const std::vector<NodeId>& nodes, std::string_view name) const;

  std::vector<std::string> keys_;
  std::vector<Domain> domains_;
  std::vector<DomainId> free_;
  std::map<ChildKey, DomainId> children_;
  std::vector<Member> members_;
  std::size_t unlabelled_ = 0;
  mutable std::vector<DomainId> leaves_;
  mutable bool leaves_known_ = false;
};

}  // namespace berth::topology
