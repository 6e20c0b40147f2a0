#include "cel/estimate.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "cel/environment.h"
#include "cel/limits.h"

namespace berth::cel {
namespace {

constexpr double kTraversal = 0.1, kPatternLength = 0.25;
constexpr std::uint64_t kAll = UINT64_MAX;

std::uint64_t plus(std::uint64_t a, std::uint64_t b) {
  return a > kAll - b ? kAll : a + b;
}
std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kAll : product;
}
// Rounded up.
std::uint64_t scaled(std::uint64_t size, double factor) {
  constexpr double kTwoTo64 = 18446744073709551616.0;
  const double product = std::ceil(static_cast<double>(size) * factor);
  return product >= kTwoTo64 ? kAll : static_cast<std::uint64_t>(product);
}

struct Range {
  std::uint64_t min = 0, max = kAll;

  Range plus_range(Range other) const { return {plus(min, other.min), plus(max, other.max)}; }
  Range times_range(Range other) const { return {times(min, other.min), times(max, other.max)}; }
  Range united(Range other) const { return {std::min(min, other.min), std::max(max, other.max)}; }
};
using Size = std::optional<Range>;

Range fixed(std::uint64_t size) {
  return {size, size};
}

// Of the items of a container.
struct EntrySize {
  bool is_list = false;
  Range key, item;
};
using Entries = std::optional<EntrySize>;

Entries united(const Entries& a, const Entries& b) {
  if (!a || !b) return std::nullopt;
  return EntrySize{a->is_list, a->key.united(b->key), a->item.united(b->item)};
}

// The way from a variable to a value: "self", "spec", "@items". As in cel-go, ways that were extended from
// one another share their storage, and the last extension is what all of them read.
class Way {
 public:
  Way() = default;
  explicit Way(std::string_view variable) : steps_(std::make_shared<Steps>(Steps{variable})), size_(1) {}

  bool empty() const { return size_ == 0; }
  Way then(std::string_view step) const {
    Way way;
    way.size_ = size_ + 1;
    way.steps_ = steps_;
    if (!steps_ || size_ == steps_->size()) {
      way.steps_ = std::make_shared<Steps>(steps_ ? *steps_ : Steps{});
      way.steps_->resize(std::max<std::size_t>(1, 2 * size_));
    }
    (*way.steps_)[size_] = step;
    return way;
  }
  std::string_view step(std::size_t at) const { return (*steps_)[at]; }
  std::size_t size() const { return size_; }

 private:
  using Steps = std::vector<std::string_view>;
  std::shared_ptr<Steps> steps_;  // as many as there is room for
  std::size_t size_ = 0;
};

bool is_scalar(const TypeRef& type) {
  switch (type->kind) {
    case TypeKind::Bool:
    case TypeKind::Double:
    case TypeKind::Duration:
    case TypeKind::Int:
    case TypeKind::Timestamp:
    case TypeKind::Uint:
      return true;
    default:
      return is_optional(type) && is_scalar(type->parameters[0]);
  }
}

bool is_type_name(const Node& node) {
  return node.kind == NodeKind::Constant && node.constant.is(Kind::Type);
}

// An operand as a function's estimate sees it.
struct Operand {
  const Node* node;
  Way way;
  Size size;

  Range range() const { return size.value_or(Range{}); }
  std::uint64_t cost(double factor = kTraversal) const { return scaled(range().max, factor); }
};

struct CallEstimate {
  std::uint64_t cost = 1;
  Size result = std::nullopt;
};

class Estimator {
 public:
  explicit Estimator(const Environment& environment) : environment_(environment) {}

  std::uint64_t cost(const Node& node) {
    switch (node.kind) {
      case NodeKind::Constant:
        if (!is_type_name(node)) return 0;
        ways_[&node] = Way(node.constant.as_text());
        return 1;
      case NodeKind::Identifier:
        return cost_identifier(node);
      case NodeKind::Presence:
        return cost(*node.args[0]);
      case NodeKind::Select:
        return cost_select(node);
      case NodeKind::Call:
        return cost_call(node);
      case NodeKind::List:
      case NodeKind::Map:
        return cost_container(node);
      case NodeKind::Message: {
        std::uint64_t sum = kMessageCost;
        for (const NodeRef& arg : node.args) sum = plus(sum, cost(*arg));
        return sum;
      }
      case NodeKind::Comprehension:
        break;
    }
    return is_bind(node) ? cost_bind(node) : cost_comprehension(node);
  }

