#include "rbac/user.h"

namespace berth::rbac {

Json user_info(const User& user) {
  const auto texts = [](const std::vector<std::string>& list) { return JsonArray(list.begin(), list.end()); };
  Json info = Json::object({{"username", user.name}});
  if (!user.uid.empty()) info["uid"] = user.uid;
  if (!user.groups.empty()) info["groups"] = texts(user.groups);
  for (const auto& [key, values] : user.extra) info["extra"][key] = texts(values);
  return info;
}

}  // namespace berth::rbac
