// A schema as CEL sees it: types of the members that an expression may name, and values of a document.
//
// Types are made once for a version; values borrow from document and schema, and cost nothing until they are
// read. Source: the declared types of apiextensions-apiserver's CEL (schema to type), names with escapes.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "cel/environment.h"
#include "cel/estimate.h"
#include "cel/value.h"
#include "crd/schema.h"

namespace berth::crd {

// A member's name in an expression: "a.b" is a__dot__b, "in" is __in__. Nothing for names that have none.
// After a dot, expressions may name a member by its keyword, too: self.namespace for self.__namespace__. The
// estimate of costs knows only the escaped name, as in Kubernetes.
std::optional<std::string> escaped(std::string_view name);
std::string unescaped(std::string_view identifier);

// The largest body of a request, which bounds what has no bound of its own.
inline constexpr std::uint64_t kRequestBytesMax = 3u << 20;

// Declares the object types of schemas in one environment.
class CelTypes {
 public:
  CelTypes();

  // The type of values of the schema; null when it says too little, as of any JSON. `is_resource`: kind,
  // apiVersion and the name in metadata are known too.
  cel::TypeRef type_of(const Schema& schema, bool is_resource);
  const cel::Environment& environment() const { return environment_; }

  // The largest sizes of values of the schema, which has a type.
  struct Sizes : cel::SizedType {
    std::uint64_t least_bytes = 0;  // of its JSON
  };
  const Sizes& sizes_of(const Schema& schema, bool is_resource);

 private:
  cel::TypeRef object_of(const Schema& schema, bool is_resource);
  const Sizes* made_sizes(const Schema& schema, bool is_resource);
  const Sizes& object_sizes(const Schema& schema, bool is_resource);
  const Sizes& keep(Sizes sizes) { return sizes_.emplace_back(std::move(sizes)); }

  cel::Environment environment_;
  std::map<const Schema*, cel::TypeRef> made_;
  std::map<std::pair<const Schema*, bool>, const Sizes*> sized_;
  std::deque<Sizes> sizes_;
};

// `value` and `schema` outlive it. What does not fit the schema is an error value.
cel::Value cel_value(const Json& value, const Schema& schema, bool is_resource);

}  // namespace berth::crd
