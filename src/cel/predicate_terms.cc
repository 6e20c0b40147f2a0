#include "cel/predicate_terms.h"

#include <algorithm>
#include <map>

#include "cel/program_impl.h"

namespace berth::cel {
namespace {

// The current position of a chain of selections: the device, a map of domains, or one domain.
struct AccessPath {
  enum class Level : std::uint8_t { Device, Domains, Entries } level = Level::Device;
  DeviceField field = kDeviceDriver;
  std::string domain;
};

// The literal key of a selection or an index; nothing when it is computed.
std::optional<std::string> literal_key(const Node& node) {
  if (node.kind == NodeKind::Select || node.kind == NodeKind::Presence) return node.name;
  const bool is_index = node.special == Special::Index || node.special == Special::OptionalIndex;
  if (node.kind != NodeKind::Call || !is_index) return std::nullopt;
  const Node& key = *node.args[1];
  if (key.kind != NodeKind::Constant || !key.constant.is(Kind::String)) return std::nullopt;
  return std::string(key.constant.as_text());
}

bool is_logic(const Node& node, Special special) {
  return node.kind == NodeKind::Call && node.special == special;
}
bool is_call(const Node& node, std::string_view name, std::size_t args) {
  return node.kind == NodeKind::Call && node.name == name && node.args.size() == args && !node.is_member;
}

}  // namespace

class Splitter {
 public:
  explicit Splitter(std::shared_ptr<const Program::Impl> program) : program_(std::move(program)) {}

  PredicateTerm part_of(const Node& node) {
    if (std::optional<PredicateTerm> domain = domain_part(node)) return std::move(*domain);
    const Seen seen = readings_of(node);
    if (!seen.all && seen.readings.size() <= 1) return leaf_of(node, seen);
    for (const auto& [special, kind] :
         {std::pair(Special::And, TermKind::And), std::pair(Special::Or, TermKind::Or)})
      if (is_logic(node, special)) return logic_part(node, kind);
    if (is_logic(node, Special::Choice)) return branch(node, TermKind::Choice);
    if (is_call(node, "!_", 1)) return branch(node, TermKind::Not);
    if (!is_bind(node)) return leaf_of(node, seen);
    binds_.push_back(&node);
    PredicateTerm part = part_of(*node.args[kResult]);
    binds_.pop_back();
    return part;
  }

 private:
  struct Seen {
    std::vector<AttributeRef> readings;
    bool all = false;

    void add(AttributeRef reading) {
      const auto at = std::lower_bound(readings.begin(), readings.end(), reading);
      if (at == readings.end() || *at != reading) readings.insert(at, std::move(reading));
    }
    void add(const Seen& other) {
      all = all || other.all;
      for (const AttributeRef& reading : other.readings) add(reading);
    }
  };

  PredicateTerm logic_part(const Node& node, TermKind kind) {
    PredicateTerm part = branch(node, kind);
    std::vector<PredicateTerm> flat;
    for (PredicateTerm& inner : part.parts) {
      if (inner.kind != kind)
        flat.push_back(std::move(inner));
      else
        std::move(inner.parts.begin(), inner.parts.end(), std::back_inserter(flat));
    }
    part.parts = std::move(flat);
    return part;
  }

  PredicateTerm branch(const Node& node, TermKind kind) {
    PredicateTerm part;
    part.kind = kind;
    for (const NodeRef& arg : node.args) part.parts.push_back(part_of(*arg));
    return part;
  }

  PredicateTerm leaf_of(const Node& node, const Seen& seen) {
    PredicateTerm part;
    part.program_ = program_;
    part.node_ = &node;
    part.binds_ = binds_;
    part.reads_all = seen.all;
    if (!seen.all) part.reads = seen.readings;
    if (!seen.all && seen.readings.size() == 1) find_equality(node, part);
    return part;
  }

  void find_equality(const Node& node, PredicateTerm& part) {
    part.is_negated = is_call(node, "_!=_", 2);
    if (!part.is_negated && !is_call(node, "_==_", 2)) return;
    const bool constant_first = node.args[0]->kind == NodeKind::Constant;
    const Value& constant = node.args[constant_first ? 0 : 1]->constant;
    if (node.args[constant_first ? 0 : 1]->kind != NodeKind::Constant) return;
    const bool plain = constant.is(Kind::String) || constant.is(Kind::Int) || constant.is(Kind::Bool);
    part.reads_first = !constant_first;
    if (plain && is_plain_reading(*node.args[constant_first ? 1 : 0])) part.equals = constant;
  }

  // `device.driver` or `device.attributes[d].id` as written: no optional, no presence test.
  bool is_plain_reading(const Node& node) {
    if (!looked_up(node)) return false;
    const Node* at = &node;
    while (at->kind == NodeKind::Select || is_logic(*at, Special::Index)) {
      if (at->is_optional || is_optional(at->type)) return false;
      at = at->args[0].get();
    }
    return at != &node && at->kind == NodeKind::Identifier && at->slot < 0;
  }

