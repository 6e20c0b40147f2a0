// A rule about the domains of one topology key: the values of a node label. Each node adds an amount to its
// domain, and a domain is refused by the amount that it holds.
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
  std::int64_t sum = 0;
};

struct DomainRule {
  std::string topology_key;
  // Rules with equal bytes have equal amounts, whatever the pod.
  std::string amount_bytes;
  // What the live node adds to its domain, also if it is none; none: the node does not count. It reads the
  // node, its pods and their labels.
  std::function<std::optional<std::int64_t>(NodeId)> amount;
  // The largest amount of a domain that may take the pod.
  std::function<std::int64_t(const DomainTotals&)> most;
  const Reason* no_label = nullptr;  // of a node without the label
  const Reason* refused = nullptr;   // of a node in a refused domain
};

}  // namespace berth::placement
