#include "server/conditions.h"

namespace berth::server {

const Json* find_condition(const Json& status, std::string_view type) {
  for (const Json& condition : status.items_at("conditions"))
    if (condition.string_at("type") == type) return &condition;
  return nullptr;
}

bool condition_is_true(const Json& status, std::string_view type) {
  const Json* condition = find_condition(status, type);
  return condition && condition->string_at("status") == "True";
}

Json& condition_place(Json& object, std::string_view type) {
  Json& conditions = object["status"]["conditions"];
  if (!conditions.is_array()) conditions = Json::array();
  for (Json& condition : conditions.as_array())
    if (condition.string_at("type") == type) return condition;
  return conditions.as_array().emplace_back();
}

}  // namespace berth::server
