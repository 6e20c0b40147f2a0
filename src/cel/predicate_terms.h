// A device selector as logic over terms, each with the attributes that it reads. A term that reads one
// attribute needs one evaluation for each distinct value of it, not one for every device.
//
// Cost: one walk of the tree; a term is evaluated by the tree walker. Threads: immutable, shared. The results
// of the terms combine to the program's: && and || absorb an error of one side, as in CEL.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cel/dra_environment.h"
#include "cel/program.h"

namespace berth::cel {

struct Node;

// A result that is no bool is an error wherever a selector may have it.
enum class TruthValue : std::uint8_t { False, True, Error };

// A field of the device, or one entry of its attributes or capacity.
struct AttributeRef {
  DeviceField field = kDeviceDriver;
  std::string domain, id;
  friend auto operator<=>(const AttributeRef&, const AttributeRef&) = default;
};

enum class TermKind : std::uint8_t {
  Leaf,    // evaluated by evaluate()
  Domain,  // whether the device has an entry in reads[0].domain: `'d' in device.attributes`
  And,     // of all parts, left to right
  Or,
  Not,     // parts[0]
  Choice,  // parts[0] ? parts[1] : parts[2]
};

class PredicateTerm {
 public:
  TermKind kind = TermKind::Leaf;
  std::vector<PredicateTerm> parts;

  // Leaf: sorted, each once. With reads_all it may read anything, and `reads` is empty.
  std::vector<AttributeRef> reads;
  bool reads_all = false;
  // Leaf of a single comparison `attribute == constant` (or != with `is_negated`): true for that value, false
  // for every other, an error where the device has none. With the attribute first (`reads_first`) == is also
  // an error of a version, which has no overload for a plain constant.
  std::optional<Value> equals;
  bool reads_first = false;
  bool is_negated = false;

  struct TermResult {
    TruthValue verdict = TruthValue::Error;
    std::uint64_t cost = 0;  // above the limit: the verdict is meaningless
  };
  // For a leaf, or a domain that needs the whole device. `device` needs only the attributes that are read.
  TermResult evaluate(const ObjectSource& device, std::uint64_t cost_limit) const;
  // The largest possible cost of `attribute == constant`.
  std::uint64_t cost_of_equals() const;

 private:
  friend PredicateTerm split(const Program& program);
  friend class Splitter;
  std::shared_ptr<const Program::Impl> program_;
  const Node* node_ = nullptr;
  std::vector<const Node*> binds_;  // the enclosing cel.bind, outermost first
};

// `program` is of dra_environment() or of one with the same variable. split() never fails: any program may
// become a single leaf that reads everything.
PredicateTerm split(const Program& program);

}  // namespace berth::cel
