// What rules, roles and bindings allow, in tables; and on random roles as a plain reading of the documents.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "rbac/bootstrap_roles.h"
#include "rbac/escalation.h"
#include "rbac/policy.h"

namespace berth::rbac {
namespace {

Json json(const std::string& text) {
  return parse_json(text).value();
}

// "VERBS GROUPS RESOURCES NAMES PATHS", lists with commas, "-" for none and "core" for the core group.
PolicyRule rule(const std::string& text) {
  PolicyRule made;
  std::vector<std::string>* const lists[] = {&made.verbs, &made.groups, &made.resources, &made.names,
                                             &made.paths};
  std::size_t list = 0;
  std::string word;
  const auto end_word = [&] {
    if (word != "-" && !word.empty()) lists[list]->push_back(word == "core" ? "" : word);
    word.clear();
  };
  for (const char c : text) {
    if (c != ' ' && c != ',') {
      word += c;
      continue;
    }
    end_word();
    if (c == ' ') ++list;
  }
  end_word();
  return made;
}

struct RuleCase {
  const char* rule;
  Attributes asked;
  bool allowed;
};

TEST(Rules, AllowVerbsOnResourcesNamesAndPaths) {
  const RuleCase rows[] = {
      {"get,list core pods", {"get", "", "pods", "a", "p"}, true},
      {"get,list core pods", {"watch", "", "pods", "a", ""}, false},
      {"get core pods", {"get", "apps", "pods", "a", "p"}, false},
      {"get core pods", {"get", "", "pods/log", "a", "p"}, false},
      {"get core pods/log", {"get", "", "pods/log", "a", "p"}, true},
      {"get core */log", {"get", "", "pods/log", "a", "p"}, true},
      {"get core */log", {"get", "", "pods", "a", "p"}, false},
      {"get core */log", {"get", "", "pods/xlog", "a", "p"}, false},
      {"* * *", {"impersonate", "", "users", "", "x"}, true},
      {"* * *", {"get", "", "pods/exec", "a", "p"}, true},
      {"get core secrets one,two", {"get", "", "secrets", "a", "two"}, true},
      {"get core secrets one,two", {"get", "", "secrets", "a", "three"}, false},
      {"list core secrets one", {"list", "", "secrets", "a", ""}, false},
      {"get - - - /healthz,/metrics/*", {"get", "", "", "", "", "/healthz"}, true},
      {"get - - - /healthz,/metrics/*", {"get", "", "", "", "", "/healthz/etcd"}, false},
      {"get - - - /healthz,/metrics/*", {"get", "", "", "", "", "/metrics/slis"}, true},
      {"get - - - *", {"get", "", "", "", "", "/anything"}, true},
      {"get - - - *", {"post", "", "", "", "", "/anything"}, false},
      {"* * *", {"get", "", "", "", "", "/version"}, false},
      {"get - - - *", {"get", "", "pods", "a", "p"}, false},
  };
  for (const RuleCase& row : rows) {
    const PolicyRule made = rule(row.rule);
    EXPECT_EQ(made.allows(row.asked), row.allowed)
        << row.rule << ": " << row.asked.verb << " " << row.asked.resource << row.asked.path;
    EXPECT_TRUE(!row.allowed || RuleSignature(made).may_allow(RuleSignature(row.asked))) << row.rule;
    EXPECT_EQ(PolicyRule::read(made.to_json()), made) << row.rule;
  }
}

// Roles and bindings by their documents.
struct Stored {
  std::vector<Json> roles, bindings;

