#include "crd/shaping.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "api/decode.h"

namespace berth::crd {
namespace {

constexpr std::string_view kUnknownBegin = "unknown field \"";

bool is_type_member(std::string_view name) {
  return name == "apiVersion" || name == "kind" || name == "metadata";
}

// A path that grows and shrinks with the walk.
class PathText {
 public:
  std::size_t size() const { return text_.size(); }
  void cut(std::size_t size) { text_.resize(size); }
  void member(std::string_view name) {
    if (!text_.empty()) text_ += '.';
    text_ += name;
  }
  void index(std::size_t at) { text_.append("[").append(std::to_string(at)).append("]"); }
  bool empty() const { return text_.empty(); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

class Pruner {
 public:
  std::vector<std::string> unknown;

  bool found = false;

  // A null schema knows no member at all. A const value is only looked at: what is unknown is noted.
  template <class Value>
  void prune(Value& value, const Schema* schema) {
    if (schema && schema->keeps_unknown) return keep(value, *schema);
    if (value.is_object()) return prune_members(value.as_object(), schema);
    if (!value.is_array()) return;
    std::size_t at = 0;
    for (auto& item : value.as_array())
      below_item(at++, [&] { prune(item, schema ? schema->items.get() : nullptr); });
  }

 private:
  template <class Visit>
  void below_item(std::size_t at, Visit visit) {
    const std::size_t size = path_.size();
    path_.index(at);
    visit();
    path_.cut(size);
  }
  template <class Visit>
  void below_member(std::string_view name, Visit visit) {
    const std::size_t size = path_.size();
    path_.member(name);
    visit();
    path_.cut(size);
  }

  void note(std::string_view name) {
    if (unknown.size() >= kUnknownNamedMax || named_bytes_ > kUnknownBytesMax) return;
    below_member(name, [&] { unknown.push_back(path_.text()); });
    named_bytes_ += unknown.back().size();
  }

  template <class Members>
  void prune_members(Members& members, const Schema* schema) {
    const bool open = schema && (schema->additional || schema->takes_any_member);
    const auto is_unknown = [&](const JsonMember& member) {
      return !schema ||
             !((schema->embedded && is_type_member(member.key)) || schema->property(member.key) || open);
    };
    bool all_known = true;
    if constexpr (std::is_const_v<Members>) {
      for (const JsonMember& member : members) {
        if (!is_unknown(member)) continue;
        all_known = false;
        if (!is_type_member(member.key) || !path_.empty()) note(member.key);
      }
      found |= !all_known;
    } else {
      members.erase_if(is_unknown);
    }
    if (!schema) return;
    for (auto& member : members) {
      if (schema->embedded && is_type_member(member.key)) continue;
      if (!all_known && is_unknown(member)) continue;
      below_member(member.key, [&] { prune(member.value, schema->member(member.key)); });
    }
  }

  // Nothing of this value is unknown, but what its schema describes has a schema again.
  template <class Value>
  void keep(Value& value, const Schema& schema) {
    if (value.is_array() && schema.items) {
      std::size_t at = 0;
      for (auto& item : value.as_array()) below_item(at++, [&] { keep(item, *schema.items); });
    }
    if (!value.is_object() || (schema.properties.empty() && !schema.additional)) return;
    for (auto& member : value.as_object()) {
      if (schema.embedded && is_type_member(member.key)) continue;
      if (const Schema* below = schema.member(member.key))
        below_member(member.key, [&] { prune(member.value, below); });
    }
  }

  PathText path_;
  std::size_t named_bytes_ = 0;
};

bool refuses_null(const Schema* schema) {
  return schema && !schema->nullable;
}

// Whether a member goes as its schema refuses null and has no default.
bool goes_as_null(const JsonMember& member, const Schema& schema) {
  if (!member.value.is_null()) return false;
  const Schema* below = schema.member(member.key);
  return refuses_null(below) && !below->fallback;
}

bool has_dropped_null(const Json& value, const Schema& schema) {
  if (value.is_array())
    return schema.items &&
           std::any_of(value.as_array().begin(), value.as_array().end(),
                       [&](const Json& item) { return has_dropped_null(item, *schema.items); });
  if (!value.is_object()) return false;
  return std::any_of(value.as_object().begin(), value.as_object().end(), [&](const JsonMember& member) {
    if (goes_as_null(member, schema)) return true;
    const Schema* below = schema.member(member.key);
    return below && has_dropped_null(member.value, *below);
  });
}

void drop_nulls(Json& value, const Schema& schema) {
  if (value.is_object()) {
    JsonObject& members = value.as_object();
    members.erase_if([&](const JsonMember& member) { return goes_as_null(member, schema); });
    for (JsonMember& member : members)
      if (const Schema* below = schema.member(member.key)) drop_nulls(member.value, *below);
  } else if (value.is_array() && schema.items) {
    for (Json& item : value.as_array()) drop_nulls(item, *schema.items);
  }
}

class Filler {
 public:
  bool within_bounds() const { return bytes_ <= kFallbackBytesMax; }

  void fill(Json& value, const Schema& schema) {
    if (!schema.has_fallbacks || !within_bounds()) return;
    if (value.is_object()) return fill_members(value, schema);
    if (!value.is_array() || !schema.items) return;
    for (Json& item : value.as_array()) {
      if (item.is_null() && refuses_null(schema.items.get())) put(item, *schema.items);
      fill(item, *schema.items);
    }
  }

 private:
  // Whether there is room for a default below a name of so many bytes; counts it.
  bool takes(const Schema& schema, std::size_t name_bytes) {
    bytes_ += name_bytes + to_string(*schema.fallback).size();
    return within_bounds();
  }
  void put(Json& value, const Schema& schema) {
    if (schema.fallback && takes(schema, 0)) value = *schema.fallback;
  }

  void fill_members(Json& value, const Schema& schema) {
    for (const std::uint32_t position : schema.fallback_properties) {
      const Property& property = schema.properties[position];
      const Json* found = std::as_const(value).find(property.name);
      if (found && (!found->is_null() || property.schema.nullable)) continue;
      if (!takes(property.schema, property.name.size())) return;
      value[property.name] = *property.schema.fallback;
    }
    for (JsonMember& member : value.as_object()) {
      const Schema* below = schema.member(member.key);
      if (!below) continue;
      if (member.value.is_null() && below == schema.additional.get() && refuses_null(below))
        put(member.value, *below);
      fill(member.value, *below);
    }
  }

  std::size_t bytes_ = 0;
};

class EmbeddedTidier {
 public:
  std::vector<std::string> unknown;

  void tidy(Json& value, const Schema& schema) {
    if (!schema.has_embedded) return;
    const std::size_t size = path_.size();
    if (value.is_object()) {
      for (JsonMember& member : value.as_object()) {
        path_.member(member.key);
        if (schema.embedded && member.key == "metadata")
          tidy_metadata(member.value);
        else if (const Schema* below = schema.member(member.key))
          tidy(member.value, *below);
        path_.cut(size);
      }
    } else if (value.is_array() && schema.items) {
      for (std::size_t at = 0; at < value.as_array().size(); ++at) {
        path_.index(at);
        tidy(value.as_array()[at], *schema.items);
        path_.cut(size);
      }
    }
  }

 private:
  void tidy_metadata(Json& metadata) {
    static const api::TypeInfo& type = *api::find_type("meta.k8s.io", "v1", "ObjectMeta");
    Result<api::Decoded> decoded = api::decode_document(type, metadata);
    if (!decoded) return;
    metadata = std::move(decoded->document);
    for (const std::string& error : decoded->strict_errors)
      if (const auto member = unknown_member(error); member && unknown.size() < kUnknownNamedMax)
        unknown.push_back(path_.text() + "." + std::string(*member));
  }

  PathText path_;
};

}  // namespace

std::vector<std::string> prune(Json& object, const Schema& schema, bool is_resource) {
  // Those of the object itself are no members of its schema, as far as pruning goes.
  JsonObject kept;
  if (is_resource && object.is_object()) {
    for (const JsonMember& member : std::as_const(object).as_object())
      if (is_type_member(member.key)) kept.append(member.key, member.value);
    object.as_object().erase_if([](const JsonMember& member) { return is_type_member(member.key); });
  }
  Pruner pruner;
  pruner.prune(std::as_const(object), &schema);
  if (pruner.found) pruner.prune(object, &schema);
  for (JsonMember& member : kept) object.as_object().append(member.key, std::move(member.value));
  std::sort(pruner.unknown.begin(), pruner.unknown.end());
  return std::move(pruner.unknown);
}

bool fill_defaults(Json& object, const Schema& schema) {
  if (has_dropped_null(object, schema)) drop_nulls(object, schema);
  Filler filler;
  filler.fill(object, schema);
  return filler.within_bounds();
}

std::vector<std::string> tidy_embedded(Json& object, const Schema& schema) {
  EmbeddedTidier tidier;
  tidier.tidy(object, schema);
  return std::move(tidier.unknown);
}

std::optional<std::string_view> unknown_member(std::string_view strict_error) {
  if (!strict_error.starts_with(kUnknownBegin) || !strict_error.ends_with('"')) return std::nullopt;
  return strict_error.substr(kUnknownBegin.size(), strict_error.size() - kUnknownBegin.size() - 1);
}

std::string unknown_member_error(std::string_view path) {
  return std::string(kUnknownBegin).append(path) + '"';
}

}  // namespace berth::crd
