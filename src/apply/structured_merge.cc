#include "apply/structured_merge.h"

#include <algorithm>
#include <map>
#include <set>

#include "apply/list_items.h"

namespace berth::apply {
namespace {

std::optional<Json> merge_values(const Schema& schema, const Json* live, const Json* config);

bool is_filled(const Json* value) {
  return value && ((value->is_array() && !value->as_array().empty()) ||
                   (value->is_object() && !value->as_object().empty()));
}

std::optional<Json> merge_members(const Schema& schema, const Json* live, const Json* config) {
  JsonObject members;
  const auto add = [&](const std::string& key, const Json* left, const Json* right) {
    const std::optional<Schema> below = schema.member(key);
    if (!below) return;
    if (std::optional<Json> value = merge_values(*below, left, right)) members.append(key, *std::move(value));
  };
  if (live && live->is_object())
    for (const JsonMember& member : live->as_object())
      add(member.key, &member.value, config ? config->find(member.key) : nullptr);
  if (config && config->is_object())
    for (const JsonMember& member : config->as_object())
      if (!live || !live->find(member.key)) add(member.key, nullptr, &member.value);
  if (members.empty()) return std::nullopt;
  return Json(std::move(members));
}

// A list whose items are told apart. Items that repeat a key cannot be merged with another.
struct IndexedList {
  struct Item {
    PathElement element;
    const Json* value;
  };
  std::vector<Item> items;
  std::map<PathElement, const Json*> by_element;  // null: repeats

  IndexedList(const Schema& schema, const Json* list) {
    if (!list || !list->is_array()) return;
    for (const Json& value : list->as_array()) {
      Result<PathElement> element = schema.element_of(value);
      if (!element) continue;
      const auto [at, is_new] = by_element.emplace(*element, &value);
      if (!is_new) at->second = nullptr;
      items.push_back({std::move(element).value(), &value});
    }
  }

  bool has(const PathElement& element) const { return by_element.contains(element); }
  const Json* single(const PathElement& element) const {
    const auto found = by_element.find(element);
    return found == by_element.end() ? nullptr : found->second;
  }
};

// Walks both lists at once. Shared items come in the order of the configuration; an item of the live list
// alone keeps its place between the shared ones around it.
class ListMerge {
 public:
  ListMerge(const Schema& schema, const Json* live, const Json* config)
      : schema_(schema), live_(schema, live), config_(schema, config) {
    for (const IndexedList::Item& item : config_.items)
      if (live_.has(item.element)) shared_.push_back(&item.element);
  }

  std::optional<Json> run() {
    while (at_live_ < live_.items.size() || at_config_ < config_.items.size()) step();
    if (out_.empty()) return std::nullopt;
    return Json(std::move(out_));
  }

 private:
  void step();
  void take(const Json* live, const Json* config);
  void take_config();

  const PathElement* next_shared() const {
    return at_shared_ < shared_.size() ? shared_[at_shared_] : nullptr;
  }

