#include "cel/type.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/assert.h"

namespace berth::cel {
namespace {

TypeRef make(TypeKind kind, std::string name, std::vector<TypeRef> parameters) {
  Type type{kind, std::move(name), std::move(parameters), 1, kind == TypeKind::Parameter};
  for (const TypeRef& parameter : type.parameters) {
    type.has_type_variable |= parameter->has_type_variable;
    if (__builtin_add_overflow(type.weight, parameter->weight, &type.weight)) type.weight = UINT32_MAX;
  }
  return std::make_shared<const Type>(std::move(type));
}

struct NamedKind {
  std::string_view name;
  TypeKind kind;
};
constexpr std::array<NamedKind, 11> kSimple = {{{"dyn", TypeKind::Dyn},
                                                {"null_type", TypeKind::Null},
                                                {"bool", TypeKind::Bool},
                                                {"int", TypeKind::Int},
                                                {"uint", TypeKind::Uint},
                                                {"double", TypeKind::Double},
                                                {"string", TypeKind::String},
                                                {"bytes", TypeKind::Bytes},
                                                {"google.protobuf.Duration", TypeKind::Duration},
                                                {"google.protobuf.Timestamp", TypeKind::Timestamp},
                                                {"type", TypeKind::Type}}};

constexpr std::string_view kAny = "any";

struct Alias {
  std::string_view shorthand;
  std::string_view name;
};
constexpr std::array<Alias, 12> kObjects = {{{"quantity", "kubernetes.Quantity"},
                                             {"semver", "kubernetes.Semver"},
                                             {"url", "kubernetes.URL"},
                                             {"format", "kubernetes.NamedFormat"},
                                             {"ip", "net.IP"},
                                             {"cidr", "net.CIDR"},
                                             {"device", "kubernetes.DRADevice"},
                                             {"authorizer", "kubernetes.authorization.Authorizer"},
                                             {"path_check", "kubernetes.authorization.PathCheck"},
                                             {"group_check", "kubernetes.authorization.GroupCheck"},
                                             {"resource_check", "kubernetes.authorization.ResourceCheck"},
                                             {"decision", "kubernetes.authorization.Decision"}}};

bool nullable(const TypeRef& type) {
  switch (type->kind) {
    case TypeKind::Null:
    case TypeKind::Opaque:
    case TypeKind::Object:
    case TypeKind::Duration:
    case TypeKind::Timestamp:
    case TypeKind::Wrapper:
      return true;
    default:
      return false;
  }
}

bool less_specific(const TypeRef& a, const TypeRef& b) {
  if (is_dyn(a) || a->kind == TypeKind::Parameter) return true;
  if (is_dyn(b) || b->kind == TypeKind::Parameter) return false;
  if (a->kind != b->kind || a->name != b->name || a->parameters.size() != b->parameters.size()) return false;
  if (a->kind == TypeKind::Type) return true;
  for (std::size_t i = 0; i < a->parameters.size(); ++i)
    if (!less_specific(a->parameters[i], b->parameters[i])) return false;
  return true;
}

std::vector<TypeRef> parse_parameters(std::string_view text) {
  std::vector<TypeRef> types;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') ++depth;
    if (i < text.size() && text[i] == ')') --depth;
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      types.push_back(parse_type(text.substr(start, i - start)));
      start = i + 1;
    }
  }
  return types;
}

}  // namespace

TypeRef simple_type(TypeKind kind) {
  static const std::array<TypeRef, kSimple.size()> kTypes = [] {
    std::array<TypeRef, kSimple.size()> types;
    for (std::size_t i = 0; i < kSimple.size(); ++i)
      types[i] = make(kSimple[i].kind, std::string(kSimple[i].name), {});
    return types;
  }();
  for (std::size_t i = 0; i < kSimple.size(); ++i)
    if (kSimple[i].kind == kind) return kTypes[i];
  BERTH_ASSERT(false, "only kinds without parameters are simple");
  return kTypes[0];
}

TypeRef list_type(TypeRef item) {
  return make(TypeKind::List, "list", {std::move(item)});
}
TypeRef map_type(TypeRef key, TypeRef value) {
  return make(TypeKind::Map, "map", {std::move(key), std::move(value)});
}
TypeRef type_type(TypeRef of) {
  return make(TypeKind::Type, "type", {std::move(of)});
}
TypeRef optional_type(TypeRef inner) {
  return make(TypeKind::Opaque, "optional_type", {std::move(inner)});
}
TypeRef object_type(std::string name) {
  return make(TypeKind::Object, std::move(name), {});
}
TypeRef wrapper_type(TypeRef primitive) {
  return make(TypeKind::Wrapper, "wrapper", {std::move(primitive)});
}
TypeRef type_parameter(std::string name) {
  return make(TypeKind::Parameter, std::move(name), {});
}
TypeRef with_parameters(const Type& type, std::vector<TypeRef> parameters) {
  return make(type.kind, type.name, std::move(parameters));
}

bool is_dyn(const TypeRef& type) {
  return type->kind == TypeKind::Dyn;
}
bool is_any(const TypeRef& type) {
  return is_dyn(type) && type->name == kAny;
}
bool is_optional(const TypeRef& type) {
  return type->kind == TypeKind::Opaque && type->name == "optional_type";
}

bool same_type(const TypeRef& a, const TypeRef& b) {
  if (a == b) return true;
  if (a->kind != b->kind || a->name != b->name || a->parameters.size() != b->parameters.size()) return false;
  for (std::size_t i = 0; i < a->parameters.size(); ++i)
    if (!same_type(a->parameters[i], b->parameters[i])) return false;
  return true;
}

