// Compares the model with the live objects that it is made of: finds rows that differ and rebuilds them.
//
// A wrong row is a defect of this program; without an audit it would stay wrong until a restart. Each call
// checks a bounded number of rows and continues where the previous one stopped, cyclically. The order of rows
// alone selects them, so the same calls make the same repairs. Owner: the Cluster's owner, on its thread,
// outside of transactions. Cost: O(rows checked); a wrong row O(rows).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "client/view.h"
#include "model/cluster.h"

namespace berth::model {

// A difference that was found and repaired.
struct Repair {
  std::string row;  // "pod default/web", "device gpu.example.com/node-1/gpu-0"
  std::string was;
  std::string is;
};

class Audit {
 public:
  // Applies a change of a live object to the cluster: Cluster::apply, or a function that ends in it.
  using Apply = std::function<void(const client::Delta&)>;

  // Checks up to `rows` rows.
  std::vector<Repair> look(const client::View& view, Cluster& cluster, std::size_t rows, const Apply& apply);
  // Completed passes over every row.
  std::uint64_t rounds() const { return rounds_; }

 private:
  class Look;
  // The order of the checks: objects of the view by name, then rows of the model by number.
  enum class AuditPhase : std::uint8_t {
    Nodes,
    Slices,
    Classes,
    Namespaces,
    Pods,
    Claims,
    Requests,
    NodeRows,
    DeviceRows,
    PoolRows,
    PodRows,
    ClaimRows,
    End
  };

  AuditPhase part_ = AuditPhase::Nodes;
  client::NamedKey after_;  // the object checked last
  std::uint32_t next_row_ = 0;
  std::uint64_t rounds_ = 0;
};

}  // namespace berth::model
