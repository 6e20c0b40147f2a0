#include "api/types/meta.h"

#include <algorithm>
#include <charconv>

#include "api/protobuf_document.h"

namespace berth::api {
namespace {

template <class Document>
std::vector<Requirement> decode_requirements(const std::vector<Document>& items) {
  std::vector<Requirement> requirements;
  for (const Document& item : items)
    requirements.push_back({std::string(item.string_at("key")), std::string(item.string_at("operator")),
                            strings_at(item, "values")});
  return requirements;
}

template <class Document>
NodeSelectorTerm node_selector_term_of(const Document& term) {
  return {decode_requirements(term.items_at("matchExpressions")),
          decode_requirements(term.items_at("matchFields"))};
}

template <class Document>
NodeSelector node_selector_of(const Document& selector) {
  NodeSelector decoded;
  for (const Document& term : selector.items_at("nodeSelectorTerms"))
    decoded.terms.push_back(node_selector_term_of(term));
  return decoded;
}

Json requirements_json(const std::vector<Requirement>& requirements) {
  JsonArray items;
  for (const Requirement& requirement : requirements) {
    JsonObject item;
    item.reserve(3);
    item.append("key", requirement.key);
    item.append("operator", requirement.op);
    if (!requirement.values.empty()) item.append("values", to_json(requirement.values));
    items.push_back(std::move(item));
  }
  return items;
}

bool matches(const NodeSelectorTerm& term, const StringMap& labels, const StringMap& fields) {
  if (term.expressions.empty() && term.fields.empty()) return false;
  const auto holds = [](const StringMap& values) {
    return [&values](const Requirement& requirement) { return matches(requirement, values); };
  };
  return std::all_of(term.expressions.begin(), term.expressions.end(), holds(labels)) &&
         std::all_of(term.fields.begin(), term.fields.end(), holds(fields));
}

template <class Document>
ObjectMeta meta_of(const Document& object) {
  ObjectMeta meta;
  const auto found = object.find("metadata");
  if (!found) return meta;
  const Document& document = *found;
  meta.name = document.string_at("name");
  meta.ns = document.string_at("namespace");
  meta.uid = document.string_at("uid");
  meta.resource_version =
      static_cast<std::uint64_t>(to_int(document.string_at("resourceVersion")).value_or(0));
  meta.generation = document.int_at("generation");
  meta.created = time_at(document, "creationTimestamp");
  meta.deleted = time_at(document, "deletionTimestamp");
  meta.deletion_grace_s = find_int(document, "deletionGracePeriodSeconds");
  meta.labels = string_map_at(document, "labels");
  meta.annotations = string_map_at(document, "annotations");
  meta.finalizers = strings_at(document, "finalizers");
  for (const Document& item : document.items_at("ownerReferences"))
    meta.owners.push_back({std::string(item.string_at("apiVersion")), std::string(item.string_at("kind")),
                           std::string(item.string_at("name")), std::string(item.string_at("uid")),
                           item.bool_at("controller"), item.bool_at("blockOwnerDeletion")});
  return meta;
}

template <class Document>
std::vector<Condition> conditions_of(const std::vector<Document>& items) {
  std::vector<Condition> conditions;
  conditions.reserve(items.size());
  for (const Document& item : items)
    conditions.push_back({std::string(item.string_at("type")), std::string(item.string_at("status")),
                          std::string(item.string_at("reason")), std::string(item.string_at("message")),
                          time_at(item, "lastTransitionTime"), item.int_at("observedGeneration")});
  return conditions;
}

}  // namespace

std::optional<std::int64_t> to_int(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool ObjectMeta::has_finalizer(std::string_view finalizer) const {
  return std::find(finalizers.begin(), finalizers.end(), finalizer) != finalizers.end();
}

const OwnerReference* ObjectMeta::controller() const {
  for (const OwnerReference& owner : owners)
    if (owner.controller) return &owner;
  return nullptr;
}

std::string_view ObjectMeta::annotation(std::string_view key) const {
  const auto found = annotations.find(key);
  return found == annotations.end() ? std::string_view() : std::string_view(found->second);
}

const Condition* find_condition(const std::vector<Condition>& conditions, std::string_view type) {
  for (const Condition& condition : conditions)
    if (condition.type == type) return &condition;
  return nullptr;
}

bool condition_is_true(const std::vector<Condition>& conditions, std::string_view type) {
  const Condition* condition = find_condition(conditions, type);
  return condition && condition->status == "True";
}

bool says_the_same(const Condition& a, const Condition& b) {
  return a.type == b.type && a.status == b.status && a.reason == b.reason && a.message == b.message &&
         a.observed_generation == b.observed_generation;
}

Condition keeping_transition(const std::vector<Condition>& standing, Condition wanted) {
  const Condition* before = find_condition(standing, wanted.type);
  if (before && before->status == wanted.status) wanted.last_transition = before->last_transition;
  return wanted;
}

void set_condition(std::vector<Condition>& conditions, Condition wanted) {
  wanted = keeping_transition(conditions, std::move(wanted));
  const auto place = std::find_if(conditions.begin(), conditions.end(),
                                  [&](const Condition& standing) { return standing.type == wanted.type; });
  if (place == conditions.end())
    conditions.push_back(std::move(wanted));
  else
    *place = std::move(wanted);
}

bool matches(const Requirement& requirement, const StringMap& labels) {
  const auto found = labels.find(requirement.key);
  const bool present = found != labels.end();
  const auto listed = [&] {
    return std::find(requirement.values.begin(), requirement.values.end(), found->second) !=
           requirement.values.end();
  };
  if (requirement.op == "Exists") return present;
  if (requirement.op == "DoesNotExist") return !present;
  if (requirement.op == "In") return present && listed();
  if (requirement.op == "NotIn") return !present || !listed();
  if ((requirement.op == "Gt" || requirement.op == "Lt") && present && requirement.values.size() == 1) {
    const auto have = to_int(found->second), bound = to_int(requirement.values.front());
    if (!have || !bound) return false;
    return requirement.op == "Gt" ? *have > *bound : *have < *bound;
  }
  return false;
}

bool matches(const NodeSelector& selector, const StringMap& labels, std::string_view node_name) {
  const StringMap fields = {{"metadata.name", std::string(node_name)}};
  return std::any_of(selector.terms.begin(), selector.terms.end(),
                     [&](const NodeSelectorTerm& term) { return matches(term, labels, fields); });
}

ObjectMeta decode_meta(const Json& object) {
  return meta_of(object);
}
ObjectMeta decode_meta(const ProtobufDocument& object) {
  return meta_of(object);
}

std::vector<Condition> decode_conditions(const JsonArray& items) {
  return conditions_of(items);
}
std::vector<Condition> decode_conditions(const std::vector<ProtobufDocument>& items) {
  return conditions_of(items);
}

NodeSelector decode_node_selector(const Json& selector) {
  return node_selector_of(selector);
}
NodeSelector decode_node_selector(const ProtobufDocument& selector) {
  return node_selector_of(selector);
}
NodeSelectorTerm decode_node_selector_term(const Json& term) {
  return node_selector_term_of(term);
}
NodeSelectorTerm decode_node_selector_term(const ProtobufDocument& term) {
  return node_selector_term_of(term);
}

StringMap decode_string_map(const Json* map) {
  StringMap decoded;
  if (!map || !map->is_object()) return decoded;
  for (const JsonMember& member : map->as_object())
    if (member.value.is_string()) decoded.emplace(member.key, member.value.as_string());
  return decoded;
}

std::optional<Quantity> decode_quantity(const Json& object, std::string_view field) {
  const Json* found = object.find(field);
  if (!found) return std::nullopt;
  Result<Quantity> quantity = parse_quantity(found->is_string() ? found->as_string() : to_string(*found));
  return quantity ? std::optional(*quantity) : std::nullopt;
}

ResourceMap decode_resource_map(const Json* map) {
  ResourceMap decoded;
  if (!map || !map->is_object()) return decoded;
  for (const JsonMember& member : map->as_object()) {
    const std::string text = member.value.is_string() ? member.value.as_string() : to_string(member.value);
    if (Result<Quantity> quantity = parse_quantity(text)) decoded.emplace(member.key, *quantity);
  }
  return decoded;
}

std::vector<std::string> decode_strings(const JsonArray& items) {
  std::vector<std::string> strings;
  strings.reserve(items.size());
  for (const Json& item : items)
    if (item.is_string()) strings.push_back(item.as_string());
  return strings;
}

Time decode_time(std::string_view text) {
  return text.empty() ? Time() : parse_time(text).value_or(Time());
}

Json to_json(const Condition& condition) {
  Json json = Json::object({{"type", condition.type}, {"status", condition.status}});
  if (condition.observed_generation != 0) json["observedGeneration"] = condition.observed_generation;
  if (condition.last_transition.is_set()) json["lastTransitionTime"] = format_time(condition.last_transition);
  if (!condition.reason.empty()) json["reason"] = condition.reason;
  if (!condition.message.empty()) json["message"] = condition.message;
  return json;
}

Json to_json(const NodeSelector& selector) {
  JsonArray terms;
  for (const NodeSelectorTerm& term : selector.terms) {
    Json item = Json::object();
    if (!term.expressions.empty()) item["matchExpressions"] = requirements_json(term.expressions);
    if (!term.fields.empty()) item["matchFields"] = requirements_json(term.fields);
    terms.push_back(std::move(item));
  }
  return Json::object({{"nodeSelectorTerms", std::move(terms)}});
}

Json to_json(const StringMap& map) {
  JsonObject object;
  for (const auto& [key, value] : map) object.append(key, value);
  return object;
}

Json to_json(const std::vector<std::string>& strings) {
  return JsonArray(strings.begin(), strings.end());
}

Json to_json(const OwnerReference& owner) {
  JsonObject json;
  json.reserve(6);
  json.append("apiVersion", owner.api_version);
  json.append("kind", owner.kind);
  json.append("name", owner.name);
  json.append("uid", owner.uid);
  if (owner.controller) json.append("controller", true);
  if (owner.block_owner_deletion) json.append("blockOwnerDeletion", true);
  return json;
}

}  // namespace berth::api