 private:
  struct Local {
    std::string_view name;
    Way way;
    Size size;
    Entries entries;
    std::optional<std::uint64_t> cost = std::nullopt;  // of the receiver of optMap, which stands in its place
  };

  const Local* local(std::string_view name) const {
    for (auto at = locals_.rbegin(); at != locals_.rend(); ++at)
      if (at->name == name) return &*at;
    return nullptr;
  }

  Way way_of(const Node& node) const {
    if (node.kind == NodeKind::Identifier)
      if (const Local* found = local(node.name)) return found->way;
    const auto known = ways_.find(&node);
    return known == ways_.end() ? Way() : known->second;
  }

  Size declared_size(const Way& way) const {
    const SizedType* at = environment_.sizes();
    if (!at || way.empty()) return std::nullopt;
    if (!environment_.sized_variable().empty() && way.step(0) != environment_.sized_variable())
      return std::nullopt;
    for (std::size_t i = 1; i < way.size(); ++i) {
      const std::string_view step = way.step(i);
      if (step == "@items" || step == "@values") {
        at = at->item;
      } else if (step == "@keys") {
        at = at->key;
      } else {
        const auto field = at->fields.find(step);
        at = field != at->fields.end() ? field->second : at->has_named_items ? at->item : nullptr;
      }
      if (!at) return std::nullopt;
    }
    return Range{0, at->elements};
  }

  static Size written_size(const Node& node) {
    if (node.kind == NodeKind::List) return fixed(node.args.size());
    if (node.kind == NodeKind::Map) return fixed(node.args.size() / 2);
    if (node.kind != NodeKind::Constant || is_type_name(node)) return std::nullopt;
    return fixed(size_of(node.constant));
  }

  Size size_of_node(const Node& node) {
    if (const auto known = sizes_.find(&node); known != sizes_.end()) return known->second;
    if (Size written = written_size(node)) return written;
    if (Size declared = declared_size(way_of(node))) return sizes_[&node] = *declared, declared;
    if (is_scalar(node.type)) return fixed(1);
    const Local* found = node.kind == NodeKind::Identifier ? local(node.name) : nullptr;
    return found ? found->size : std::nullopt;
  }
  Range range_of(const Node& node) { return size_of_node(node).value_or(Range{}); }

  Entries entries_of(const Node& node) const {
    if (const auto known = entries_.find(&node); known != entries_.end()) return known->second;
    const Local* found = node.kind == NodeKind::Identifier ? local(node.name) : nullptr;
    return found ? found->entries : std::nullopt;
  }

  void set_size(const Node& node, const Size& size) {
    if (size) sizes_[&node] = *size;
  }
  void set_entries(const Node& node, const Entries& entries) {
    if (entries) entries_[&node] = *entries;
  }
  void copy_sizes(const Node& to, const Node& from) {
    set_size(to, size_of_node(from));
    set_entries(to, entries_of(from));
  }

  std::uint64_t cost_identifier(const Node& node) {
    const Local* found = local(node.name);
    ways_[&node] = found ? found->way : Way(node.name);
    return found && found->cost ? *found->cost : 1;
  }

  std::uint64_t cost_select(const Node& node) {
    const Node& operand = *node.args[0];
    const std::uint64_t sum = cost(operand);
    if (node.is_optional) return plus(sum, 1);  // a call to cel-go
    ways_[&node] = way_of(operand).then(node.name);
    const TypeKind kind = operand.type->kind;
    const bool is_read = kind == TypeKind::Map || kind == TypeKind::Object || kind == TypeKind::Parameter;
    return plus(sum, is_read ? 1 : 0);
  }

  std::uint64_t cost_container(const Node& node) {
    const bool is_list = node.kind == NodeKind::List;
    std::uint64_t sum = is_list ? kListCost : kMapCost;
    Range key{kAll, 0}, item{kAll, 0};
    if (node.args.empty()) key.min = item.min = 0;
    for (std::size_t i = 0; i < node.args.size(); ++i) {
      sum = plus(sum, cost(*node.args[i]));
      Range& range = is_list || i % 2 == 1 ? item : key;
      range = range.united(range_of(*node.args[i]));
    }
    set_entries(node, EntrySize{is_list, is_list ? fixed(1) : key, item});
    return sum;
  }

