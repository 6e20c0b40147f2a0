#include "server/flow_schema_status.h"

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/flow_schemas.h"

namespace berth::server {
namespace {

constexpr std::string_view kDangling = "Dangling";

std::vector<store::ObjectPtr> stored_flow_objects(const Registry& registry, std::string_view plural) {
  return registry.stored(std::string(plural).append(".").append(kFlowControlGroup));
}

Json dangling_condition(const std::string& level, bool exists, Time now) {
  return Json::object({{"type", kDangling},
                       {"status", exists ? "False" : "True"},
                       {"lastTransitionTime", format_time(now)},
                       {"reason", exists ? "Found" : "NotFound"},
                       {"message", "This FlowSchema references the PriorityLevelConfiguration object named " +
                                       to_string(Json(level)) +
                                       (exists ? " and it exists" : " but there is no such object")}});
}

// Null: it has none.
const Json* dangling_of(const Json& schema) {
  for (const Json& condition : schema.part("status").items_at("conditions"))
    if (condition.string_at("type") == kDangling) return &condition;
  return nullptr;
}

Json with_dangling(const Json& schema, Json wanted) {
  JsonArray conditions;
  for (const Json& condition : schema.part("status").items_at("conditions"))
    if (condition.string_at("type") != kDangling) conditions.push_back(condition);
  conditions.push_back(std::move(wanted));
  Json next = schema;
  next["status"] = Json::object({{"conditions", std::move(conditions)}});
  return next;
}

}  // namespace

void report_dangling_schemas(Registry& registry, const std::function<void()>& failed) {
  std::set<std::string, std::less<>> levels;
  for (const store::ObjectPtr& level : stored_flow_objects(registry, "prioritylevelconfigurations"))
    levels.insert(level->key.name);
  const Time now = registry.dependencies().clock.now();
  for (const store::ObjectPtr& object : stored_flow_objects(registry, "flowschemas")) {
    const Result<Json> schema = registry.document_of(*object);
    if (!schema) continue;
    const std::string level(schema->part("spec").part("priorityLevelConfiguration").string_at("name"));
    const Json wanted = dangling_condition(level, levels.contains(level), now);
    const Json* const standing = dangling_of(*schema);
    if (standing && standing->part("message") == wanted.part("message")) continue;
    const ObjectTarget target{api::find_resource(kFlowControlGroup, "v1", "flowschemas"), "",
                              object->key.name, "status"};
    WriteOptions options;
    options.in_process = true;
    registry.modify(
        target,
        [target, wanted](const Json& current) {
          return canonical(target, with_dangling(current, wanted), current);
        },
        std::move(options),
        [failed](const ApiResult<Answer>& made) {
          if (!made && made.error().code != 404) failed();
        });
  }
}

}  // namespace berth::server
