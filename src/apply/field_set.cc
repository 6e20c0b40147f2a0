#include "apply/field_set.h"

#include <algorithm>
#include <charconv>

namespace berth::apply {
namespace {

constexpr std::string_view kMember = ".";  // in FieldsV1: the path itself

std::strong_ordering compare_numbers(double a, double b) {
  return a < b   ? std::strong_ordering::less
         : a > b ? std::strong_ordering::greater
                 : std::strong_ordering::equal;
}

int rank_of(const Json& value) {
  return value.is_number() ? 0 : value.is_string() ? 1 : value.is_bool() ? 2 : 3;
}

// Numbers, strings, booleans, anything else, in this order.
std::strong_ordering compare_values(const Json& a, const Json& b) {
  if (rank_of(a) != rank_of(b)) return rank_of(a) <=> rank_of(b);
  if (a.is_int() && b.is_int()) return a.as_int() <=> b.as_int();
  if (a.is_number()) return compare_numbers(a.as_double(), b.as_double());
  if (a.is_string()) return a.as_string() <=> b.as_string();
  if (a.is_bool()) return a.as_bool() <=> b.as_bool();
  return to_string(a) <=> to_string(b);
}

std::strong_ordering compare_keys(const JsonObject& a, const JsonObject& b) {
  auto left = a.begin();
  auto right = b.begin();
  for (; left != a.end() && right != b.end(); ++left, ++right) {
    if (const auto order = left->key <=> right->key; order != 0) return order;
    if (const auto order = compare_values(left->value, right->value); order != 0) return order;
  }
  return a.size() <=> b.size();
}

Json sorted_by_name(const Json& object) {
  JsonObject::Members members(object.as_object().begin(), object.as_object().end());
  std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  return JsonObject(std::move(members));
}

Error no_element(std::string_view text) {
  return Error(ErrorCode::Invalid, std::string(text), "no path element of managed fields");
}

Result<PathElement> parsed_json(PathElement::Type type, std::string_view text, std::string_view whole) {
  Result<Json> value = parse_json(text);
  const bool wants_object = type == PathElement::Type::Key;
  if (!value || value->is_object() != wants_object) return no_element(whole);
  return PathElement{type, {}, wants_object ? sorted_by_name(*value) : std::move(value).value()};
}

// Calls `both` for elements of both, `left` and `right` for those of one.
template <class Nodes, class Left, class Right, class Both>
void zip(Nodes& a, Nodes& b, Left left, Right right, Both both) {
  auto i = a.begin();
  auto j = b.begin();
  while (i != a.end() && j != b.end()) {
    const auto order = i->element <=> j->element;
    if (order < 0)
      left(*i++);
    else if (order > 0)
      right(*j++);
    else
      both(*i++, *j++);
  }
  std::for_each(i, a.end(), left);
  std::for_each(j, b.end(), right);
}

constexpr auto kSkip = [](const FieldSet::Node&) {};

}  // namespace

std::string PathElement::serialized() const {
  if (type == Type::Field) return "f:" + name;
  std::string text = type == Type::Key ? "k:" : type == Type::Value ? "v:" : "i:";
  append_to(text, value);
  return text;
}

Result<PathElement> PathElement::parsed(std::string_view text) {
  if (text.size() < 2 || text[1] != ':') return no_element(text);
  const std::string_view rest = text.substr(2);
  switch (text[0]) {
    case 'f':
      return field(rest);
    case 'k':
      return parsed_json(Type::Key, rest, text);
    case 'v':
      return parsed_json(Type::Value, rest, text);
    case 'i':
      break;
    default:
      return no_element(text);
  }
  std::int64_t index = 0;
  if (std::from_chars(rest.data(), rest.data() + rest.size(), index).ptr != rest.data() + rest.size())
    return no_element(text);
  return PathElement{Type::Index, {}, index};
}

std::string PathElement::text() const {
  switch (type) {
    case Type::Field:
      return "." + name;
    case Type::Value:
      return "[=" + to_string(value) + "]";
    case Type::Index:
      return "[" + to_string(value) + "]";
    case Type::Key:
      break;
  }
  std::string keys;
  for (const JsonMember& key : value.as_object())
    keys += (keys.empty() ? "" : ",") + key.key + "=" + to_string(key.value);
  return "[" + keys + "]";
}

std::strong_ordering PathElement::operator<=>(const PathElement& other) const {
  if (type != other.type) return type <=> other.type;
  if (type == Type::Field) return name <=> other.name;
  if (type == Type::Key) return compare_keys(value.as_object(), other.value.as_object());
  return compare_values(value, other.value);
}

// The type, the rank of a value, and the first bytes of a text.
std::uint64_t PathElement::order_prefix() const {
  constexpr unsigned kKindBits = 4;
  const bool is_value = type == Type::Value;
  std::string_view text;
  if (type == Type::Field) text = name;
  if (is_value && value.is_string()) text = value.as_string();
  std::uint64_t bytes = 0;
  for (std::size_t at = 0; at < sizeof bytes; ++at)
    bytes = bytes << 8 | (at < text.size() ? static_cast<unsigned char>(text[at]) : 0);
  const auto kind =
      static_cast<std::uint64_t>(type) << 2 | static_cast<std::uint64_t>(is_value ? rank_of(value) : 0);
  return kind << (64 - kKindBits) | bytes >> kKindBits;
}

std::string text_of(const FieldPath& path) {
  std::string text;
  for (const PathElement& element : path) text += element.text();
  return text;
}

const FieldSet::Node* FieldSet::find(const PathElement& element) const {
  const auto at = std::lower_bound(nodes_.begin(), nodes_.end(), element,
                                   [](const Node& node, const PathElement& e) { return node.element < e; });
  return at != nodes_.end() && at->element == element ? &*at : nullptr;
}

bool FieldSet::has(std::span<const PathElement> path) const {
  if (path.empty()) return false;
  const Node* node = find(path.front());
  if (!node) return false;
  return path.size() == 1 ? node->member : node->children.has(path.subspan(1));
}

void FieldSet::insert(std::span<const PathElement> path) {
  if (path.empty()) return;
  auto at = std::lower_bound(nodes_.begin(), nodes_.end(), path.front(),
                             [](const Node& node, const PathElement& e) { return node.element < e; });
  if (at == nodes_.end() || at->element != path.front())
    at = nodes_.insert(at, Node{path.front(), false, {}});
  if (path.size() == 1)
    at->member = true;
  else
    at->children.insert(path.subspan(1));
}

void FieldSet::append(PathElement element, bool member, FieldSet children) {
  if (member || !children.empty()) nodes_.push_back({std::move(element), member, std::move(children)});
}

void FieldSet::sort() {
  sort_by_element(nodes_);
}

FieldSet FieldSet::united(FieldSet other) const& {
  return FieldSet(*this).united(std::move(other));
}

FieldSet FieldSet::united(FieldSet other) && {
  if (empty()) return other;
  if (other.empty()) return std::move(*this);
  FieldSet result;
  const auto keep = [&](Node& node) { result.nodes_.push_back(std::move(node)); };
  zip(nodes_, other.nodes_, keep, keep, [&](Node& a, Node& b) {
    result.append(std::move(a.element), a.member || b.member,
                  std::move(a.children).united(std::move(b.children)));
  });
  return result;
}

FieldSet FieldSet::intersected(const FieldSet& other) const {
  FieldSet result;
  zip(nodes_, other.nodes_, kSkip, kSkip, [&](const Node& a, const Node& b) {
    result.append(a.element, a.member && b.member, a.children.intersected(b.children));
  });
  return result;
}

std::vector<FieldSet::Node>::iterator FieldSet::place_of(const PathElement& element) {
  const auto at = std::lower_bound(nodes_.begin(), nodes_.end(), element,
                                   [](const Node& node, const PathElement& e) { return node.element < e; });
  return at != nodes_.end() && at->element == element ? at : nodes_.end();
}

// Nodes that lead nowhere.
void FieldSet::drop_empty() {
  std::erase_if(nodes_, [](const Node& node) { return !node.member && node.children.empty(); });
}

FieldSet FieldSet::without(const FieldSet& other) const& {
  return FieldSet(*this).without(other);
}

FieldSet FieldSet::without(const FieldSet& other) && {
  for (const Node& taken : other.nodes_) {
    const auto at = place_of(taken.element);
    if (at == nodes_.end()) continue;
    at->member = at->member && !taken.member;
    at->children = std::move(at->children).without(taken.children);
  }
  drop_empty();
  return std::move(*this);
}

FieldSet FieldSet::without_subtrees(const FieldSet& other) const& {
  return FieldSet(*this).without_subtrees(other);
}

FieldSet FieldSet::without_subtrees(const FieldSet& other) && {
  for (const Node& taken : other.nodes_) {
    const auto at = place_of(taken.element);
    if (at == nodes_.end()) continue;
    at->children = taken.member ? FieldSet() : std::move(at->children).without_subtrees(taken.children);
    at->member = at->member && !taken.member;
  }
  drop_empty();
  return std::move(*this);
}

void FieldSet::for_each(const std::function<void(const FieldPath& path)>& visit) const {
  FieldPath prefix;
  for_each_below(prefix, visit);
}

void FieldSet::for_each_below(FieldPath& prefix,
                              const std::function<void(const FieldPath& path)>& visit) const {
  for (const Node& node : nodes_) {
    if (!node.member) continue;
    prefix.push_back(node.element);
    visit(prefix);
    prefix.pop_back();
  }
  for (const Node& node : nodes_) {
    if (node.children.empty()) continue;
    prefix.push_back(node.element);
    node.children.for_each_below(prefix, visit);
    prefix.pop_back();
  }
}

Json FieldSet::to_json(bool with_itself) const {
  JsonObject::Members fields;
  fields.reserve(nodes_.size() + 1);
  if (with_itself) fields.push_back({std::string(kMember), Json::object()});
  for (const Node& node : nodes_)
    fields.push_back(
        {node.element.serialized(), node.children.to_json(node.member && !node.children.empty())});
  return JsonObject(std::move(fields));
}

Result<FieldSet> FieldSet::from_json(const Json& fields) {
  FieldSet set;
  if (!fields.is_object()) return Error(ErrorCode::Invalid, "managed fields are a JSON object");
  for (const JsonMember& member : fields.as_object()) {
    if (member.key == kMember) continue;
    PathElement element = TRY(PathElement::parsed(member.key));
    FieldSet children = TRY(from_json(member.value));
    const bool is_member = children.empty() || member.value.find(kMember);
    set.append(std::move(element), is_member, std::move(children));
  }
  set.sort();
  const auto twice = std::adjacent_find(set.nodes_.begin(), set.nodes_.end(),
                                        [](const Node& a, const Node& b) { return a.element == b.element; });
  if (twice != set.nodes_.end()) return no_element(twice->element.serialized());
  return set;
}

bool operator==(const FieldSet& a, const FieldSet& b) {
  return a.nodes_ == b.nodes_;
}

}  // namespace berth::apply