  Policy policy() const {
    std::vector<RolePtr> read_roles;
    std::vector<BindingPtr> read_bindings;
    for (const Json& role : roles) read_roles.push_back(std::make_shared<Role>(Role::read(role)));
    for (const Json& binding : bindings)
      read_bindings.push_back(std::make_shared<Binding>(Binding::read(binding)));
    return Policy(std::move(read_roles), std::move(read_bindings));
  }
};

Json object_named(const std::string& ns, const std::string& name) {
  Json object = Json::object({{"metadata", Json::object({{"name", name}})}});
  if (!ns.empty()) object["metadata"]["namespace"] = ns;
  return object;
}

Json role_of(const std::string& ns, const std::string& name, const std::vector<std::string>& rules) {
  Json role = object_named(ns, name);
  JsonArray list;
  for (const std::string& text : rules) list.push_back(rule(text).to_json());
  role["rules"] = std::move(list);
  return role;
}

// `subject`: "User/x", "Group/x", "ServiceAccount/x" or "ServiceAccount/ns/x".
Json binding_of(const std::string& ns, const std::string& name, const std::string& kind,
                const std::string& role, const std::vector<std::string>& subjects) {
  Json binding = object_named(ns, name);
  binding["roleRef"] = Json::object({{"kind", kind}, {"name", role}});
  JsonArray list;
  for (const std::string& text : subjects) {
    const std::size_t first = text.find('/'), last = text.rfind('/');
    Json subject = Json::object({{"kind", text.substr(0, first)}, {"name", text.substr(last + 1)}});
    if (last > first) subject["namespace"] = text.substr(first + 1, last - first - 1);
    list.push_back(std::move(subject));
  }
  binding["subjects"] = std::move(list);
  return binding;
}

TEST(Policy, SaysWhoMayAndBecauseOfWhat) {
  Stored stored;
  stored.roles = {role_of("", "reader", {"get,list core pods"}), role_of("a", "writer", {"* core pods"})};
  stored.bindings = {
      binding_of("", "readers", "ClusterRole", "reader", {"Group/team"}),
      binding_of("a", "local", "ClusterRole", "reader", {"ServiceAccount/robot", "User/\"odd\""}),
      binding_of("a", "writers", "Role", "writer", {"ServiceAccount/b/robot", "User/eve"}),
      binding_of("a", "broken", "Role", "gone", {"User/eve", "User/mallory"}),
      binding_of("", "broken", "ClusterRole", "lost", {"User/mallory"})};
  const Policy policy = stored.policy();
  const auto says = [&](const User& user, const char* verb, const char* ns) {
    const Attributes asked{verb, "", "pods", ns, "p"};
    const Decision decision = policy.decide(user, asked);
    EXPECT_EQ(policy.allows(user, asked), decision.allowed);
    return (decision.allowed ? "yes " : "no ") + decision.reason;
  };
  EXPECT_EQ(says({"bob", {"team"}}, "get", ""),
            R"(yes RBAC: allowed by ClusterRoleBinding "readers" of ClusterRole "reader" to Group "team")");
  EXPECT_EQ(says({"bob", {"team"}}, "delete", "a"), "no ");
  EXPECT_EQ(
      says({"system:serviceaccount:a:robot"}, "get", "a"),
      R"(yes RBAC: allowed by RoleBinding "local/a" of ClusterRole "reader" to ServiceAccount "robot/a")");
  EXPECT_EQ(says({"system:serviceaccount:a:robot"}, "get", "b"), "no ");
  EXPECT_EQ(says({"system:serviceaccount:b:robot"}, "delete", "a"),
            R"(yes RBAC: allowed by RoleBinding "writers/a" of Role "writer" to ServiceAccount "robot/b")");
  EXPECT_EQ(says({"eve"}, "get", "b"), "no ");
  EXPECT_EQ(says({"mallory"}, "get", "a"),
            R"(no RBAC: [clusterrole.rbac.authorization.k8s.io "lost" not found, )"
            R"(role.rbac.authorization.k8s.io "gone" not found])");
  EXPECT_EQ(says({""}, "get", "a"), "no ");
  EXPECT_EQ(policy.rules_for({"eve"}, "a").rules.size(), 1u);
  EXPECT_FALSE(policy.rules_of({"Role", "writer"}, ""));
  EXPECT_TRUE(policy.rules_of({"ClusterRole", "reader"}, "a"));
}

TEST(Policy, ARoleThatAggregatesHasTheRulesOfTheSelectedOnes) {
  Json all = role_of("", "all", {"delete core pods"});
  all["aggregationRule"] = json(R"({"clusterRoleSelectors":[{"matchLabels":{"in":"all"}}]})");
  Json some = role_of("", "some", {"delete core secrets"});
  some["metadata"]["labels"] = json(R"({"in":"all"})");
  some["aggregationRule"] = json(R"({"clusterRoleSelectors":[{"matchLabels":{"in":"some"}}]})");
  Json part = role_of("", "part", {"get core pods"});
  part["metadata"]["labels"] = json(R"({"in":"some"})");
  // Two that collect each other: nothing comes of it, and nothing hangs.
  Json other = some;
  other["metadata"] = json(R"({"name":"other","labels":{"in":"some"}})");
  other["aggregationRule"] = json(R"({"clusterRoleSelectors":[{"matchLabels":{"in":"all"}}]})");
  Stored stored;
  stored.roles = {all, some, part, other};
  stored.bindings = {binding_of("", "b", "ClusterRole", "all", {"User/eve"})};
  const Policy policy = stored.policy();
  EXPECT_TRUE(policy.allows({"eve"}, {"get", "", "pods", "a", ""}));
  EXPECT_FALSE(policy.allows({"eve"}, {"delete", "", "pods", "a", ""}));
  EXPECT_FALSE(policy.allows({"eve"}, {"delete", "", "secrets", "a", ""}));
}

struct Escalation {
  const char* what;
  std::vector<std::string> held, granted;
  const char* missing;  // lines of rules, each with a line break
};

TEST(Escalations, NameWhatIsMissing) {
  const Escalation rows[] = {
      {"the same", {"get,list core pods"}, {"list core pods"}, ""},
      {"spread over rules", {"get core pods", "list core pods"}, {"get,list core pods"}, ""},
      {"a verb and a resource more",
       {"get core pods"},
       {"get,list core pods,secrets"},
       "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"list\"]}\n"
       "{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"list\"]}\n"},
      {"everything of each known verb is not everything",
       {"get,list core pods"},
       {"* core pods"},
       "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"*\"]}\n"},
      {"a name is less than all", {"get core pods"}, {"get core pods one"}, ""},
      {"all is more than a name",
       {"get core pods one"},
       {"get core pods"},
       "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"get\"]}\n"},
      {"subresources of any resource", {"get core */log"}, {"get core pods/log"}, ""},
      {"paths", {"get - - - /a/*"}, {"get - - - /a/b,/c"}, "{NonResourceURLs:[\"/c\"], Verbs:[\"get\"]}\n"},
      {"everything", {"* * *"}, {"escalate apps deployments/scale", "* * *"}, ""},
  };
  const auto pointers = [](const std::vector<PolicyRule>& rules) {
    std::vector<const PolicyRule*> all;
    for (const PolicyRule& one : rules) all.push_back(&one);
    return all;
  };
  for (const Escalation& row : rows) {
    std::vector<PolicyRule> held, granted;
    for (const std::string& text : row.held) held.push_back(rule(text));
    for (const std::string& text : row.granted) granted.push_back(rule(text));
    const auto missing = missing_rights(pointers(held), pointers(granted));
    ASSERT_TRUE(missing) << row.what;
    std::string lines;
    for (const PolicyRule& one : *missing) lines += one.text() + "\n";
    EXPECT_EQ(lines, row.missing) << row.what;
  }
  EXPECT_EQ(escalation_text({"eve", {"a", "b"}}, std::vector{rule("get core pods")}, ""),
            "user \"eve\" (groups=[\"a\" \"b\"]) is attempting to grant RBAC permissions not currently "
            "held:\n{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"get\"]}");
}

TEST(Escalations, OfTooManyRightsAreRefusedAtOnce) {
  PolicyRule wide = rule("get core pods");
  for (int i = 0; i < 30'000; ++i)
    for (auto* list : {&wide.verbs, &wide.resources, &wide.names, &wide.groups})
      list->push_back("x" + std::to_string(i));
  const PolicyRule* const granted[] = {&wide};
  const auto missing = missing_rights({}, granted);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), ErrorCode::TooLarge);
  const PolicyRule everything = rule("* * *");
  const PolicyRule* const held[] = {&everything};
  EXPECT_TRUE(missing_rights(held, granted)->empty());
}

TEST(BootstrapRoles, AreThoseThatAClusterHas) {
  Stored stored;
  for (const Json& object : bootstrap_objects())
    (object.find("roleRef") ? stored.bindings : stored.roles).push_back(object);
  EXPECT_GT(stored.roles.size(), 70u);
  const Policy policy = stored.policy();
  const User user{"eve", {std::string(kAuthenticated)}};
  EXPECT_TRUE(policy.allows(user, {"get", "", "", "", "", "/apis/apps/v1"}));
  EXPECT_TRUE(policy.allows(user, {"create", "authorization.k8s.io", "selfsubjectaccessreviews", "", ""}));
  EXPECT_FALSE(policy.allows(user, {"get", "", "", "", "", "/metrics"}));
  const User nobody{std::string(kAnonymous), {std::string(kUnauthenticated)}};
  EXPECT_TRUE(policy.allows(nobody, {"get", "", "", "", "", "/version"}));
  EXPECT_FALSE(policy.allows(nobody, {"get", "", "", "", "", "/apis"}));
  EXPECT_TRUE(policy.allows({"system:kube-scheduler"}, {"create", "", "pods/binding", "a", "p"}));
  for (const auto& [role, verb, group, resource, allowed] :
       std::initializer_list<std::tuple<const char*, const char*, const char*, const char*, bool>>{
           {"view", "get", "", "pods", true},
           {"view", "list", "metrics.k8s.io", "pods", true},
           {"admin", "get", "metrics.k8s.io", "nodes", true},
           {"view", "get", "", "secrets", false},
           {"view", "create", "", "pods", false},
           {"edit", "create", "", "pods", true},
           {"edit", "get", "", "secrets", true},
           {"edit", "create", "", "serviceaccounts/token", true},
           {"admin", "create", "", "pods", true},
           {"admin", "create", "", "nodes", false},
           {"admin", "list", "", "configmaps", true}}) {
    const auto rules = policy.rules_of({"ClusterRole", role}, "");
    ASSERT_TRUE(rules);
    const bool found = std::any_of(rules->begin(), rules->end(), [&](const PolicyRule* one) {
      return one->allows({verb, group, resource, "a", "x"});
    });
    EXPECT_EQ(found, allowed) << role << " " << verb << " " << resource << " of " << group;
  }
}

TEST(BootstrapRoles, GetTheRightsBackThatTheyLack) {
  Json role = role_of("", "r", {"get core pods", "list core pods"});
  role["metadata"]["annotations"] = json(R"({"rbac.authorization.kubernetes.io/autoupdate":"true"})");
  Json stored = role;
  stored["rules"] = JsonArray{rule("get core pods").to_json(), rule("get core nodes").to_json()};
  EXPECT_EQ(with_bootstrap_rights(stored, role).items_at("rules").size(), 3u);
  EXPECT_EQ(with_bootstrap_rights(role, role), role);
  stored["metadata"]["annotations"] = json(R"({"rbac.authorization.kubernetes.io/autoupdate":"false"})");
  EXPECT_EQ(with_bootstrap_rights(stored, role), stored);
  stored["metadata"].as_object().erase("annotations");
  EXPECT_EQ(with_bootstrap_rights(stored, role).items_at("rules").size(), 3u);
  Json binding = binding_of("", "b", "ClusterRole", "r", {"Group/a", "ServiceAccount/n/a"});
  binding["metadata"]["annotations"] = role["metadata"]["annotations"];
  Json emptied = binding;
  emptied["subjects"] = json(R"([{"kind":"User","name":"a"}])");
  EXPECT_EQ(with_bootstrap_rights(emptied, binding).items_at("subjects").size(), 3u);
}

// The judge: reads the documents for each question, as the API describes them.
namespace judge {

bool has_text(const Json& object, const char* member, std::string_view text, bool or_all = true) {
  for (const Json& item : object.items_at(member))
    if (item.as_string() == text || (or_all && item.as_string() == "*")) return true;
  return false;
}

bool rule_allows(const Json& rule, const Attributes& asked) {
  if (!has_text(rule, "verbs", asked.verb)) return false;
  if (!asked.path.empty()) {
    for (const Json& url : rule.items_at("nonResourceURLs")) {
      const std::string& text = url.as_string();
      const bool prefix = text.ends_with("*") && asked.path.starts_with(text.substr(0, text.size() - 1));
      if (prefix || text == asked.path) return true;
    }
    return false;
  }
  const std::size_t slash = asked.resource.find('/');
  const bool resource =
      has_text(rule, "resources", asked.resource) ||
      (slash != std::string::npos && has_text(rule, "resources", "*" + asked.resource.substr(slash), false));
  const bool named =
      rule.items_at("resourceNames").empty() || has_text(rule, "resourceNames", asked.name, false);
  return resource && named && has_text(rule, "apiGroups", asked.group);
}

bool binds(const Json& binding, const User& user) {
  const std::string_view own = binding.part("metadata").string_at("namespace");
  for (const Json& subject : binding.items_at("subjects")) {
    const std::string_view kind = subject.string_at("kind"), name = subject.string_at("name");
    std::string_view ns = subject.string_at("namespace");
    if (ns.empty()) ns = own;
    if (kind == "User" && user.name == name) return true;
    if (kind == "Group" && user.is_in(name)) return true;
    if (kind == "ServiceAccount" && !ns.empty() &&
        user.name == "system:serviceaccount:" + std::string(ns) + ":" + std::string(name))
      return true;
  }
  return false;
}

bool allows(const Stored& stored, const User& user, const Attributes& asked) {
  for (const Json& binding : stored.bindings) {
    const std::string_view ns = binding.part("metadata").string_at("namespace");
    if ((!ns.empty() && ns != asked.ns) || !binds(binding, user)) continue;
    const bool cluster_role = binding.part("roleRef").string_at("kind") == "ClusterRole";
    if (ns.empty() && !cluster_role) continue;
    for (const Json& role : stored.roles) {
      const Json& metadata = role.part("metadata");
      if (metadata.string_at("name") != binding.part("roleRef").string_at("name")) continue;
      if (metadata.string_at("namespace") != (cluster_role ? std::string_view() : ns)) continue;
      for (const Json& one : role.items_at("rules"))
        if (rule_allows(one, asked)) return true;
    }
  }
  return false;
}

}  // namespace judge

int number_below(int bound) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, bound));
}

