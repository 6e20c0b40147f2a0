// rooms: rbac
//
// One check of a user's rights among 1,000 roles: where each namespace has a role and a binding of its own,
// and where one user is bound to all of them, the worst case; and the reading of all roles after a change.
#include <benchmark/benchmark.h>

#include "rbac/policy.h"

namespace berth::rbac {
namespace {

constexpr int kRoles = 1000;
const User kUser{"system:serviceaccount:team-500:operator",
                 {"system:serviceaccounts", "system:serviceaccounts:team-500", "system:authenticated"}};

Json role(int number) {
  Json object =
      parse_json(
          R"({"rules":[{"verbs":["get","list","watch"],"apiGroups":[""],"resources":["pods","services"]},
              {"verbs":["*"],"apiGroups":["apps"],"resources":["deployments","deployments/scale"]},
              {"verbs":["create","patch"],"apiGroups":["","events.k8s.io"],"resources":["events"]}]})")
          .value();
  object["metadata"] = Json::object({{"name", "role-" + std::to_string(number)}});
  return object;
}

struct Objects {
  std::vector<RolePtr> roles;
  std::vector<BindingPtr> bindings;
};

Objects objects(bool all_for_one) {
  Objects made;
  for (int i = 0; i < kRoles; ++i) {
    const std::string ns = "team-" + std::to_string(i);
    Json object = role(i);
    if (!all_for_one) object["metadata"]["namespace"] = ns;
    made.roles.push_back(std::make_shared<Role>(Role::read(object)));
    object["roleRef"] = Json::object({{"kind", all_for_one ? "ClusterRole" : "Role"},
                                      {"name", object.part("metadata").string_at("name")}});
    const std::string account_ns = all_for_one ? "team-500" : ns;
    object["subjects"] = Json::array(
        {Json::object({{"kind", "ServiceAccount"}, {"name", "operator"}, {"namespace", account_ns}})});
    made.bindings.push_back(std::make_shared<Binding>(Binding::read(object)));
  }
  return made;
}

void check(benchmark::State& state, bool all_for_one, const char* resource, bool allowed) {
  const Objects made = objects(all_for_one);
  const Policy policy(made.roles, made.bindings);
  for (auto _ : state) {
    const bool may = policy.allows(kUser, {"get", "", resource, "team-500", "x"});
    if (may != allowed) state.SkipWithError("another answer");
  }
}

void read(benchmark::State& state) {
  const Objects made = objects(false);
  for (auto _ : state) benchmark::DoNotOptimize(Policy(made.roles, made.bindings));
}

BENCHMARK_CAPTURE(check, yes_among_1000_roles, false, "pods", true);
BENCHMARK_CAPTURE(check, no_among_1000_roles, false, "secrets", false);
BENCHMARK_CAPTURE(check, no_of_a_user_with_1000_roles, true, "secrets", false);
BENCHMARK(read)->Name("policy of 1000 roles")->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace berth::rbac
