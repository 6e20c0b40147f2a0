// Who asks: the UserInfo of authentication.k8s.io/v1.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace berth::rbac {

inline constexpr std::string_view kMasters = "system:masters";
inline constexpr std::string_view kAuthenticated = "system:authenticated";
inline constexpr std::string_view kUnauthenticated = "system:unauthenticated";
inline constexpr std::string_view kAnonymous = "system:anonymous";
inline constexpr std::string_view kServiceAccounts = "system:serviceaccounts";
inline constexpr std::string_view kServiceAccountPrefix = "system:serviceaccount:";

struct User {
  std::string name;
  std::vector<std::string> groups = {};
  std::string uid = {};
  std::map<std::string, std::vector<std::string>> extra = {};

  bool is_in(std::string_view group) const {
    return std::find(groups.begin(), groups.end(), group) != groups.end();
  }
  // Whether no rule limits this user.
  bool is_administrator() const { return is_in(kMasters); }
};

// A UserInfo of authentication.k8s.io/v1; empty members are left off, but for the name.
Json user_info(const User& user);

// "system:serviceaccount:NAMESPACE:NAME"
inline std::string service_account_user(std::string_view ns, std::string_view name) {
  return std::string(kServiceAccountPrefix).append(ns).append(":").append(name);
}

// The groups of every service account of a namespace, without kAuthenticated.
inline std::vector<std::string> service_account_groups(std::string_view ns) {
  return {std::string(kServiceAccounts), std::string(kServiceAccounts).append(":").append(ns)};
}

}  // namespace berth::rbac
