#include "api/patch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "api/decode_syntax.h"

namespace berth::api {
namespace {

Error malformed_patch(std::string message) {
  return Error(ErrorCode::Unsupported, std::move(message));
}
// The reference hides the reason from the response; Berth keeps it as the cause.
Error rejected(std::string reason) {
  return Error(ErrorCode::Invalid, "the server rejected our request due to an error in our request")
      .because_of(Error(ErrorCode::Invalid, std::move(reason)));
}

std::string_view word_for(const Json& value) {
  if (value.is_bool()) return "bool";
  if (value.is_string()) return "string";
  if (value.is_array()) return "array";
  return value.is_object() ? "object" : "number";
}

Result<Json> parsed_patch(std::string_view text) {
  Result<Json> parsed = parse_json(text);
  if (parsed) return parsed;
  const std::string reason = json_syntax_error(text);
  return malformed_patch("error decoding patch: " + (reason.empty() ? parsed.error().message() : reason));
}

Error not_a_map(const Json& patch) {
  return malformed_patch(fmt::format(
      "error decoding patch: json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
      word_for(patch)));
}

// "a~1b~0c" is "a/b~c".
std::string pointer_token(std::string_view part) {
  std::string out;
  for (std::size_t i = 0; i < part.size(); ++i) {
    const bool escape = part[i] == '~' && i + 1 < part.size() && (part[i + 1] == '0' || part[i + 1] == '1');
    out += escape ? (part[++i] == '0' ? '~' : '/') : part[i];
  }
  return out;
}

std::optional<std::int64_t> index_of(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  std::int64_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return index;
}

// The position that `key` denotes among `count` places, counted from the end when negative.
std::optional<std::size_t> place_in(std::string_view key, std::size_t count) {
  std::optional<std::int64_t> index = index_of(key);
  if (!index) return std::nullopt;
  if (*index < 0) *index += static_cast<std::int64_t>(count);
  if (*index < 0 || *index >= static_cast<std::int64_t>(count)) return std::nullopt;
  return static_cast<std::size_t>(*index);
}

std::size_t elements_in(const Json& value) {
  std::size_t count = 1;
  if (value.is_array())
    for (const Json& item : value.as_array()) count += elements_in(item);
  if (value.is_object())
    for (const JsonMember& member : value.as_object()) count += elements_in(member.value);
  return count;
}

// A member or element by its container.
struct Spot {
  Json* container;
  std::string key;

  Json* value() const {
    if (container->is_object()) return container->as_object().find(key);
    const std::optional<std::size_t> at = place_in(key, container->as_array().size());
    return at ? &container->as_array()[*at] : nullptr;
  }
};

// Applies the operations of one patch in order.
class JsonPatch {
 public:
  explicit JsonPatch(Json& document) : document_(document) {}

  Status apply(const Json& operation) {
    const std::string_view op = operation.string_at("op");
    const Json* given = operation.find("value");
    const Json value = given ? *given : Json();
    if (op == "add") return add(TRY(find(operation, "path")), value);
    if (op == "remove") return remove(TRY(find(operation, "path")));
    if (op == "replace") return replace(TRY(find(operation, "path")), value);
    if (op == "test") return test(TRY(find(operation, "path")), value);
    if (op == "move") return move(operation);
    if (op == "copy") return copy(operation);
    return rejected(fmt::format("unknown operation \"{}\"", op));
  }

 private:
  Result<Spot> find(const Json& operation, std::string_view which) {
    const std::string_view path = operation.string_at(which);
    std::size_t slash = path.find('/');
    if (slash == std::string_view::npos)
      return rejected(fmt::format("{} \"{}\" names no member", which, path));
    Json* at = &document_;
    while (true) {
      const std::size_t end = path.find('/', slash + 1);
      std::string key = pointer_token(path.substr(slash + 1, end - slash - 1));
      if (!at->is_object() && !at->is_array()) return missing(path);
      if (end == std::string_view::npos) return Spot{at, std::move(key)};
      at = Spot{at, std::move(key)}.value();
      if (!at) return missing(path);
      slash = end;
    }
  }

  static Error missing(std::string_view path) {
    return rejected(fmt::format("the document has no {}", path));
  }

  static Status add(const Spot& spot, Json value) {
    if (spot.container->is_object()) {
      (*spot.container)[spot.key] = std::move(value);
      return {};
    }
    JsonArray& items = spot.container->as_array();
    if (spot.key == "-") {
      items.push_back(std::move(value));
      return {};
    }
    const std::optional<std::size_t> at = place_in(spot.key, items.size() + 1);
    if (!at) return rejected(fmt::format("index {} is out of bounds", spot.key));
    items.insert(items.begin() + static_cast<std::ptrdiff_t>(*at), std::move(value));
    return {};
  }

  static Status remove(const Spot& spot) {
    if (spot.container->is_object()) {
      spot.container->as_object().erase(spot.key);
      return {};
    }
    JsonArray& items = spot.container->as_array();
    const std::optional<std::size_t> at = place_in(spot.key, items.size());
    if (!at) return rejected(fmt::format("index {} is out of bounds", spot.key));
    items.erase(items.begin() + static_cast<std::ptrdiff_t>(*at));
    return {};
  }

