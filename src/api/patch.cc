#include "api/patch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "api/decode.h"
#include "api/edit_tree.h"

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

Result<Json> parsed_patch(std::string_view text) {
  Result<Json> parsed = parse_json(text);
  return parsed ? parsed : malformed_patch("invalid JSON patch");
}

std::string not_a_map(const Json& patch) {
  return fmt::format("json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
                     go_word(patch));
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

// What a value is about, as JSON text, without making the text.
std::size_t text_bytes(const Json& value) {
  constexpr std::size_t kPlain = 4;
  if (value.is_string()) return value.as_string().size() + 2;
  std::size_t bytes = kPlain;
  if (value.is_array())
    for (const Json& item : value.as_array()) bytes += 1 + text_bytes(item);
  if (value.is_object())
    for (const JsonMember& member : value.as_object())
      bytes += member.key.size() + 4 + text_bytes(member.value);
  return bytes;
}

std::size_t depth_of(const Json& value) {
  std::size_t depth = 0;
  if (value.is_array())
    for (const Json& item : value.as_array()) depth = std::max(depth, depth_of(item));
  if (value.is_object())
    for (const JsonMember& member : value.as_object()) depth = std::max(depth, depth_of(member.value));
  return depth + 1;
}

// A member or element by its container.
struct Spot {
  EditNode* container;
  std::string key;
  std::size_t depth;  // of what stands there

  EditNode* value() const {
    if (container->is_object()) return container->member(key);
    const std::optional<std::size_t> at = place_in(key, container->element_count());
    return at ? &container->element(*at) : nullptr;
  }
};

// Applies the operations of one patch in order.
class JsonPatch {
 public:
  JsonPatch(const Json& document, std::size_t patch_bytes)
      : document_(document), deepest_(depth_of(document)), grown_bytes_(patch_bytes) {}

  Status apply(const Json& operation) {
    const std::string_view op = operation.string_at("op");
    const Json* given = operation.find("value");
    const Json value = given ? *given : Json();
    if (op == "add") return put_at(TRY(find(operation, "path")), value, &JsonPatch::add);
    if (op == "remove") return remove(TRY(find(operation, "path")));
    if (op == "replace" && names_root(operation)) return replace_root(value);
    if (op == "replace") return put_at(TRY(find(operation, "path")), value, &JsonPatch::replace);
    if (op == "test") return test(TRY(find(operation, "path")), value);
    if (op == "move") return move(operation);
    if (op == "copy") return copy(operation);
    return rejected(fmt::format("unknown operation \"{}\"", op));
  }

  Json result() const { return document_.value(); }

 private:
  Result<Spot> find(const Json& operation, std::string_view which) {
    const std::string_view path = operation.string_at(which);
    std::size_t slash = path.find('/');
    if (slash == std::string_view::npos)
      return rejected(fmt::format("{} \"{}\" names no member", which, path));
    EditNode* at = &document_;
    for (std::size_t depth = 1;; ++depth) {
      const std::size_t end = path.find('/', slash + 1);
      std::string key = pointer_token(path.substr(slash + 1, end - slash - 1));
      if (!at->is_object() && !at->is_array()) return missing(path);
      if (end == std::string_view::npos) return Spot{at, std::move(key), depth};
      at = Spot{at, std::move(key), depth}.value();
      if (!at) return missing(path);
      slash = end;
    }
  }

  static Error missing(std::string_view path) {
    return rejected(fmt::format("the document has no {}", path));
  }

  // `depth`: of what is put there, with the place itself.
  Status check_depth(std::size_t depth) {
    deepest_ = std::max(deepest_, depth);
    if (deepest_ <= kJsonDepthMax) return {};
    return rejected(fmt::format("the result is nested deeper than {} levels", kJsonDepthMax));
  }

  static bool names_root(const Json& operation) {
    const Json* path = operation.find("path");
    return path && path->is_string() && path->as_string().empty();
  }

  Status replace_root(const Json& value) {
    if (!value.is_object() && !value.is_array()) return rejected("the root is an object or a list");
    TRY(check_depth(depth_of(value)));
    document_ = EditNode(value);
    return {};
  }

  Status put_at(const Spot& spot, const Json& value, Status (*put)(const Spot&, EditNode)) {
    TRY(check_depth(spot.depth + depth_of(value)));
    return put(spot, EditNode(value));
  }

  static Status add(const Spot& spot, EditNode value) {
    EditNode& container = *spot.container;
    if (container.is_object()) {
      container.set_member(spot.key, std::move(value));
      return {};
    }
    const std::size_t count = container.element_count();
    const std::optional<std::size_t> at = spot.key == "-" ? count : place_in(spot.key, count + 1);
    if (!at) return rejected(fmt::format("index {} is out of bounds", spot.key));
    container.insert_element(*at, std::move(value));
    return {};
  }

  static Status remove(const Spot& spot) {
    if (spot.container->is_object()) {
      if (!spot.container->member(spot.key))
        return rejected(fmt::format("nothing to remove at {}", spot.key));
      spot.container->erase_member(spot.key);
      return {};
    }
    const std::optional<std::size_t> at = place_in(spot.key, spot.container->element_count());
    if (!at) return rejected(fmt::format("index {} is out of bounds", spot.key));
    spot.container->erase_element(*at);
    return {};
  }

  static Status replace(const Spot& spot, EditNode value) {
    if (spot.container->is_object()) return add(spot, std::move(value));
    EditNode* old = spot.value();
    if (!old) return rejected(fmt::format("index {} is out of bounds", spot.key));
    *old = std::move(value);
    return {};
  }

  static Status test(const Spot& spot, const Json& value) {
    EditNode* found = spot.value();
    if (found ? found->equals(value) : value.is_null()) return {};
    return rejected(std::string(kPatchTestFailed));
  }

  Status move(const Json& operation) {
    const Spot from = TRY(find(operation, "from"));
    EditNode* found = from.value();
    EditNode value = found ? std::move(*found) : EditNode();
    TRY(remove(from));
    const Spot to = TRY(find(operation, "path"));
    TRY(check_depth(to.depth + deepest_ - std::min(from.depth, deepest_)));
    return add(to, std::move(value));
  }

  Status copy(const Json& operation) {
    EditNode* found = TRY(find(operation, "from")).value();
    const Json value = found ? found->value() : Json();
    grown_bytes_ += text_bytes(value);
    if (grown_bytes_ > kPatchGrowthBytesMax)
      return rejected(
          fmt::format("Unable to complete the copy, the accumulated size increase of copy is {}, "
                      "exceeding the limit {}",
                      grown_bytes_, kPatchGrowthBytesMax));
    return put_at(TRY(find(operation, "path")), value, &JsonPatch::add);
  }

  EditNode document_;
  std::size_t deepest_;  // at least the depth of the document
  std::size_t grown_bytes_;
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

void sort_members(Json& value) {
  if (!value.is_object()) return;
  JsonObject& members = value.as_object();
  std::sort(members.begin(), members.end(),
            [](const JsonMember& a, const JsonMember& b) { return a.key < b.key; });
}

void sort_deep(Json& value) {
  sort_members(value);
  if (value.is_object())
    for (JsonMember& member : value.as_object()) sort_deep(member.value);
  if (value.is_array())
    for (Json& item : value.as_array()) sort_deep(item);
}

// Objects that a merge patch reaches into.
void sort_merged(Json& value, const Json& patch) {
  if (!value.is_object() || !patch.is_object()) return sort_deep(value);
  sort_members(value);
  for (const JsonMember& change : patch.as_object())
    if (Json* member = value.find(change.key)) sort_merged(*member, change.value);
}

// Objects on the way to what an operation names.
void sort_on_path(Json& value, std::string_view path) {
  Json* at = &value;
  for (std::size_t slash = path.find('/'); slash != std::string_view::npos;) {
    sort_members(*at);
    const std::size_t end = path.find('/', slash + 1);
    const std::string key = pointer_token(path.substr(slash + 1, end - slash - 1));
    slash = end;
    if (at->is_array()) {
      const std::optional<std::size_t> place = place_in(key, at->as_array().size());
      at = place ? &at->as_array()[*place] : nullptr;
    } else {
      at = at->is_object() ? at->find(key) : nullptr;
    }
    if (!at) return;
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

Result<Json> apply_json_patch(const Json& document, std::string_view patch) {
  const Json operations = TRY(parsed_patch(patch));
  if (!operations.is_array())
    return malformed_patch(fmt::format(
        "error decoding patch: json: cannot unmarshal {} into Go value of type []handlers.jsonPatchOp",
        go_word(operations)));
  if (operations.as_array().size() > kJsonPatchOperationsMax)
    return Error(
        ErrorCode::TooLarge,
        fmt::format("Request entity too large: The allowed maximum operations in a JSON patch is {}, "
                    "got {}",
                    kJsonPatchOperationsMax, operations.as_array().size()));
  JsonPatch work(document, patch.size());
  for (const Json& operation : operations.as_array()) TRY(work.apply(operation));
  return work.result();
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
  const Json parsed = TRY(parsed_patch(patch));
  if (!parsed.is_object()) return malformed_patch("error decoding patch: " + not_a_map(parsed));
  return merge_patched(std::move(document), parsed);
}

Result<Json> apply_strategic_merge_patch(const TypeInfo& type, Json document, std::string_view patch) {
  Json parsed = TRY(parsed_patch(patch));
  if (!parsed.is_object()) return malformed_patch(not_a_map(parsed));
  return strategic_merge_patched(type, std::move(document), std::move(parsed));
}

Json with_patched_order(Json document, PatchType type, std::string_view patch) {
  const Result<Json> parsed = parse_json(patch);
  if (!parsed) return document;
  if (type == PatchType::Merge) sort_merged(document, *parsed);
  if (type != PatchType::Json || !parsed->is_array()) return document;
  sort_members(document);
  for (const Json& operation : parsed->as_array())
    for (std::string_view which : {"path", "from"}) sort_on_path(document, operation.string_at(which));
  return document;
}

std::string go_value_text(const Json& value) {
  std::string out;
  append_go_text(out, value);
  return out;
}

}  // namespace berth::api