template <std::size_t n>
std::string one_of(const char* const (&texts)[n]) {
  return texts[number_below(static_cast<int>(n))];
}

constexpr const char* kSomeNamespaces[] = {"", "a", "b"};
constexpr const char* kSomeNames[] = {"x", "y", "z"};
constexpr const char* kSomeVerbs[] = {"get", "list", "create"};
constexpr const char* kSomeResources[] = {"pods", "pods/log", "nodes", "nodes/log"};

std::string some_rule() {
  static constexpr const char* const kVerbs[] = {"get", "list,create", "*", "watch"};
  static constexpr const char* const kGroups[] = {"core", "apps", "*", "core,apps"};
  static constexpr const char* const kResources[] = {"pods", "*", "*/log", "pods/log,nodes", "nodes"};
  static constexpr const char* const kNames[] = {"", " x", " y,z"};
  static constexpr const char* const kPaths[] = {"/a", "/a/*", "*", "/b"};
  if (number_below(5) == 0) return one_of(kVerbs) + " - - - " + one_of(kPaths);
  return one_of(kVerbs) + " " + one_of(kGroups) + " " + one_of(kResources) + one_of(kNames);
}

Stored some_roles() {
  static constexpr const char* const kSubjects[] = {"User/x",           "Group/x",
                                                    "ServiceAccount/x", "ServiceAccount/a/y",
                                                    "Group/y",          "User/system:serviceaccount:b:x"};
  Stored stored;
  for (int i = number_below(6); i > 0; --i) {
    // Each namespace has a role of each name once: the store sees to that.
    Json role = role_of(one_of(kSomeNamespaces), one_of(kSomeNames), {some_rule(), some_rule()});
    const bool is_new = std::none_of(stored.roles.begin(), stored.roles.end(), [&](const Json& other) {
      return other.part("metadata") == role.part("metadata");
    });
    if (is_new) stored.roles.push_back(std::move(role));
  }
  for (int i = number_below(6); i > 0; --i)
    stored.bindings.push_back(binding_of(one_of(kSomeNamespaces), "b" + std::to_string(i),
                                         number_below(2) == 0 ? "Role" : "ClusterRole", one_of(kSomeNames),
                                         {one_of(kSubjects), one_of(kSubjects)}));
  return stored;
}