  std::optional<PredicateTerm> domain_part(const Node& node) {
    if (!is_call(node, "@in", 2) || node.args[0]->kind != NodeKind::Constant) return std::nullopt;
    const Value& domain = node.args[0]->constant;
    const std::optional<AccessPath> place = place_of(*node.args[1]);
    if (!domain.is(Kind::String) || !place || place->level != AccessPath::Level::Domains) return std::nullopt;
    PredicateTerm part = leaf_of(node, {{}, true});
    part.kind = TermKind::Domain;
    part.reads = {{place->field, std::string(domain.as_text()), ""}};
    return part;
  }

  const Node* aliased(const Node& node) const {
    if (node.kind != NodeKind::Identifier || node.slot < 0) return nullptr;
    const auto found = aliases_.find(node.slot);
    return found == aliases_.end() ? nullptr : found->second;
  }

  std::optional<AccessPath> place_of(const Node& node) {
    if (const Node* alias = aliased(node)) return place_of(*alias);
    if (node.kind == NodeKind::Identifier && node.slot < 0) return AccessPath{};
    if (node.kind == NodeKind::Presence || node.kind == NodeKind::Constant) return std::nullopt;
    const std::optional<std::string> key = literal_key(node);
    if (!key) return std::nullopt;
    std::optional<AccessPath> place = place_of(*node.args[0]);
    if (!place) return std::nullopt;
    if (place->level == AccessPath::Level::Domains) {
      place->level = AccessPath::Level::Entries;
      place->domain = *key;
      return place;
    }
    const bool is_map = node.field_index == kDeviceAttributes || node.field_index == kDeviceCapacity;
    if (place->level != AccessPath::Level::Device || !is_map) return std::nullopt;
    return AccessPath{AccessPath::Level::Domains, static_cast<DeviceField>(node.field_index), ""};
  }

  // What a look-up reads; nothing when the node is not a look-up.
  std::optional<Seen> looked_up(const Node& node) {
    const bool member = is_call(node, "@in", 2);
    const bool literal =
        member && node.args[0]->kind == NodeKind::Constant && node.args[0]->constant.is(Kind::String);
    const std::optional<std::string> key =
        literal ? std::string(node.args[0]->constant.as_text()) : literal_key(node);
    if (!key) return std::nullopt;
    const std::optional<AccessPath> place = place_of(*node.args[member ? 1 : 0]);
    if (!place) return std::nullopt;
    Seen seen;
    if (place->level == AccessPath::Level::Entries) {
      seen.add({place->field, place->domain, *key});
    } else if (place->level == AccessPath::Level::Device) {
      const bool is_map = node.field_index == kDeviceAttributes || node.field_index == kDeviceCapacity;
      if (node.field_index < 0 || (is_map && node.kind != NodeKind::Presence)) return std::nullopt;
      if (!is_map) seen.add({static_cast<DeviceField>(node.field_index), "", ""});
    } else if (node.kind != NodeKind::Presence) {
      return std::nullopt;  // has(device.attributes.d) is true for every d
    }
    return seen;
  }

  Seen readings_of(const Node& node) {
    if (const std::optional<Seen> seen = looked_up(node)) return *seen;
    Seen seen;
    if (place_of(node)) {
      seen.all = true;
    } else if (aliased(node)) {
      seen = alias_readings_.at(node.slot);
    } else if (is_bind(node)) {
      aliases_[node.accumulator_slot] = node.args[kStart].get();
      alias_readings_[node.accumulator_slot] = readings_of(*node.args[kStart]);
      seen = readings_of(*node.args[kResult]);
    } else {
      for (const NodeRef& arg : node.args) seen.add(readings_of(*arg));
    }
    return seen;
  }

  std::shared_ptr<const Program::Impl> program_;
  std::vector<const Node*> binds_;
  std::map<int, const Node*> aliases_;  // by slot
  std::map<int, Seen> alias_readings_;
};

PredicateTerm split(const Program& program) {
  return Splitter(program.impl_).part_of(*program.impl_->root);
}

PredicateTerm::TermResult PredicateTerm::evaluate(const ObjectSource& device,
                                                  std::uint64_t cost_limit) const {
  const Value variables[] = {Value::borrow_object(device)};
  Evaluator evaluator(*program_->environment, program_->patterns, variables, program_->slot_count,
                      cost_limit);
  for (const Node* bind : binds_) evaluator.bind(*bind);
  const Value value = evaluator.evaluate(*node_);
  if (!value.is(Kind::Bool)) return {TruthValue::Error, evaluator.cost()};
  return {value.as_bool() ? TruthValue::True : TruthValue::False, evaluator.cost()};
}

std::uint64_t PredicateTerm::cost_of_equals() const {
  constexpr std::uint64_t kLookUp = 8;
  return kLookUp + size_of(*equals);
}

}  // namespace berth::cel
