// The model against the live objects that it is made of: finds rows that say something else, and makes them
// anew.
//
// A row that is wrong is a defect of this program, and without an audit it would stay wrong until a restart.
// Each call looks at a bounded number of rows and goes on where the last one stopped, round and round; which
// rows follows from their order alone, so the same calls make the same repairs. Owner: the
// Cluster's owner, on its thread, outside of transactions. Cost: O(rows looked at); a row that is wrong
// O(rows).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "client/view.h"
#include "model/cluster.h"

namespace berth::model {

// What was wrong, and is right now.
struct Repair {
  std::string row;  // "pod default/web", "device gpu.example.com/node-1/gpu-0"
  std::string was;
  std::string is;
};

class Audit {
 public:
  // How a change of a live object reaches the cluster: Cluster::apply, or what stands before it.
  using Apply = std::function<void(const client::Delta&)>;

  // Looks at up to `rows` rows.
  std::vector<Repair> look(const client::View& view, Cluster& cluster, std::size_t rows, const Apply& apply);
  // Times that every row was looked at.
  std::uint64_t rounds() const { return rounds_; }

 private:
  class Look;
  // What is looked at, in this order: objects of the view by name, then rows of the model by number.
  enum class AuditPhase : std::uint8_t {
    Nodes,
    Slices,
    Classes,
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
  client::NamedKey after_;  // the object that was looked at last
  std::uint32_t next_row_ = 0;
  std::uint64_t rounds_ = 0;
};

}  // namespace berth::model