  const Schema& schema_;
  const IndexedList live_, config_;
  std::vector<const PathElement*> shared_;  // in the order of the configuration
  std::size_t at_live_ = 0, at_config_ = 0, at_shared_ = 0;
  std::set<PathElement> taken_;  // of the configuration
  JsonArray out_;
};

void ListMerge::take(const Json* live, const Json* config) {
  if (std::optional<Json> value = merge_values(schema_.item(), live, config))
    out_.push_back(*std::move(value));
}

void ListMerge::take_config() {
  const PathElement& element = config_.items[at_config_].element;
  taken_.insert(element);
  take(live_.single(element), config_.single(element));
  ++at_config_;
  if (const PathElement* shared = next_shared(); shared && *shared == element) ++at_shared_;
}

void ListMerge::step() {
  if (at_live_ < live_.items.size()) {
    const IndexedList::Item& item = live_.items[at_live_];
    const bool is_shared = config_.has(item.element);
    if (at_config_ < config_.items.size()) {
      if (item.element == config_.items[at_config_].element) {
        ++at_live_;
        return take_config();
      }
      const PathElement* shared = next_shared();
      if (is_shared && shared && *shared != item.element) {
        ++at_live_;
        return;
      }
    }
    if (!is_shared) {
      take(item.value, nullptr);
      ++at_live_;
      return;
    }
    if (taken_.contains(item.element)) ++at_live_;
  }
  if (at_config_ < config_.items.size()) take_config();
}

std::optional<Json> merge_values(const Schema& schema, const Json* live, const Json* config) {
  const Form form = schema.form();
  if (form == Form::Leaf || (!is_filled(live) && !is_filled(config))) return config ? *config : *live;
  if (form == Form::Struct || form == Form::Map) return merge_members(schema, live, config);
  return ListMerge(schema, live, config).run();
}

void add_items(const Schema& schema, const Json& list, FieldSet& set);
void add_members(const Schema& schema, const Json& object, FieldSet& set);

// The fields below a value; for a leaf, none.
FieldSet fields_below(const Schema& schema, const Json& value) {
  FieldSet set;
  const Form form = schema.form();
  if ((form == Form::Struct || form == Form::Map) && value.is_object()) add_members(schema, value, set);
  if ((form == Form::Set || form == Form::Items) && value.is_array()) add_items(schema, value, set);
  set.sort();
  return set;
}

void add_members(const Schema& schema, const Json& object, FieldSet& set) {
  const bool keys_are_data = schema.form() == Form::Map;
  for (const JsonMember& member : object.as_object()) {
    const std::optional<Schema> below = schema.member(member.key);
    if (!below) continue;
    const bool is_empty =
        member.value.is_null() || (member.value.is_object() && member.value.as_object().empty());
    const bool is_leaf = below->form() == Form::Leaf;
    set.append(PathElement::field(member.key), is_leaf || is_empty || keys_are_data,
               fields_below(*below, member.value));
  }
}

void add_items(const Schema& schema, const Json& list, FieldSet& set) {
  std::vector<ListItem> items = items_by_element(schema, &list);
  for (auto at = items.begin(); at != items.end();) {
    const auto next = end_of_element(at, items.end());
    const bool repeats = next - at > 1;
    FieldSet below = repeats ? FieldSet() : fields_below(schema.item(), *at->value);
    set.append(std::move(at->element), true, std::move(below));
    at = next;
  }
}

Json prune_members(const Schema& schema, const Json& object, const FieldSet& unwanted) {
  JsonObject kept;
  for (const JsonMember& member : object.as_object()) {
    const FieldSet::Node* node = unwanted.find(PathElement::field(member.key));
    if (node && node->member) continue;
    const std::optional<Schema> below = schema.member(member.key);
    const bool reaches_below = node && below;
    kept.append(member.key,
                reaches_below ? without_fields(*below, member.value, node->children) : member.value);
  }
  return kept.empty() ? Json() : Json(std::move(kept));
}

Json prune_items(const Schema& schema, const Json& list, const FieldSet& unwanted) {
  JsonArray kept;
  for (const Json& item : list.as_array()) {
    const Result<PathElement> element = schema.element_of(item);
    const FieldSet::Node* node = element ? unwanted.find(*element) : nullptr;
    if (node && node->member) continue;
    kept.push_back(node ? without_fields(schema.item(), item, node->children) : item);
  }
  return kept.empty() ? Json() : Json(std::move(kept));
}

// Appends the paths of lists, maps and structs that have one owner: the first kSingleOwnersMax.
void add_single_owners(const Schema& schema, const Json& value, const std::string& path,
                       std::vector<std::string>& paths) {
  if (paths.size() == kSingleOwnersMax || (!value.is_object() && !value.is_array())) return;
  const Form form = schema.form();
  if (form == Form::Leaf) return paths.push_back(path);
  if (form == Form::Struct)
    for (const JsonMember& member : value.as_object())
      if (const std::optional<Schema> below = schema.member(member.key))
        add_single_owners(*below, member.value, path + "." + member.key, paths);
  if (form == Form::Items)
    for (std::size_t i = 0; i < value.as_array().size(); ++i)
      add_single_owners(schema.item(), value.as_array()[i], path + "[" + std::to_string(i) + "]", paths);
}

}  // namespace

Json merged(const Schema& schema, const Json& live, const Json& config) {
  return merge_values(schema, &live, &config).value_or(Json::object());
}

Result<Json> merged_by_policy(const Schema& schema, const Json& live, const Json& config) {
  if (const std::string problem = schema.problem_of(config); !problem.empty())
    return Error(ErrorCode::Invalid, "failed to convert patch object to typed object: " + problem);
  std::vector<std::string> paths;
  add_single_owners(schema, config, "", paths);
  if (paths.empty()) return merged(schema, live, config);
  std::string text = "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ";
  for (const std::string& path : paths) text += (&path == &paths.front() ? "" : ", ") + path;
  if (paths.size() == kSingleOwnersMax) text += " and perhaps others";
  return Error(ErrorCode::Invalid, std::move(text));
}

FieldSet fields_of(const Schema& schema, const Json& document) {
  return fields_below(schema, document);
}

Json without_fields(const Schema& schema, const Json& document, const FieldSet& unwanted) {
  if (unwanted.empty()) return document;
  const Form form = schema.form();
  if (document.is_object() && (form == Form::Struct || form == Form::Map))
    return prune_members(schema, document, unwanted);
  if (document.is_array() && (form == Form::Set || form == Form::Items))
    return prune_items(schema, document, unwanted);
  const bool is_scalar = !document.is_object() && !document.is_array();
  return is_scalar ? document : Json();
}

FieldSet with_named_parents(const Schema& schema, const FieldSet& set) {
  const Form form = schema.form();
  const bool is_list = form == Form::Set || form == Form::Items;
  FieldSet result;
  for (const FieldSet::Node& node : set.nodes()) {
    const bool is_field = node.element.type == PathElement::Type::Field;
    std::optional<Schema> below = is_list    ? schema.item()
                                  : is_field ? schema.member(node.element.name)
                                             : std::nullopt;
    const bool is_named_parent = is_field && form == Form::Struct && below && !node.children.empty();
    result.append(node.element, node.member || is_named_parent,
                  below ? with_named_parents(*below, node.children) : node.children);
  }
  return result;
}

}  // namespace berth::apply
