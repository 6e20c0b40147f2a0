#include "workloads/conditions.h"

#include <algorithm>

namespace berth::workloads {

const Json* find_condition(const JsonArray& conditions, std::string_view type) {
  for (const Json& condition : conditions)
    if (condition.string_at("type") == type) return &condition;
  return nullptr;
}

bool condition_is_true(const JsonArray& conditions, std::string_view type) {
  const Json* condition = find_condition(conditions, type);
  return condition && condition->string_at("status") == "True";
}

void remove_condition(Json& conditions, std::string_view type) {
  if (!conditions.is_array()) return;
  const Json& standing = conditions;
  if (!find_condition(standing.as_array(), type)) return;
  JsonArray rest;
  for (const Json& condition : standing.as_array())
    if (condition.string_at("type") != type) rest.push_back(condition);
  conditions = Json(std::move(rest));
}

bool set_condition(Json& conditions, const api::Condition& wanted) {
  const Json standing = conditions.is_array() ? conditions : Json(JsonArray());
  const Json* old = find_condition(standing.as_array(), wanted.type);
  if (old && old->string_at("status") == wanted.status && old->string_at("reason") == wanted.reason &&
      old->string_at("message") == wanted.message)
    return false;
  api::Condition changed = wanted;
  if (old && old->string_at("status") == wanted.status)
    if (const Time since = api::decode_time(old->string_at("lastTransitionTime")); since.is_set())
      changed.last_transition = since;
  JsonArray next;
  for (const Json& condition : standing.as_array())
    next.push_back(&condition == old ? api::to_json(changed) : condition);
  if (!old) next.push_back(api::to_json(changed));
  conditions = Json(std::move(next));
  return true;
}

}  // namespace berth::workloads