  static Status replace(const Spot& spot, Json value) {
    if (spot.container->is_object()) return add(spot, std::move(value));
    Json* old = spot.value();
    if (!old) return rejected(fmt::format("index {} is out of bounds", spot.key));
    *old = std::move(value);
    return {};
  }

  static Status test(const Spot& spot, const Json& value) {
    const Json* found = spot.value();
    if (found ? *found == value : value.is_null()) return {};
    return rejected("a test failed");
  }

  Status move(const Json& operation) {
    const Spot from = TRY(find(operation, "from"));
    const Json* found = from.value();
    Json value = found ? *found : Json();
    if (const Status removed = remove(from); !removed) return removed;
    return add(TRY(find(operation, "path")), std::move(value));
  }

  Status copy(const Json& operation) {
    const Json* found = TRY(find(operation, "from")).value();
    Json value = found ? *found : Json();
    copied_ += elements_in(value);
    if (copied_ > kJsonPatchCopiedMax) return Error(ErrorCode::TooLarge, "the patch copies too much");
    return add(TRY(find(operation, "path")), std::move(value));
  }

  Json& document_;
  std::size_t copied_ = 0;
};

void append_go_text(std::string& out, const Json& value) {
  if (value.is_null()) {
    out += "<nil>";
  } else if (value.is_string()) {
    out += value.as_string();
  } else if (value.is_array()) {
    out += '[';
    for (const Json& item : value.as_array()) {
      if (&item != &value.as_array().front()) out += ' ';
      append_go_text(out, item);
    }
    out += ']';
  } else if (value.is_object()) {
    std::vector<const JsonMember*> members;
    for (const JsonMember& member : value.as_object()) members.push_back(&member);
    std::sort(members.begin(), members.end(), [](const auto* a, const auto* b) { return a->key < b->key; });
    out += "map[";
    for (const JsonMember* member : members) {
      if (member != members.front()) out += ' ';
      out += member->key + ':';
      append_go_text(out, member->value);
    }
    out += ']';
  } else {
    append_to(out, value);
  }
}

Json without_nulls(const Json& value) {
  if (value.is_array()) {
    JsonArray items;
    for (const Json& item : value.as_array()) items.push_back(without_nulls(item));
    return Json(std::move(items));
  }
  if (!value.is_object()) return value;
  JsonObject object;
  for (const JsonMember& member : value.as_object())
    if (!member.value.is_null()) object[member.key] = without_nulls(member.value);
  return Json(std::move(object));
}

}  // namespace

std::optional<PatchType> patch_type_of(std::string_view media_type) {
  constexpr std::array<std::pair<std::string_view, PatchType>, 4> kTypes = {
      {{"application/json-patch+json", PatchType::Json},
       {"application/merge-patch+json", PatchType::Merge},
       {"application/strategic-merge-patch+json", PatchType::StrategicMerge},
       {"application/apply-patch+yaml", PatchType::Apply}}};
  for (const auto& [name, type] : kTypes)
    if (name == media_type) return type;
  return std::nullopt;
}

Result<Json> apply_json_patch(Json document, std::string_view patch) {
  const Json operations = TRY(parsed_patch(patch));
  if (!operations.is_array())
    return malformed_patch(fmt::format(
        "error decoding patch: json: cannot unmarshal {} into Go value of type []handlers.jsonPatchOp",
        word_for(operations)));
  if (operations.as_array().size() > kJsonPatchOperationsMax)
    return Error(ErrorCode::TooLarge,
                 fmt::format("The allowed maximum operations in a JSON patch is {}, got {}",
                             kJsonPatchOperationsMax, operations.as_array().size()));
  JsonPatch work(document);
  for (const Json& operation : operations.as_array())
    if (const Status done = work.apply(operation); !done) return done.error();
  return document;
}

Json merge_patched(Json document, const Json& patch) {
  if (!patch.is_object() || !document.is_object()) return without_nulls(patch);
  const JsonObject& changes = patch.as_object();
  // All at once: erasing one by one is linear each time.
  if (std::any_of(changes.begin(), changes.end(), [](const auto& change) { return change.value.is_null(); }))
    document.as_object().erase_if([&changes](const JsonMember& member) {
      const Json* change = changes.find(member.key);
      return change && change->is_null();
    });
  for (const JsonMember& member : changes) {
    if (member.value.is_null()) {
      document.as_object().erase(member.key);
      continue;
    }
    Json* old = document.find(member.key);
    if (old)
      *old = merge_patched(std::move(*old), member.value);
    else
      document[member.key] = without_nulls(member.value);
  }
  return document;
}

Result<Json> apply_merge_patch(Json document, std::string_view patch) {
  const Result<Json> parsed = parse_json(patch);
  if (!parsed) return malformed_patch("invalid JSON patch");
  if (!parsed->is_object()) return not_a_map(*parsed);
  return merge_patched(std::move(document), *parsed);
}

Result<Json> apply_strategic_merge_patch(const TypeInfo& type, Json document, std::string_view patch) {
  Json parsed = TRY(parsed_patch(patch));
  if (!parsed.is_object()) return not_a_map(parsed);
  return strategic_merge_patched(type, std::move(document), std::move(parsed));
}

std::string go_value_text(const Json& value) {
  std::string out;
  append_go_text(out, value);
  return out;
}

}  // namespace berth::api
