// Rules and preferences about the domains of one topology key: the values of a node label. Each node adds an
// amount to its domain, and a domain is accepted, refused or preferred by the amount that it holds.
//
// Valid as long as the attempt that made it. A rule reads amounts of the whole cluster, so one placement
// changes the verdict on one domain: no node is judged for it.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "model/ids.h"

namespace berth::placement {

using model::NodeId;
struct Reason;

// Over the domains in which a node counts.
struct DomainTotals {
  std::size_t domains = 0;
  std::optional<std::int64_t> least;  // the smallest amount; none: there is no domain
  std::int64_t sum = 0;               // of all rules of the pod with these amounts, whatever their keys
};

// The amounts of domains that may take the pod.
struct AmountRange {
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();

  bool contains(std::int64_t amount) const { return least <= amount && amount <= most; }
  friend bool operator==(const AmountRange&, const AmountRange&) = default;
};

// What the nodes of a domain add up to.
struct DomainCount {
  std::string topology_key;
  // Counts with equal bytes have equal amounts, whatever the pod.
  std::string amount_bytes;
  // What the live node adds to its domain, also if it is none; none: the node does not count. It reads the
  // node, its pods and their labels.
  std::function<std::optional<std::int64_t>(NodeId)> amount;
  // A node without the label is in no domain. Otherwise such nodes are a domain of their own, which holds
  // nothing.
  bool labelled_only = false;

  // Names the amounts, and in which domains nodes are.
  std::string bytes() const { return topology_key + (labelled_only ? '\0' : '\1') + amount_bytes; }
};

struct DomainRule : DomainCount {
  std::function<AmountRange(const DomainTotals&)> accepted;
  const Reason* no_label = nullptr;  // of a node in no domain
  const Reason* refused = nullptr;   // of a node in a refused domain
};

}  // namespace berth::placement