  void push_variable(std::string_view name, const Node& range, std::string_view of_list,
                     std::string_view of_map, bool takes_item) {
    const Entries entries = entries_of(range);
    const bool is_list = entries ? entries->is_list : range.type->kind == TypeKind::List;
    const bool item = takes_item || (of_list == "@items" && is_list);
    const Size size = entries ? Size(item ? entries->item : entries->key) : std::nullopt;
    locals_.push_back({name, way_of(range).then(is_list ? of_list : of_map), size, std::nullopt});
  }

  std::uint64_t cost_comprehension(const Node& node) {
    const Node &range = *node.args[kRange], &start = *node.args[kStart], &step = *node.args[kStep];
    std::uint64_t sum = cost(range);
    sum = plus(sum, cost(start));
    locals_.push_back({node.accumulator, way_of(start), size_of_node(start), entries_of(start)});
    const std::size_t with_accumulator = locals_.size();
    if (node.second_variable.empty()) {
      push_variable(node.variable, range, "@items", "@keys", false);
    } else {
      push_variable(node.variable, range, "@indices", "@keys", false);
      push_variable(node.second_variable, range, "@items", "@values", true);
    }
    std::uint64_t round = cost(*node.args[kCondition]);
    round = plus(cost(step), round);
    locals_.resize(with_accumulator);
    sum = plus(sum, cost(*node.args[kResult]));
    locals_.pop_back();
    const Range rounds = range_of(range);
    sum = plus(sum, times(rounds.max, round));
    if (start.kind == NodeKind::Constant) {
      set_size(node, size_of_node(start));
    } else if (start.kind == NodeKind::List || start.kind == NodeKind::Map) {
      set_size(node, rounds);
      set_entries(node, entries_of(step));
    }
    return sum;
  }

  std::uint64_t cost_bind(const Node& node) {
    const Node &start = *node.args[kStart], &result = *node.args[kResult];
    // optMap names its receiver once here, and repeats it in cel-go.
    const bool repeats = node.accumulator == "@target";
    const std::uint64_t value = cost(start);
    locals_.push_back({node.accumulator, way_of(start), size_of_node(start), entries_of(start)});
    if (repeats) locals_.back().cost = value;
    std::uint64_t sum = cost(result);
    locals_.pop_back();
    copy_sizes(node, result);
    if (!repeats) sum = plus(sum, plus(value, kListCost));
    return sum;
  }

  Operand operand_of(const Node& node) { return {&node, way_of(node), size_of_node(node)}; }

  std::uint64_t cost_call(const Node& node) {
    if (node.name == "dyn") {
      const std::uint64_t value = cost(*node.args[0]);
      copy_sizes(node, *node.args[0]);
      return plus(1, value);
    }
    std::vector<Operand> args;
    std::vector<std::uint64_t> costs;
    for (std::size_t i = node.is_member ? 1 : 0; i < node.args.size(); ++i) {
      costs.push_back(cost(*node.args[i]));
      args.push_back(operand_of(*node.args[i]));
    }
    std::uint64_t of_target = 0;
    std::optional<Operand> target;
    if (node.is_member) {
      of_target = cost(*node.args[0]);
      target = operand_of(*node.args[0]);
    }
    if (node.special == Special::And || node.special == Special::Or) {
      set_size(node, size_of_node(node));
      return plus(costs[0], costs[1]);
    }
    if (node.special == Special::Choice) return cost_choice(node, args, costs);
    std::uint64_t of_args = 0, most = 0;
    for (const std::uint64_t arg : costs) of_args = plus(of_args, arg);
    Size result;
    for (const Overload* overload : node.overloads) {
      const CallEstimate call = estimate(node, *overload, target ? &*target : nullptr, args);
      most = std::max(most, plus(call.cost, of_args));
      if (call.result) result = result ? result->united(*call.result) : *call.result;
      if (node.name == "_[_]") extend_way(node, *overload, result);
      if (!result) result = size_of_node(node);
    }
    set_size(node, result);
    return plus(of_target, most);
  }

