// FlowSchemas and PriorityLevelConfigurations as they are stored: to which priority level and to which flow a
// request belongs.
//
// Immutable, any thread. Source: pkg/util/flowcontrol/rule.go of k8s.io/apiserver 1.37.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "rbac/user.h"

namespace berth::server {

inline constexpr std::string_view kFlowControlGroup = "flowcontrol.apiserver.k8s.io";

// What is asked, of a resource or of a path.
struct FlowAttributes {
  const rbac::User& user;
  std::string verb;
  std::string_view group = {};
  std::string resource = {};  // "pods/status"; empty: of `path`
  std::string_view ns = {};
  std::string_view path = {};
};

struct PriorityLevel {
  std::string name, uid;
  bool is_exempt = false;  // its requests never wait
  // Of the seats of all levels that are not exempt.
  std::int64_t shares = 0;
  // Requests that may wait for a seat, of one flow and of the level; 0: none, they are refused.
  std::size_t flow_waiting_max = 0, waiting_max = 0;
};

class FlowSchemas {
 public:
  FlowSchemas() = default;
  // Stored objects. A schema whose level is absent matches nothing.
  FlowSchemas(const std::vector<Json>& schemas, const std::vector<Json>& levels);

  struct Match {
    const PriorityLevel* level = nullptr;
    std::string_view schema, schema_uid;
    std::string flow;  // the schema, and the user or the namespace where it tells those apart
  };
  // Nothing when no schema matches. Cost: O(rules before the match).
  std::optional<Match> match(const FlowAttributes& asked) const;

  const std::vector<PriorityLevel>& levels() const { return levels_; }

 private:
  struct Rule {
    std::vector<std::string> verbs, groups, resources, namespaces, paths;
    bool is_of_cluster = false;
    bool matches(const FlowAttributes& asked) const;
  };
  struct Subject {
    enum class Kind : std::uint8_t { User, Group, ServiceAccountPrefix } kind;
    std::string name;  // "*": every one, of users and groups
    bool matches(const rbac::User& user) const;
  };
  struct RuleSet {
    std::vector<Subject> subjects;
    std::vector<Rule> of_resources, of_paths;
    bool matches(const FlowAttributes& asked) const;
  };
  enum class Distinguisher : std::uint8_t { None, User, Namespace };
  struct Schema {
    std::string name, uid;
    std::int64_t precedence = 0;
    Distinguisher distinguisher = Distinguisher::None;
    std::size_t level = 0;  // its place in levels_
    std::vector<RuleSet> rules;
  };

  static RuleSet read_rules(const Json& rules);
  static std::string flow_of(const Schema& schema, const FlowAttributes& asked);

  std::vector<PriorityLevel> levels_;
  std::vector<Schema> schemas_;  // by precedence, then name
};

}  // namespace berth::server