std::string type_text(const TypeRef& type) {
  std::string out = type->name;
  for (std::size_t i = 0; i < type->parameters.size(); ++i)
    out += (i == 0 ? "(" : ", ") + type_text(type->parameters[i]);
  return type->parameters.empty() ? out : out + ")";
}

TypeRef parse_type(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  if (text.size() == 1 && text[0] >= 'A' && text[0] <= 'Z') return type_parameter(std::string(text));
  if (const std::size_t open = text.find('('); open != std::string_view::npos) {
    const std::string_view name = text.substr(0, open);
    std::vector<TypeRef> inner = parse_parameters(text.substr(open + 1, text.size() - open - 2));
    if (name == "list") return list_type(inner[0]);
    if (name == "map") return map_type(inner[0], inner[1]);
    if (name == "type") return type_type(inner[0]);
    BERTH_ASSERT(name == "optional", "a function table names an unknown type");
    return optional_type(inner[0]);
  }
  if (text == kAny) return make(TypeKind::Dyn, std::string(kAny), {});
  if (text == "duration") return simple_type(TypeKind::Duration);
  if (text == "timestamp") return simple_type(TypeKind::Timestamp);
  for (const NamedKind& simple : kSimple)
    if (simple.name == text) return simple_type(simple.kind);
  for (const Alias& object : kObjects)
    if (object.shorthand == text) return object_type(std::string(object.name));
  BERTH_ASSERT(false, "a function table names an unknown type");
  return simple_type(TypeKind::Dyn);
}

TypeRef most_general(const TypeRef& a, const TypeRef& b) {
  return less_specific(a, b) ? a : b;
}

bool Substitution::assign(const TypeRef& from, const TypeRef& to) {
  return assign_all({from}, {to});
}

bool Substitution::assign_all(const std::vector<TypeRef>& from, const std::vector<TypeRef>& to) {
  if (from.size() != to.size()) return false;
  journal_.clear();
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (assignable(from[i], to[i])) continue;
    for (auto undo = journal_.rbegin(); undo != journal_.rend(); ++undo) {
      if (undo->second)
        bindings_[undo->first] = undo->second;
      else
        bindings_.erase(undo->first);
    }
    return false;
  }
  return true;
}

void Substitution::bind(const std::string& name, TypeRef type) {
  TypeRef& bound = bindings_[name];
  journal_.emplace_back(name, std::exchange(bound, std::move(type)));
}

bool Substitution::assignable(const TypeRef& a, const TypeRef& b) {
  if (a == b && !a->has_type_variable) return true;
  if (b->kind == TypeKind::Parameter) {
    const Assignability verdict = substitute(a, b);
    if (verdict.valid) return true;
    if (verdict.bound) return false;
  }
  if (a->kind == TypeKind::Parameter) return substitute(b, a).valid;
  if (is_dyn(a) || is_dyn(b)) return true;
  if (a->kind == TypeKind::Null) return nullable(b);
  if (b->kind == TypeKind::Null) return nullable(a);
  if (a->kind == TypeKind::Wrapper && b->kind != TypeKind::Wrapper) return assignable(a->parameters[0], b);
  if (b->kind == TypeKind::Wrapper && a->kind != TypeKind::Wrapper) return assignable(a, b->parameters[0]);
  if (a->kind == TypeKind::Type) return b->kind == TypeKind::Type;
  if (a->kind != b->kind || a->name != b->name || a->parameters.size() != b->parameters.size()) return false;
  for (std::size_t i = 0; i < a->parameters.size(); ++i)
    if (!assignable(a->parameters[i], b->parameters[i])) return false;
  return true;
}

Substitution::Assignability Substitution::substitute(const TypeRef& type, const TypeRef& parameter) {
  if (same_type(type, parameter)) return {true, true};
  const auto found = bindings_.find(parameter->name);
  if (found != bindings_.end()) {
    const TypeRef bound = found->second;
    if (same_type(type, bound)) return {true, true};
    if (!assignable(type, bound)) return {false, true};
    const TypeRef general = most_general(type, bound);
    if (!occurs(parameter, general)) bind(parameter->name, general);
    return {true, true};
  }
  if (occurs(parameter, type)) return {false, false};
  bind(parameter->name, type);
  return {true, false};
}

bool Substitution::occurs(const TypeRef& parameter, const TypeRef& inside) const {
  if (!inside->has_type_variable) return false;
  if (inside->kind == TypeKind::Parameter) {
    if (inside->name == parameter->name) return true;
    const auto found = bindings_.find(inside->name);
    return found != bindings_.end() && occurs(parameter, found->second);
  }
  for (const TypeRef& inner : inside->parameters)
    if (occurs(parameter, inner)) return true;
  return false;
}

TypeRef Substitution::apply(const TypeRef& type, Free free) const {
  if (type->kind == TypeKind::Parameter) {
    const auto found = bindings_.find(type->name);
    if (found != bindings_.end()) return apply(found->second, free);
    return free == Free::ToDyn ? simple_type(TypeKind::Dyn) : type;
  }
  if (!type->has_type_variable) return type;
  std::vector<TypeRef> inner;
  for (const TypeRef& parameter : type->parameters) inner.push_back(apply(parameter, free));
  if (std::equal(inner.begin(), inner.end(), type->parameters.begin())) return type;
  return make(type->kind, type->name, std::move(inner));
}

}  // namespace berth::cel
