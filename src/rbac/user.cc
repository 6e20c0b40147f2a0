#include "rbac/user.h"

#include "api/types/meta.h"

namespace berth::rbac {

Json user_info(const User& user) {
  Json info = Json::object({{"username", user.name}});
  if (!user.uid.empty()) info["uid"] = user.uid;
  if (!user.groups.empty()) info["groups"] = api::to_json(user.groups);
  for (const auto& [key, values] : user.extra) info["extra"][key] = api::to_json(values);
  return info;
}

}  // namespace berth::rbac
