// FlowSchemas and PriorityLevelConfigurations as they are stored: to which priority level and to which flow a
// request belongs.
//
// Immutable, any thread. Source: pkg/util/flowcontrol/rule.go of k8s.io/apiserver 1.37.
#pragma once

#include <cstdint>
#include <memory>
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
  // Of a stored object; what it does not say has Kubernetes' defaults.
  static PriorityLevel read(const Json& object);

  std::string name, uid;
  bool is_exempt = false;  // its requests never wait
  // Of the seats of all levels that are not exempt.
  std::int64_t shares = 0;
  // Of its seats: those that others may use while it does not, and those that it may borrow in addition;
  // nothing: as many as others lend.
  std::int64_t lendable_percent = 0;
  std::optional<std::int64_t> borrowing_percent = {};
  // Requests that may wait for a seat, of one flow and of the level; 0: none, they are refused.
  std::size_t flow_waiting_max = 0, waiting_max = 0;
};
using PriorityLevelPtr = std::shared_ptr<const PriorityLevel>;

class FlowSchema {
 public:
  // Of a stored object.
  static FlowSchema read(const Json& object);

  // Cost: O(rules).
  bool matches(const FlowAttributes& asked) const;
  // The schema, and the user or the namespace where it has a flow for each.
  std::string flow_of(const FlowAttributes& asked) const;

  std::string name, uid;
  std::string level;
  std::int64_t precedence = 0;

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

  static RuleSet read_rules(const Json& rules);

  Distinguisher distinguisher_ = Distinguisher::None;
  std::vector<RuleSet> rules_;
};
using FlowSchemaPtr = std::shared_ptr<const FlowSchema>;

class FlowSchemas {
 public:
  FlowSchemas() = default;
  // A schema whose level is absent matches nothing.
  FlowSchemas(std::vector<FlowSchemaPtr> schemas, std::vector<PriorityLevelPtr> levels);

  struct Match {
    const FlowSchema* schema = nullptr;
    const PriorityLevel* level = nullptr;
    std::size_t schema_at = 0, level_at = 0;  // in schemas() and levels()
  };
  // Nothing when no schema matches. Cost: O(rules before the match).
  std::optional<Match> match(const FlowAttributes& asked) const;

  // By precedence, then name; without those that match nothing.
  const std::vector<FlowSchemaPtr>& schemas() const { return schemas_; }
  const std::vector<PriorityLevelPtr>& levels() const { return levels_; }

 private:
  std::vector<PriorityLevelPtr> levels_;
  std::vector<FlowSchemaPtr> schemas_;
  std::vector<std::size_t> levels_of_;  // of each schema, its place in levels_
};

}  // namespace berth::server