  void extend_way(const Node& node, const Overload& overload, Size& result) {
    const TypeKind kind = overload.parameters[0]->kind;
    if (kind != TypeKind::List && kind != TypeKind::Map) return;
    const Entries entries = entries_of(*node.args[0]);
    result = entries ? Size(entries->item) : std::nullopt;
    ways_[&node] = way_of(*node.args[0]).then(kind == TypeKind::List ? "@items" : "@values");
  }

  std::uint64_t cost_choice(const Node& node, const std::vector<Operand>& args,
                            const std::vector<std::uint64_t>& costs) {
    set_entries(node, united(entries_of(*args[1].node), entries_of(*args[2].node)));
    set_size(node, args[1].range().united(args[2].range()));
    return plus(costs[0], std::max(costs[1], costs[2]));
  }

  // Of the items of a list; nothing for other values.
  std::optional<Range> item_range(const Operand& list) const {
    if (list.node->type->parameters.empty()) return std::nullopt;
    return declared_size(list.way.empty() ? Way() : copied(list.way).then("@items")).value_or(Range{});
  }
  // Extending it does not touch the original.
  static Way copied(const Way& way) {
    Way copy;
    for (std::size_t i = 0; i < way.size(); ++i) copy = copy.then(way.step(i));
    return copy;
  }

  CallEstimate estimate(const Node& node, const Overload& overload, const Operand* target,
                        const std::vector<Operand>& args);
  std::optional<CallEstimate> estimate_list(const Node& node, const Operand* target,
                                            const std::vector<Operand>& args);
  std::optional<CallEstimate> estimate_text(const Node& node, const Operand* target,
                                            const std::vector<Operand>& args);
  std::optional<CallEstimate> estimate_kubernetes(const Node& node, const Overload& overload,
                                                  const Operand* target, const std::vector<Operand>& args);
  CallEstimate estimate_addition(const Node& node, const Overload& overload,
                                 const std::vector<Operand>& args);
  CallEstimate estimate_search(const Operand* target, const std::vector<Operand>& args) const;
  CallEstimate estimate_replace(const Operand& target, const std::vector<Operand>& args) const;
  CallEstimate estimate_join(const Operand& target, const std::vector<Operand>& args) const;
  static std::uint64_t equality_cost(const std::vector<Operand>& args) {
    return scaled(std::min(args[0].range().max, args[1].range().max), kTraversal);
  }