TEST(Policy, AllowsWhatAPlainReadingAllows) {
  EXPECT_TRUE(rc::check("as the judge", [] {
    static constexpr const char* const kUsers[] = {"x", "y", "system:serviceaccount:a:x",
                                                   "system:serviceaccount:b:x", "system:serviceaccount:a:y"};
    static constexpr const char* const kAskedPaths[] = {"/a", "/a/b", "/c"};
    static constexpr const char* const kAskedGroups[] = {"", "apps"};
    const Stored stored = some_roles();
    const Policy policy = stored.policy();
    for (int i = 0; i < 20; ++i) {
      User user{one_of(kUsers)};
      for (const char* group : {"x", "y"})
        if (number_below(2) == 0) user.groups.emplace_back(group);
      const std::string verb = one_of(kSomeVerbs), group = one_of(kAskedGroups), ns = one_of(kSomeNamespaces),
                        name = one_of(kSomeNames), path = one_of(kAskedPaths);
      Attributes asked{verb, group, one_of(kSomeResources), ns, name};
      if (number_below(4) == 0)
        asked = {.verb = verb, .group = "", .resource = "", .ns = "", .name = "", .path = path};
      RC_ASSERT(policy.allows(user, asked) == judge::allows(stored, user, asked));
    }
  }));
}

}  // namespace
}  // namespace berth::rbac
