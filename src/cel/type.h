// Static types of CEL and the substitution that the checker builds for type parameters.
//
// Types are immutable, shared pointers; equality is structural. Cost of a copy: one reference count; of a
// comparison or a substitution: the type's weight.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace berth::cel {

enum class TypeKind : unsigned char {
  Dyn,
  Null,
  Bool,
  Int,
  Uint,
  Double,
  String,
  Bytes,
  Duration,
  Timestamp,
  List,      // one parameter
  Map,       // key and value
  Type,      // the type of types; at most one parameter
  Opaque,    // optional_type and library types: name and parameters
  Object,    // named; fields are in the Environment
  Wrapper,   // a nullable primitive of protobuf; the parameter is the primitive
  Parameter  // a type variable, by name
};

struct Type;
using TypeRef = std::shared_ptr<const Type>;

// The weight of a literal's type: one that binds and repeats maps of maps would double at each level.
inline constexpr std::uint32_t kTypeWeightMax = 600;

struct Type {
  TypeKind kind = TypeKind::Dyn;
  std::string name;
  std::vector<TypeRef> parameters;
  std::uint32_t weight = 1;        // names in its text; no more than UINT32_MAX
  bool has_type_variable = false;  // here or below
};

TypeRef simple_type(TypeKind kind);
TypeRef list_type(TypeRef item);
TypeRef map_type(TypeRef key, TypeRef value);
TypeRef type_type(TypeRef of);
TypeRef optional_type(TypeRef inner);
TypeRef object_type(std::string name);
TypeRef wrapper_type(TypeRef primitive);
TypeRef type_parameter(std::string name);
// `type` with these parameters.
TypeRef with_parameters(const Type& type, std::vector<TypeRef> parameters);

bool is_dyn(const TypeRef& type);
// A dynamic type that macros cannot range over: protobuf's Any.
bool is_any(const TypeRef& type);
bool is_optional(const TypeRef& type);
bool same_type(const TypeRef& a, const TypeRef& b);

// "map(string, list(int))", the form of error messages.
std::string type_text(const TypeRef& type);

// Parses a type in a function table: "list(A)", "map(K, V)", "optional(T)", "quantity", "dyn", "any"… One
// capital letter is a type parameter. Asserts that the text is one of these.
TypeRef parse_type(std::string_view text);

// Bindings of type parameters, found by assignments.
class Substitution {
 public:
  // Whether a value of type `from` may be used where `to` is required. Keeps new bindings only on success.
  bool assign(const TypeRef& from, const TypeRef& to);
  bool assign_all(const std::vector<TypeRef>& from, const std::vector<TypeRef>& to);
  // `type` with bound parameters replaced; free ones become dyn with ToDyn.
  enum class Free { Keep, ToDyn };
  TypeRef apply(const TypeRef& type, Free free) const;

 private:
  using Bindings = std::unordered_map<std::string, TypeRef>;
  struct Assignability {
    bool valid;
    bool bound;
  };
  bool assignable(const TypeRef& a, const TypeRef& b);
  Assignability substitute(const TypeRef& type, const TypeRef& parameter);
  bool occurs(const TypeRef& parameter, const TypeRef& inside) const;

  void bind(const std::string& name, TypeRef type);

  Bindings bindings_;
  std::vector<std::pair<std::string, TypeRef>> journal_;  // of one assignment: what was bound before; or null
};

// The less specific of two types that are assignable to each other.
TypeRef most_general(const TypeRef& a, const TypeRef& b);

}  // namespace berth::cel
