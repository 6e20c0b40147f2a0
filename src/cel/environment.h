// The names that an expression may use: variables, object types with fields, functions.
//
// Built once, then immutable and shared by all threads.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cel/type.h"
#include "cel/value.h"

namespace berth::cel {

class Regex;
struct SizedType;

// What the implementation of a function may use besides its arguments.
class Runtime {
 public:
  virtual ~Runtime() = default;
  // A compiled pattern for a search of `bytes` bytes, valid for this evaluation; null and the reason when RE2
  // refuses it, or when the search is too much work.
  virtual const Regex* regex(std::string_view pattern, std::size_t bytes, std::string& reason) = 0;
};

// The arguments may be moved from.
using Implementation = Value (*)(std::span<Value> args, Runtime& runtime);
// The input of a cost: the kind and size of an argument, real or the largest possible.
struct Extent {
  Kind kind = Kind::Null;
  std::uint64_t size = 1;
  const Value* value = nullptr;  // null when only estimated
  std::uint64_t item_size = 1;   // of an estimated list

  bool is(Kind other) const { return kind == other; }
};
inline std::uint64_t size_of(const Extent& extent) {
  return extent.size;
}

// The cost of one call; a null pointer means 1.
using CallCost = std::uint64_t (*)(std::span<const Extent> args, const Extent& result);

// One row of a function table. Signatures read "(int, string) bool" and "string.(int) string";
// for the types see parse_type().
struct FunctionRow {
  const char* name;
  const char* signature;
  Implementation run;  // null for the few that the evaluator implements itself
  CallCost cost = nullptr;
};

struct Overload {
  std::string function;
  bool is_member = false;
  std::vector<TypeRef> parameters;
  TypeRef result;
  Implementation run = nullptr;
  CallCost cost = nullptr;

  // Whether values of these kinds may be passed; element types are ignored.
  bool accepts(std::span<const Value> args) const;
};

struct Field {
  std::string name;
  TypeRef type;
};

class Environment {
 public:
  // Has the objects and functions of `base` too, which has no variables and outlives it. Cost: a pointer.
  static Environment extending(const Environment& base) {
    Environment environment;
    environment.base_ = &base;
    return environment;
  }

  // Variables are numbered in the order of declaration.
  void declare_variable(std::string name, TypeRef type);
  void declare_object(std::string name, std::vector<Field> fields);
  // An object type whose literals make values (messages.h).
  void declare_message(std::string name, std::vector<Field> fields);
  // The message types `root`, `root.a`, `root.a.b` and so on. Their fields have any name and are dynamic.
  void declare_open_messages(std::string root) { open_root_ = std::move(root); }
  void declare_functions(std::span<const FunctionRow> rows);

  // What estimates know of the sizes of the variables: of `variable` alone, or of each when it is empty.
  // `sizes` outlives the environment.
  void set_sizes(const SizedType* sizes, std::string_view variable = {}) {
    sizes_ = sizes;
    sized_variable_ = variable;
  }
  const SizedType* sizes() const { return sizes_; }
  const std::string& sized_variable() const { return sized_variable_; }

  // -1 when not declared.
  int variable_index(std::string_view name) const;
  const TypeRef& variable_type(int index) const { return variables_[static_cast<std::size_t>(index)].type; }
  // Null when the type is not declared.
  const std::vector<Field>* fields_of(std::string_view object) const;
  // The position in fields_of(); -1 when there is no such field.
  int field_index(std::string_view object, std::string_view field) const;
  // Whether literals of the type make values; whether their fields are open.
  bool is_message(std::string_view name) const;
  bool is_open_message(std::string_view name) const;
  const std::vector<Overload>* functions(std::string_view name) const;

  // Every declared name that may have been meant by an unknown one.
  std::vector<std::string> variable_names() const;
  std::vector<std::string> function_names() const;

 private:
  const Environment* base_ = nullptr;
  const SizedType* sizes_ = nullptr;
  std::string sized_variable_;
  std::string open_root_;  // empty: no open messages
  std::vector<Field> variables_;
  struct Object {
    std::vector<Field> fields;
    std::vector<std::uint32_t> by_name;  // positions of fields
    bool is_message = false;
  };
  const Object* object(std::string_view name) const;

  std::map<std::string, Object, std::less<>> objects_;
  std::map<std::string, std::vector<Overload>, std::less<>> functions_;
};

// CEL's own operators and functions, and the libraries that Kubernetes adds.
void declare_standard_library(Environment& environment);

}  // namespace berth::cel
