// The form in which a custom object is stored: unknown members removed, defaults filled in.
//
// Pure, any thread. Cost: one pass over the document, plus what is filled in. Source: pruning and defaulting
// of apiextensions-apiserver 1.37.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "crd/schema.h"

namespace berth::crd {

// As many unknown members are named.
inline constexpr std::size_t kUnknownNamedMax = 100;
inline constexpr std::size_t kUnknownBytesMax = 1024 * 1024;  // of their paths, but for the last
// By which defaults may make one object larger, as JSON: a list with many short items must not become a
// giant.
inline constexpr std::size_t kFallbackBytesMax = 3u << 20;

// Removes what the schema does not know and returns its paths ("spec.junk", "spec.list[1].x"), sorted. Keeps
// kind, apiVersion and metadata of the object itself (`is_resource`) and of embedded ones.
std::vector<std::string> prune(Json& object, const Schema& schema, bool is_resource);

// Removes nulls where the schema permits none, then fills in defaults. False when they are more than
// kFallbackBytesMax.
bool fill_defaults(Json& object, const Schema& schema);

// Brings the metadata of embedded objects into canonical form and returns the paths of their unknown members,
// at most kUnknownNamedMax; what is no metadata stays for validation to refuse.
std::vector<std::string> tidy_embedded(Json& object, const Schema& schema);

// The member that a strict error `unknown field "x"` names; nothing of another error.
std::optional<std::string_view> unknown_member(std::string_view strict_error);
std::string unknown_member_error(std::string_view path);

}  // namespace berth::crd
