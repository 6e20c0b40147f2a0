// The projects whose groups of pods become groups here: what each asks for, in Berth's terms, and what its
// controllers expect in the status of its objects.
//
// A source is a row of functions without state; it reads one object and the pods that name it, and writes
// nothing. Any thread. Source of the fields: the projects' API types (docs/groups-of-others.md).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/objects.h"

namespace berth::groups {

using api::GroupSource;
using api::Kind;
using client::Effects;
using client::View;
using workloads::Parsed;

// Groups of one object; more is an error. The parts of a KAI PodGroup or a PodGang are far fewer.
inline constexpr std::size_t kWantedGroupsMax = 1000;

// A PodGroup or CompositePodGroup that must exist.
struct WantedGroup {
  std::string name;
  std::string parent = {};    // a CompositePodGroup before it in the list; empty: a root
  bool composite = false;     // a group of groups
  std::int32_t minimum = 1;   // pods, or groups, that start together; 0: they start as they come
  std::string required = {};  // node label key: all pods in one domain of it; empty: anywhere
  std::vector<std::string> preferred = {};  // node label keys, first wish first
};

struct WantedTree {
  std::vector<WantedGroup> groups;  // the root first, each parent before its children

  const WantedGroup& root() const { return groups.front(); }
  std::int32_t children_of(std::string_view parent) const;  // how many
};

// What a source reads.
struct Asked {
  const View& view;
  std::string ns, name;
  const Parsed* object = nullptr;  // null for a source without objects
  // In no group of a tree but the one that bears the object's name; those of the parts are not read.
  std::vector<const api::Pod*> pods = {};
};

// How far the pods of a whole tree are.
struct PodCounts {
  std::int64_t pods = 0;  // that exist and are not being deleted
  std::int64_t scheduled = 0, running = 0, succeeded = 0, failed = 0;
};
PodCounts counts_of(std::span<const api::Pod* const> pods);

// What a status is computed from.
struct Progress {
  PodCounts counts;
  std::span<const api::Pod* const> pods;  // of the whole tree, by name
  bool placed = false;                    // the root's minimum was, once
  std::optional<double> score = {};       // of the wishes, 0 to 1; none: nothing is wished
};

struct Source {
  GroupSource id;
  api::ResourceRef resource;  // of its objects; empty: its groups are labels of pods alone
  std::string_view kind;
  // The schedulerName that the project's own tools write; empty: none. Berth prepares groups that have no pod
  // yet only when it answers to that name.
  std::string_view scheduler;
  // The error's path is the field that cannot be followed.
  Result<WantedTree> (*wanted)(const Asked& asked);
  // The members of `status` to write; null in one means absent. Null function: nobody waits for one.
  JsonObject (*status)(const Parsed& object, const WantedTree& tree, const Progress& progress);

  bool has_objects() const { return !resource.resource.empty(); }
};

// In order of precedence.
std::span<const Source> sources();
const Source& source_of(GroupSource id);
// The source with objects of this resource, or of this kind; null for another.
const Source* source_with(const api::ResourceRef& resource);
const Source* source_with_kind(std::string_view api_version, std::string_view kind);

Result<WantedTree> grove_tree(const Asked& asked);
JsonObject grove_status(const Parsed& object, const WantedTree& tree, const Progress& progress);
Result<WantedTree> kai_tree(const Asked& asked);
JsonObject kai_status(const Parsed& object, const WantedTree& tree, const Progress& progress);
JsonObject volcano_status(const Parsed& object, const WantedTree& tree, const Progress& progress);
JsonObject scheduler_plugins_status(const Parsed& object, const WantedTree& tree, const Progress& progress);
Result<WantedTree> kueue_tree(const Asked& asked);
// One gang of spec.minMember pods.
Result<WantedTree> min_member_tree(const Asked& asked);

// The count `field` of `owner`, which is at `path`; `otherwise` without one. An error for what is no count.
Result<std::int32_t> minimum_at(const Json& owner, const std::string& path, std::string_view field,
                                std::int32_t otherwise);
// Node label keys, or empty. A preferred one that is required adds nothing.
void constrain(WantedGroup& group, std::string_view required, std::string_view preferred);
// "running", "succeeded", "failed".
void append_counts(JsonObject& status, const PodCounts& counts);

}  // namespace berth::groups