  const Environment& environment_;
  std::vector<Local> locals_;
  std::unordered_map<const Node*, Way> ways_;
  std::unordered_map<const Node*, Range> sizes_;
  std::unordered_map<const Node*, EntrySize> entries_;
};

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::uint64_t written_number(const Node& node, std::uint64_t otherwise) {
  if (node.kind != NodeKind::Constant || !node.constant.is(Kind::Int)) return otherwise;
  return node.constant.as_int() < 0 ? 0 : static_cast<std::uint64_t>(node.constant.as_int());
}

CallEstimate made_list(double factor, Range size) {
  return {plus(plus(scaled(size.max, factor), 1), kListCost), size};
}

// cel-go's lists and sets.
std::optional<CallEstimate> Estimator::estimate_list(const Node& node, const Operand* target,
                                                     const std::vector<Operand>& args) {
  const std::string& name = node.name;
  if (name == "lists.range") return made_list(1, fixed(written_number(*args[0].node, kAll)));
  if (is_one_of(name, {"sets.contains", "sets.intersects", "sets.equivalent"})) {
    const std::uint64_t pairs = times(args[0].range().max, args[1].range().max);
    return CallEstimate{plus(scaled(pairs, name == "sets.equivalent" ? 2 : 1), 1)};
  }
  if (!target) return std::nullopt;
  const Range size = target->range();
  if (name == "slice")
    return made_list(1, fixed(written_number(*args[1].node, size.max) - written_number(*args[0].node, 0)));
  if (name == "reverse") return made_list(1, size);
  if (name == "flatten")
    return made_list(args.empty() ? 1 : static_cast<double>(written_number(*args[0].node, kAll)), size);
  if (name == "distinct") return made_list(2, size.times_range(size));
  if (name != "sort" && name != "@sortByAssociatedKeys") return std::nullopt;
  const Operand& sorted = name == "sort" ? *target : args[0];
  const TypeRef& type = sorted.node->type;
  const TypeKind item = type->parameters.empty() ? TypeKind::Dyn : type->parameters[0]->kind;
  const bool is_text = item == TypeKind::String || item == TypeKind::Bytes || item == TypeKind::Dyn;
  return made_list(is_text ? 2 + kTraversal : 2, sorted.range().times_range(sorted.range()));
}

CallEstimate Estimator::estimate_replace(const Operand& target, const std::vector<Operand>& args) const {
  const Range size = target.range(), from = args[0].range(), to = args[1].range();
  Range count{0, 0}, kept{0, 0};
  const auto replacements = [](std::uint64_t bytes, std::uint64_t each) {
    return scaled(1, static_cast<double>(bytes) / static_cast<double>(each));
  };
  if (from.min == 0) {
    count.max = plus(size.max, 1);
    kept.max = size.max;
  } else if (to.max <= from.min) {
    kept.max = size.max;
  } else {
    count.max = replacements(size.max, from.min);
  }
  if (from.max == 0) {
    count.min = plus(size.min, 1);
    kept.min = size.min;
  } else if (from.max <= to.min) {
    kept.min = size.min;
  } else {
    count.min = replacements(size.min, from.max);
  }
  return {scaled(size.max, 2 * kTraversal), count.times_range(to).plus_range(kept)};
}

CallEstimate Estimator::estimate_join(const Operand& target, const std::vector<Operand>& args) const {
  const Range list = target.range();
  Range size{0, 0};
  if (const std::optional<Range> item = item_range(target)) size = list.times_range(*item);
  if (!args.empty()) {
    const Range between{list.min > 0 ? list.min - 1 : 0, list.max > 0 ? list.max - 1 : 0};
    size = size.plus_range(args[0].range().times_range(between));
  }
  return {scaled(size.max, kTraversal), size};
}

CallEstimate Estimator::estimate_search(const Operand* target, const std::vector<Operand>& args) const {
  const Operand& text = target ? *target : args[0];
  const Operand& pattern = target ? args[0] : args[1];
  return {times(scaled(plus(text.range().max, 1), kTraversal), pattern.cost(kPatternLength))};
}

// Kubernetes' estimates of texts.
std::optional<CallEstimate> Estimator::estimate_text(const Node& node, const Operand* target,
                                                     const std::vector<Operand>& args) {
  const std::string& name = node.name;
  if (is_one_of(name, {"url", "jsonpatch.escapeKey"})) return CallEstimate{args[0].cost(), args[0].range()};
  if (is_one_of(name, {"quantity", "isQuantity", "semver", "isSemver", "cidr", "isIP", "isCIDR"}))
    return CallEstimate{args[0].cost()};
  if (name == "ip.isCanonical") return CallEstimate{args[0].cost(2 * kTraversal)};
  if (!target) return std::nullopt;
  if (is_one_of(name, {"lowerAscii", "upperAscii", "substring", "trim"}))
    return CallEstimate{target->cost(), target->range()};
  if (name == "replace") return estimate_replace(*target, args);
  if (name == "join") return estimate_join(*target, args);
  if (name == "split") {
    std::uint64_t most = target->range().max;
    if (args.size() > 1 && args[1].node->kind == NodeKind::Constant && args[1].node->constant.is(Kind::Int))
      most = static_cast<std::uint64_t>(args[1].node->constant.as_int());
    return CallEstimate{target->cost(2 * kTraversal), Range{0, most}};
  }
  if (is_one_of(name, {"find", "findAll"}))
    return CallEstimate{estimate_search(target, args).cost, Range{0, target->range().max}};
  return std::nullopt;
}

// The rest of Kubernetes' estimates; those of 1 are what other functions have too.
std::optional<CallEstimate> Estimator::estimate_kubernetes(const Node& node, const Overload& overload,
                                                           const Operand* target,
                                                           const std::vector<Operand>& args) {
  const std::string& name = node.name;
  constexpr std::uint64_t kCheckCost = 350'000;
  if (name == "check") return CallEstimate{kCheckCost};
  if (is_one_of(name, {"fieldSelector", "labelSelector"}) && args.size() == 1) {
    const std::uint64_t requirements = args[0].cost(0.5);
    return CallEstimate{plus(plus(kListCost, args[0].cost()),
                             scaled(requirements, static_cast<double>(kListCost + kMessageCost)))};
  }
  if (target && is_one_of(name, {"isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes"})) {
    const std::optional<Range> item = item_range(*target);
    if (!item && name != "includes") return CallEstimate{target->cost()};
    const TypeKind kind = item ? target->node->type->parameters[0]->kind : TypeKind::Dyn;
    const bool is_text = kind == TypeKind::String || kind == TypeKind::Bytes;
    return CallEstimate{times(target->range().max, is_text ? plus(1, scaled(item->max, kTraversal)) : 1)};
  }
  if (name == "ip") return target ? CallEstimate{1} : CallEstimate{args[0].cost()};
  if (is_one_of(name, {"containsIP", "containsCIDR"})) {
    constexpr std::uint64_t kBytes = 16;
    std::uint64_t sum = scaled(2 * kBytes, kTraversal);
    if (name == "containsCIDR") sum += scaled(kBytes, kTraversal) + 1;
    const bool is_text = overload.parameters[1]->kind == TypeKind::String;
    return CallEstimate{plus(sum, is_text ? args[0].cost() : 0)};
  }
  if (name == "validate") {
    constexpr double kNamedPatternBytes = 128;
    return CallEstimate{scaled(args[0].cost(), kNamedPatternBytes * kPatternLength)};
  }
  if (name != "_==_" || !same_type(args[0].node->type, args[1].node->type)) return std::nullopt;
  const std::string& type = args[0].node->type->name;
  if (args[0].node->type->kind != TypeKind::Object) return std::nullopt;
  constexpr double kFormatBytes = 64;
  if (type == "kubernetes.NamedFormat") return CallEstimate{scaled(1, kFormatBytes * kTraversal)};
  if (type == "kubernetes.URL") return CallEstimate{scaled(args[1].size ? args[1].size->max : 1, kTraversal)};
  if (type.starts_with("kubernetes.") || type.starts_with("net.")) return CallEstimate{1};
  return std::nullopt;
}

CallEstimate Estimator::estimate_addition(const Node& node, const Overload& overload,
                                          const std::vector<Operand>& args) {
  const TypeKind kind = overload.parameters[0]->kind;
  if (kind != TypeKind::String && kind != TypeKind::Bytes && kind != TypeKind::List) return {};
  const Range size = args[0].range().plus_range(args[1].range());
  set_entries(node, united(entries_of(*args[0].node), entries_of(*args[1].node)));
  return {kind == TypeKind::List ? 1 : scaled(size.max, kTraversal), size};
}

CallEstimate Estimator::estimate(const Node& node, const Overload& overload, const Operand* target,
                                 const std::vector<Operand>& args) {
  const std::string& name = node.name;
  if (const auto list = estimate_list(node, target, args)) return *list;
  if (const auto text = estimate_text(node, target, args)) return *text;
  if (const auto kubernetes = estimate_kubernetes(node, overload, target, args)) return *kubernetes;
  if (name == "format" && target) return {target->cost()};
  const TypeKind first = overload.parameters.empty() ? TypeKind::Dyn : overload.parameters[0]->kind;
  if (name == "bytes" && first == TypeKind::String)
    return {args[0].cost(), Range{args[0].range().min, args[0].range().max * 4}};
  if (name == "string" && first == TypeKind::Bytes)
    return {args[0].cost(), Range{args[0].range().min / 4, args[0].range().max}};
  if (name == "strings.quote")
    return {args[0].cost(), Range{args[0].range().min + 2, args[0].range().max * 2 + 2}};
  if (is_one_of(name, {"startsWith", "endsWith"})) return {args[0].cost()};
  if (name == "@in" && overload.parameters[1]->kind == TypeKind::List) return {args[1].range().max};
  if (name == "matches") return estimate_search(target, args);
  if (name == "contains" && target) return {times(target->cost(), args[0].cost())};
  if (name == "_+_") return estimate_addition(node, overload, args);
  if (is_one_of(name, {"_==_", "_!=_"})) return {equality_cost(args)};
  const bool is_text = first == TypeKind::String || first == TypeKind::Bytes;
  if (is_text && is_one_of(name, {"_<_", "_<=_", "_>_", "_>=_"})) return {equality_cost(args)};
  return {};
}

}  // namespace

std::uint64_t estimate_cost(const Node& root, const Environment& environment) {
  return Estimator(environment).cost(root);
}

}  // namespace berth::cel
