// The syntax tree of an expression with macros expanded, and the checker's annotations.
//
// Owner: a Program, immutable after compilation. Depth is at most kNestingMax times a small constant, so
// walks recurse.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cel/type.h"
#include "cel/value.h"

namespace berth::cel {

struct Overload;

enum class NodeKind : std::uint8_t {
  Constant,
  Identifier,     // name
  Select,         // args[0] . name
  Presence,       // has(args[0].name)
  Call,           // name(args…); the receiver is args[0] when is_member
  List,           // args
  Map,            // args: key, value, key, value…
  Message,        // name; args are the fields' values, fields their names
  Comprehension,  // args: range, accumulator's start, condition, step, result
};

// The positions of a comprehension's parts in args.
enum ComprehensionPart : std::size_t { kRange, kStart, kCondition, kStep, kResult };

// Calls that the evaluator implements itself: they do not evaluate all arguments, or they look into the map.
enum class Special : std::uint8_t {
  None,
  And,
  Or,
  Choice,
  NotStrictlyFalse,
  Index,
  OptionalIndex,
  FirstPresent,
  ValueOr
};

struct Node;
using NodeRef = std::unique_ptr<Node>;

struct Node {
  NodeKind kind = NodeKind::Constant;
  bool is_member = false;
  // Select and index: `.?name`, `[?index]`.
  bool is_optional = false;
  bool is_absolute = false;  // Identifier: written with a leading dot, never a comprehension's variable
  std::uint16_t depth = 1;   // of this tree as written
  std::uint32_t offset = 0;
  Value constant;
  std::string name;
  std::vector<NodeRef> args;
  std::vector<bool> optional_entries;  // of List, Map (one an entry) and Message
  std::vector<std::string> fields;
  std::vector<std::uint32_t> entry_offsets;  // of Map: the colons

  // Comprehension variables; second is empty in the one-variable form.
  std::string variable, second_variable, accumulator;

  // Filled by the checker.
  Special special = Special::None;
  bool is_last_use = false;  // Identifier: the variable is overwritten next, so its value may be moved
  bool is_free = false;      // Call: costs nothing beyond its arguments
  bool is_in_set = false;    // Call of `in`: the list is constant and of scalars, so cel-go hashes the item
  TypeRef type;
  std::vector<const Overload*> overloads;  // those that may match, in declaration order
  int slot = -1;                           // Identifier: local variable; Comprehension: first variable's slot
  int second_slot = -1, accumulator_slot = -1;
  int variable_index = -1;  // Identifier: declared variable
  int field_index = -1;     // Select on a declared object
};

// Whether a comprehension only binds its start to a name for its result, like cel.bind.
bool is_bind(const Node& node);

// One line, unambiguous: (call _+_ 1 2).
std::string ast_text(const Node& node);

}  // namespace berth::cel
