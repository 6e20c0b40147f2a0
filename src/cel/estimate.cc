#include "cel/estimate.h"

#include <algorithm>
#include <vector>

#include "cel/environment.h"
#include "cel/limits.h"

namespace berth::cel {
namespace {

constexpr std::uint64_t kNumberTextMax = 24;

std::uint64_t plus(std::uint64_t a, std::uint64_t b) {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}
std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

Kind kind_of(const TypeRef& type) {
  switch (type->kind) {
    case TypeKind::String:
      return Kind::String;
    case TypeKind::Bytes:
      return Kind::Bytes;
    case TypeKind::List:
      return Kind::List;
    case TypeKind::Map:
      return Kind::Map;
    default:
      return Kind::Int;
  }
}

class Estimator {
 public:
  explicit Estimator(int slot_count) : slots_(static_cast<std::size_t>(slot_count)) {}

  std::uint64_t cost() const { return cost_; }

  // Adds the node's cost and returns the largest extent of its value.
  Extent walk(const Node& node) {
    switch (node.kind) {
      case NodeKind::Constant:
        return {node.constant.kind(), size_of(node.constant), &node.constant, 1};
      case NodeKind::Identifier:
        charge(1);
        return node.slot >= 0 ? slots_[static_cast<std::size_t>(node.slot)]
                              : Extent{Kind::Object, 1, nullptr, 1};
      case NodeKind::Select:
      case NodeKind::Presence: {
        const Extent target = walk(*node.args[0]);
        if (node.kind == NodeKind::Presence) return {Kind::Bool, 1, nullptr, 1};
        charge(1);
        return entry_of(node, target);
      }
      case NodeKind::Call:
        return walk_call(node);
      case NodeKind::List:
      case NodeKind::Map:
      case NodeKind::Message:
        return walk_literal(node);
      case NodeKind::Comprehension:
        break;
    }
    return walk_comprehension(node);
  }

 private:
  void charge(std::uint64_t cost) { cost_ = plus(cost_, cost); }

  // The extent of an entry of a device's field or a container.
  static Extent entry_of(const Node& node, const Extent& target) {
    Extent entry{kind_of(node.type), kDeviceEntriesMax, nullptr, kAttributeIdSizeMax};
    if (target.is(Kind::Object) && node.type->kind == TypeKind::Map) entry.item_size = kDomainSizeMax;
    if (target.is(Kind::Object) && node.type->kind == TypeKind::String) entry.size = kDomainSizeMax;
    if (is_dyn(node.type)) entry = {Kind::String, kAttributeTextMax, nullptr, kAttributeTextMax};
    if (target.is(Kind::List)) entry.size = target.item_size;
    return entry;
  }

  Extent walk_literal(const Node& node) {
    charge(node.kind == NodeKind::List ? kListCost : node.kind == NodeKind::Map ? kMapCost : kMessageCost);
    Extent literal{kind_of(node.type), node.kind == NodeKind::Map ? node.args.size() / 2 : node.args.size(),
                   nullptr, 1};
    for (const NodeRef& arg : node.args) literal.item_size = std::max(literal.item_size, walk(*arg).size);
    return literal;
  }

  Extent walk_call(const Node& node) {
    if (node.special == Special::Choice) return walk_choice(node);
    std::vector<Extent> args;
    for (const NodeRef& arg : node.args) args.push_back(walk(*arg));
    if (node.special == Special::Index || node.special == Special::OptionalIndex) {
      charge(1);
      return entry_of(node, args[0]);
    }
    const Extent result = result_of(node, args);
    if (node.special != Special::None && node.special != Special::NotStrictlyFalse) return result;
    std::uint64_t dearest = 1;
    for (const Overload* overload : node.overloads)
      if (overload->cost) dearest = std::max(dearest, overload->cost(args, result));
    charge(dearest);
    return result;
  }

  Extent walk_choice(const Node& node) {
    walk(*node.args[0]);
    const std::uint64_t before = cost_;
    const Extent yes = walk(*node.args[1]);
    const std::uint64_t with_yes = cost_;
    cost_ = before;
    const Extent no = walk(*node.args[2]);
    cost_ = std::max(cost_, with_yes);
    return yes.size > no.size ? yes : no;
  }

  // No library function returns more than all its arguments together, apart from lists.range and replace.
  static Extent result_of(const Node& node, const std::vector<Extent>& args) {
    Extent result{is_dyn(node.type) ? Kind::String : kind_of(node.type), 1, nullptr, 1};
    const bool sized =
        result.is(Kind::String) || result.is(Kind::Bytes) || result.is(Kind::List) || result.is(Kind::Map);
    if (!sized && !is_optional(node.type)) return result;
    result.size = result.is(Kind::String) ? kNumberTextMax : 1;
    std::uint64_t total = 0;
    for (const Extent& arg : args) {
      const bool joins = arg.is(Kind::List) && result.is(Kind::String);
      total = plus(total, joins ? times(arg.size, arg.item_size) : arg.size);
      result.item_size =
          std::max(result.item_size, std::max(arg.item_size, arg.is(Kind::List) ? 1 : arg.size));
    }
    result.size = std::max(result.size, total);
    if (node.name == "replace") result.size = times(args[0].size + 1, args[2].size + 1);
    if (node.name == "lists.range")
      result.size = args[0].value && args[0].is(Kind::Int) && args[0].value->as_int() >= 0
                        ? static_cast<std::uint64_t>(args[0].value->as_int())
                        : kRangeMax;
    result.size = std::min<std::uint64_t>(result.size, result.is(Kind::String) ? kTextBytesMax : kItemsMax);
    return result;
  }

  Extent walk_comprehension(const Node& node) {
    const Extent range = walk(*node.args[kRange]);
    const Extent start = walk(*node.args[kStart]);
    slots_[static_cast<std::size_t>(node.accumulator_slot)] = start;
    const Node& condition = *node.args[kCondition];
    if (is_bind(node)) return walk(*node.args[kResult]);
    const bool is_dynamic = is_dyn(node.args[kRange]->type);
    const std::uint64_t rounds = is_dynamic ? std::max(kAttributeListMax, range.size) : range.size;
    slots_[static_cast<std::size_t>(node.slot)] = {Kind::String, range.item_size, nullptr, kAttributeTextMax};
    if (node.second_slot >= 0)
      slots_[static_cast<std::size_t>(node.second_slot)] = slots_[static_cast<std::size_t>(node.slot)];
    const std::uint64_t before = cost_;
    walk(condition);
    const Extent grown = walk(*node.args[kStep]);
    const std::uint64_t round = cost_ - before;
    cost_ = plus(before, times(round, rounds));
    slots_[static_cast<std::size_t>(node.accumulator_slot)] = {start.kind, std::max<std::uint64_t>(rounds, 1),
                                                               nullptr, grown.item_size};
    return walk(*node.args[kResult]);
  }

  std::vector<Extent> slots_;
  std::uint64_t cost_ = 0;
};

}  // namespace

std::uint64_t estimate_cost(const Node& root, int slot_count) {
  Estimator estimator(slot_count);
  estimator.walk(root);
  return estimator.cost();
}

}  // namespace berth::cel
