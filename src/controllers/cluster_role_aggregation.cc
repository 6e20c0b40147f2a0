// Writes into ClusterRoles with an aggregationRule the rules of the roles that they select, for those who
// read them: who may do what does not wait for it (rbac::Policy).
//
// Source: pkg/controller/clusterroleaggregation of Kubernetes 1.37.
#include <utility>

#include "api/serialized.h"
#include "controllers/controllers.h"
#include "rbac/policy.h"

namespace berth::controllers {
namespace {

const api::ResourceRef& cluster_roles() {
  static const api::ResourceRef kRef{std::string(rbac::kGroup), "v1", "clusterroles"};
  return kRef;
}

// One key stands for all roles: each may be selected by each other.
class ClusterRoleAggregation final : public client::Reconciler {
 public:
  std::string_view name() const override { return "clusterrole-aggregation-controller"; }
  std::vector<client::Interest> interests() const override {
    return {{Kind::Other, cluster_roles(), [](const View&, const Delta&, Keys& keys) {
               keys.push_back({Kind::Other, "", "", cluster_roles()});
             }}};
  }
  Effects reconcile(const View& view, const api::ObjectKey& all, Time) override {
    Effects effects;
    const auto table = view.others.find(cluster_roles());
    if (table == view.others.end()) return effects;
    const std::vector<rbac::RolePtr> roles = read_roles(table->second.all());
    for (const auto& [unused, object] : table->second.all()) {
      const rbac::Role& role = *read_.at(object->meta.name).second;
      if (!role.collects || object->meta.deleting()) continue;
      const std::vector<rbac::PolicyRule> wanted = rbac::aggregated_rules(role, roles);
      if (wanted == role.own.rules) continue;
      JsonArray rules;
      for (const rbac::PolicyRule& rule : wanted) rules.push_back(rule.to_json());
      const api::ObjectKey key{Kind::Other, "", object->meta.name, all.resource};
      effects.chains.push_back({key, {}});
      effects.then(client::merge_patch(key, Json::object({{"rules", std::move(rules)}}), object->meta.uid,
                                       object->meta.resource_version));
    }
    return effects;
  }

 private:
  // Those that have changed since the last run are parsed.
  template <class Objects>
  std::vector<rbac::RolePtr> read_roles(const Objects& objects) {
    std::vector<rbac::RolePtr> roles;
    auto before = std::exchange(read_, {});
    for (const auto& [unused, object] : objects) {
      const std::uint64_t version = object->meta.resource_version;
      const auto found = before.find(object->meta.name);
      rbac::RolePtr role;
      if (found != before.end() && found->second.first == version)
        role = found->second.second;
      else if (const Result<Json> document = api::parse_object(*object->raw))
        role = std::make_shared<const rbac::Role>(rbac::Role::read(*document));
      if (!role) role = std::make_shared<const rbac::Role>();
      roles.push_back(role);
      read_.emplace(object->meta.name, std::pair(version, std::move(role)));
    }
    return roles;
  }

  std::map<std::string, std::pair<std::uint64_t, rbac::RolePtr>> read_;  // by name
};

}  // namespace

std::unique_ptr<client::Reconciler> make_cluster_role_aggregation() {
  return std::make_unique<ClusterRoleAggregation>();
}

}  // namespace berth::controllers
