#include "sim/memory_checker.h"

#include <algorithm>
#include <set>

namespace berth::sim {
namespace {

using api::Kind;

constexpr Kind kKinds[] = {Kind::Pod,           Kind::PodGroup,    Kind::ResourceClaim, Kind::BindRequest,
                           Kind::ResourceSlice, Kind::DeviceClass, Kind::Node};

class MemoryCheck {
 public:
  MemoryCheck(const std::string& process, const client::View& view, const model::Cluster& cluster)
      : who_("I16: " + process), view_(view), cluster_(cluster) {}

  void check_view(Kind kind, const std::vector<store::ObjectPtr>& stored) {
    for (const store::ObjectPtr& object : stored) {
      const api::ObjectKey key{kind, object->key.ns, object->key.name, {}};
      if (!members_of_record(*parse_json(object->bytes)).empty()) continue;  // reported by member
      const std::optional<api::TypedObject> known = view_.find(key);
      const std::uint64_t version = known ? api::meta_of(*known).resource_version : 0;
      if (version != object->revision)
        say("sees version " + (known ? std::to_string(version) : std::string("none")) + " of " +
            api::to_text(key) + ", stored is version " + std::to_string(object->revision));
    }
    std::set<std::pair<std::string, std::string>> names;
    for (const store::ObjectPtr& object : stored) names.emplace(object->key.ns, object->key.name);
    for (const api::ObjectKey& key : view_.keys(kind))
      if (!names.contains({key.ns, key.name}) && !is_just_bound(key))
        say("sees " + api::to_text(key) + ", which is not stored");
  }

  void check_model(const StoredState& state) {
    for (const auto& [name, pod] : state.pods) {
      if (!pod.node.empty() || pod.finished()) check_place(pod, pod.finished() ? "" : pod.node);
      if (pod.node.empty() && !pod.finished() && !state.has_request(pod)) check_place(pod, "");
    }
    for (const auto& [key, device] : state.catalog) {
      const auto held = state.holders.find(key);
      const bool is_held = held != state.holders.end() && !held->second.empty();
      if (is_busy(key) != is_held)
        say("believes that device " + key + " is " + (is_held ? "free; it is held by claim " : "in use") +
            (is_held ? held->second.begin()->first : ""));
    }
  }

  std::vector<std::string> take() { return std::move(broken_); }

 private:
  void say(const std::string& what) { broken_.push_back(who_ + " " + what); }

  // Kept in memory for a moment (binding/memory_requests.h).
  bool is_just_bound(const api::ObjectKey& key) const {
    if (key.kind != Kind::BindRequest) return false;
    const api::BindRequest& request = *view_.bind_requests.find(key.ns, key.name);
    const api::Pod* pod = view_.pods.find(key.ns, request.pod_name);
    return pod && pod->bound() && request.in_memory;
  }
  void check_place(const StoredPod& pod, const std::string& node) {
    const std::size_t slash = pod.name.find('/');
    const std::string ns = slash == std::string::npos ? "default" : pod.name.substr(0, slash);
    const model::PodId id = cluster_.find_pod(ns, pod.name.substr(slash + 1));
    const model::NodeId at = id.valid() ? cluster_.ledger().node_of(id) : model::NodeId::none();
    const std::string believed = at.valid() ? cluster_.node(at).name : "";
    if (believed != node)
      say("believes that pod " + pod.name + " is on \"" + believed + "\"; it is on \"" + node + "\"");
  }
  // By a claim that has it. A hold keeps a device for an entry that waits, and a late allocation for a claim
  // of a pod that has just gone.
  bool is_busy(const std::string& key) const {
    const std::size_t first = key.find('/'), last = key.rfind('/');
    const model::DeviceId id = cluster_.find_device(
        key.substr(0, first), key.substr(first + 1, last - first - 1), key.substr(last + 1));
    if (!id.valid()) return false;
    const std::vector<model::ClaimId>& holders = cluster_.ledger().device(id).holders;
    return std::ranges::any_of(
        holders, [this](model::ClaimId claim) { return !cluster_.late_claims().contains(claim); });
  }

  const std::string who_;
  const client::View& view_;
  const model::Cluster& cluster_;
  std::vector<std::string> broken_;
};

}  // namespace

std::vector<std::string> broken_memories(HostileWorld& world, const SafetyChecker& checker) {
  std::vector<std::vector<store::ObjectPtr>> stored;
  for (const Kind kind : kKinds) stored.push_back(world.stored(kind));
  std::vector<std::string> broken;
  for (const auto& process : world.processes()) {
    plane::ControlPlane* plane = process->plane();
    if (!plane || !plane->scheduling()) continue;
    MemoryCheck check(process->name(), plane->scheduling()->view(), plane->scheduler().cluster());
    for (std::size_t i = 0; i < stored.size(); ++i) check.check_view(kKinds[i], stored[i]);
    check.check_model(checker.state());
    for (std::string& sentence : check.take()) broken.push_back(std::move(sentence));
    if (const std::size_t kept = plane->scheduler().remembered(); kept > 0 && !process->leads())
      broken.push_back("I15: " + process->name() + " does not lead and remembers " + std::to_string(kept) +
                       " entries");
  }
  return broken;
}

}  // namespace berth::sim
