// A device selector as logic over parts, each with what it reads of the device: a part that reads one
// attribute needs one evaluation for every distinct value of that attribute, not one for every device.
//
// Cost: one walk of the tree, and an evaluation of a part is the tree walker's. Threads: immutable, shared.
// The parts' answers combine to the program's own: an error in one side of && or || is absorbed as CEL has
// it.
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

// A value that is no bool is an error wherever a selector can put it.
enum class TruthValue : std::uint8_t { False, True, Error };

// A field of the device, or one entry of its attributes or capacity.
struct AttributeRef {
  DeviceField field = kDeviceDriver;
  std::string domain, id;
  friend auto operator<=>(const AttributeRef&, const AttributeRef&) = default;
};

enum class TermKind : std::uint8_t {
  Leaf,    // evaluate() answers
  Domain,  // "has the device an entry in reads[0].domain?": `'d' in device.attributes`
  And,     // of all parts, left to right
  Or,
  Not,     // parts[0]
  Choice,  // parts[0] ? parts[1] : parts[2]
};

class PredicateTerm {
 public:
  TermKind kind = TermKind::Leaf;
  std::vector<PredicateTerm> parts;

  // Leaf: sorted, each once. With reads_all it may look at anything, and `reads` is empty.
  std::vector<AttributeRef> reads;
  bool reads_all = false;
  // Leaf of one reading that is just `reading == constant` (or != with `is_negated`): true for that value,
  // false for every other, an error where the device has none.
  std::optional<Value> equals;
  bool is_negated = false;

  struct TermResult {
    TruthValue verdict = TruthValue::Error;
    std::uint64_t cost = 0;  // above the limit: the verdict means nothing
  };
  // Of a leaf or a domain, whose answer needs the whole device. `device` need only have what is read.
  TermResult evaluate(const ObjectSource& device, std::uint64_t cost_limit) const;
  // The most that deciding `reading == constant` can cost.
  std::uint64_t cost_of_equals() const;

 private:
  friend PredicateTerm split(const Program& program);
  friend class Splitter;
  std::shared_ptr<const Program::Impl> program_;
  const Node* node_ = nullptr;
  std::vector<const Node*> binds_;  // the enclosing cel.bind, outermost first
};

// `program` is of dra_environment() or one with the same variable. Parts of one leaf that reads everything
// are possible for any program: split() always answers.
PredicateTerm split(const Program& program);

}  // namespace berth::cel
