#include "sim/rest_checker.h"

#include <algorithm>
#include <array>
#include <optional>

#include "api/types/group_domain.h"
#include "sim/naive_allocator.h"
#include "sim/storm_objects.h"
#include "sim/tree_checker.h"

namespace berth::sim {
namespace {

constexpr std::int64_t kReservedMax = 256;  // pods of one claim
// Domains tried for the groups of a tree, for one domain of its root. Beyond, nobody claims that it fits.
constexpr std::size_t kTreeTrialsMax = 16'384;

enum class NodeOrder { FirstName, LastName, MostFreeCpu };
constexpr std::array kNodeOrders = {NodeOrder::FirstName, NodeOrder::LastName, NodeOrder::MostFreeCpu};

// A topology key and a value of it; without a key every node.
struct Inside {
  std::string key, domain;

  bool has(const StoredNode& node) const {
    if (key.empty()) return true;
    const auto label = node.labels.find(key);
    return label != node.labels.end() && label->second == domain;
  }
};

// The final state, and what a naive placement takes of it. Copied for each trial.
class Room {
 public:
  explicit Room(const StoredState& state) : state_(state), devices_(state) {
    for (const auto& [name, node] : state.nodes)
      if (node.usable) free_[name] = {node.cpu_millis, node.pods, node.gpus, {}};
    for (const auto& [name, pod] : state.pods) {
      if (pod.node.empty() || pod.finished()) continue;
      const auto node = free_.find(pod.node);
      if (node == free_.end()) continue;
      node->second.cpu_millis -= pod.cpu_millis;
      --node->second.pods;
      node->second.gpus -= pod.node_gpus;
      for (const std::string& group : pod.gpu_groups) {
        if (!node->second.groups.contains(group)) --node->second.gpus;
        node->second.groups[group] += pod.share;
      }
    }
  }

  // Places the pod on the first node of the domain that fits. False: none does, and nothing is taken.
  bool place(const StoredPod& pod, const Inside& domain, NodeOrder order = NodeOrder::FirstName) {
    return place(pod, {}, domain, order);
  }
  bool place(const StoredPod& pod, const Inside& outer, const Inside& domain, NodeOrder order) {
    for (const std::string& name : nodes_in(order)) {
      Free& free = free_.at(name);
      const StoredNode& node = state_.nodes.at(name);
      if (!outer.has(node) || !domain.has(node)) continue;
      if (free.cpu_millis < pod.cpu_millis || free.pods < 1) continue;
      const auto volumes = state_.volumes.reach(
          pod.volume_claims, name,
          [this](const Json& selector, const std::string& on) { return state_.selects(selector, on); },
          volumes_);
      if (!volumes || free.gpus < pod.node_gpus || !has_shares(free, pod) || !take_devices(pod, name))
        continue;
      volumes_.insert(volumes->begin(), volumes->end());
      take_gpus(free, pod);
      free.cpu_millis -= pod.cpu_millis;
      --free.pods;
      return true;
    }
    return false;
  }

 private:
  struct Free {
    std::int64_t cpu_millis = 0, pods = 0, gpus = 0;
    std::map<std::string, std::int64_t> groups;  // hundredths taken
  };

  static bool has_room(std::int64_t taken, const StoredPod& pod) { return taken + pod.share <= 100; }
  static bool has_shares(const Free& free, const StoredPod& pod) {
    std::int64_t gpus = free.gpus;
    for (const auto& [group, taken] : free.groups) gpus += has_room(taken, pod) ? 1 : 0;
    return gpus >= pod.share_gpus;
  }
  static void take_gpus(Free& free, const StoredPod& pod) {
    free.gpus -= pod.node_gpus;
    std::int64_t left = pod.share_gpus;
    for (auto& [group, taken] : free.groups)
      if (left > 0 && has_room(taken, pod)) {
        taken += pod.share;
        --left;
      }
    for (; left > 0; --left, --free.gpus)
      free.groups["placed-" + std::to_string(free.groups.size())] = pod.share;
  }

  std::vector<std::string> nodes_in(NodeOrder order) const {
    std::vector<std::string> names;
    for (const auto& [name, free] : free_) names.push_back(name);
    if (order == NodeOrder::LastName) std::reverse(names.begin(), names.end());
    if (order == NodeOrder::MostFreeCpu)
      std::stable_sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
        return free_.at(a).cpu_millis > free_.at(b).cpu_millis;
      });
    return names;
  }

  bool take_devices(const StoredPod& pod, const std::string& node) {
    StoredClaim extended;
    std::vector<const StoredClaim*> wanted;
    if (pod.whole_gpus > 0) {
      extended.requests = {{{"extended", "whole-gpu.example.com", {}, pod.whole_gpus}}};
      wanted.push_back(&extended);
    }
    std::vector<std::string> shared;
    for (const std::string& name : pod.claims) {
      const auto found = state_.claims.find(name);
      if (found == state_.claims.end()) {
        if (pod.whole_gpus == 0) return false;
        continue;  // the binder creates that one
      }
      const StoredClaim& claim = found->second;
      if (claim.allocated) {
        if (!state_.selects(claim.node_selector, node) || ssize(claim.reserved) >= kReservedMax) return false;
        continue;
      }
      if (const auto taken = shared_.find(name); taken != shared_.end()) {
        if (taken->second != node) return false;  // may be usable here too
        continue;
      }
      wanted.push_back(&claim);
      shared.push_back(name);
    }
    if (devices_.allocate(wanted, node) != Naive::Yes) return false;
    for (const std::string& name : shared) shared_[name] = node;
    return true;
  }
  template <class T>
  static std::int64_t ssize(const T& items) {
    return static_cast<std::int64_t>(items.size());
  }

  const StoredState& state_;
  std::map<std::string, Free> free_;
  DevicesInUse devices_;
  std::set<std::string> volumes_;              // that this trial takes
  std::map<std::string, std::string> shared_;  // claims that this trial allocates, with their node
};

std::set<std::string> domains_of(const StoredState& state, const std::string& key, const Inside& outer = {}) {
  std::set<std::string> domains;
  for (const auto& [name, node] : state.nodes) {
    const auto label = node.labels.find(key);
    if (label != node.labels.end() && outer.has(node)) domains.insert(label->second);
  }
  if (key.empty()) domains.insert("");
  return domains;
}

// Members of a gang are placed one after another and never moved again, as in Kubernetes: a gang of different
// members may fit in one order and not in another. Here only a gang that fits in every order fits.
bool fit_in(const StoredState& state, std::vector<const StoredPod*> pods, const std::string& key,
            const std::string& domain) {
  const auto all_fit = [&](NodeOrder order) {
    Room room(state);
    return std::all_of(pods.begin(), pods.end(),
                       [&](const StoredPod* pod) { return room.place(*pod, {key, domain}, order); });
  };
  if (pods.size() == 1) return all_fit(NodeOrder::FirstName);
  const auto fits_anyhow = [&] { return std::all_of(kNodeOrders.begin(), kNodeOrders.end(), all_fit); };
  if (!fits_anyhow()) return false;
  std::reverse(pods.begin(), pods.end());
  return fits_anyhow();
}

class RestCheck {
 public:
  RestCheck(const SafetyChecker& checker, KeptRoom kept) : checker_(checker), state_(checker.state()) {
    if (kept == KeptRoom::None) return;
    for (const auto& [name, pod] : state_.pods) {
      if (!waits(pod) || pod.priority < highest_waiting_) continue;
      waits_alone_ = pod.priority > highest_waiting_;
      highest_waiting_ = pod.priority;
    }
  }

  std::vector<std::string> run() {
    check_pods();
    for (const auto& [name, group] : state_.groups) check_group(group);
    for (std::string& sentence : checker_.broken_trees()) say(std::move(sentence));
    for (const auto& [name, composite] : state_.composites) check_tree(composite);
    for (const StoredGroup* group : checker_.replacements().unhindered_groups()) check_failed_nodes(*group);
    check_leaks();
    std::sort(broken_.begin(), broken_.end());
    return std::move(broken_);
  }

 private:
  void say(std::string sentence) { broken_.push_back(std::move(sentence)); }
  void say_fits(const StoredPod& pod, std::string sentence) {
    if (pod.priority > highest_waiting_ || (pod.priority == highest_waiting_ && waits_alone_))
      say(std::move(sentence));
  }

  // A pod that waits although every object that it needs exists.
  static bool waits(const StoredPod& pod) { return pod.node.empty() && !pod.deleting && !pod.finished(); }

  void check_pods() {
    for (const auto& [name, pod] : state_.pods) {
      if (pod.deleting) say("I6: pod " + name + " is still being deleted");
      if (name.starts_with(kReservationPods)) continue;  // nobody schedules them
      if (pod.runs_or_will() && pod.phase != "Running")
        say("I10: pod " + name + " is bound and does not run");
      if (!pod.node.empty() && pod.scheduled != "True")
        say("I17: pod " + name + " is bound and says " + pod.scheduled + " " + pod.scheduled_reason);
      if (!waits(pod)) continue;
      if (!pod.group.empty() && state_.groups.count(pod.group) == 0) continue;  // waits for its group
      if (!pod.claims_known && pod.whole_gpus == 0) say("I10: pod " + name + " has not been given its claim");
      const StoredGroup* group = pod.group.empty() ? nullptr : &state_.groups.at(pod.group);
      if (!group || (group->min == 0 && group->parent.empty())) check_single(pod);
    }
  }

  // A pod without a gang. A basic group with a key is placed where its members are.
  void check_single(const StoredPod& pod) {
    const StoredGroup* group = pod.group.empty() ? nullptr : &state_.groups.at(pod.group);
    const std::string key = group ? group->key : "";
    std::set<std::string> domains = domains_of(state_, key);
    if (group && !key.empty())
      if (const Members members = count_members(*group); members.running > 0) domains = members.domains;
    for (const std::string& domain : domains)
      if (Room(state_).place(pod, {key, domain}))
        return say_fits(pod, "I10: pod " + pod.name + " waits and would fit");
  }

  struct Members {
    std::int64_t bound = 0, running = 0;  // finished ones are bound, and do not run
    std::vector<const StoredPod*> waiting;
    std::set<std::string> domains;  // of running members
  };
  Members count_members(const StoredGroup& group) const {
    Members count;
    const auto names = state_.members.find(group.name);
    if (names == state_.members.end()) return count;
    for (const std::string& name : names->second) {
      const StoredPod& pod = state_.pods.at(name);
      if (waits(pod)) count.waiting.push_back(&pod);
      if (pod.node.empty()) continue;
      ++count.bound;
      count.running += pod.runs_or_will();
      const auto node = state_.nodes.find(pod.node);
      if (!pod.runs_or_will() || node == state_.nodes.end() || group.key.empty()) continue;
      if (const auto recorded = api::recorded_path(pod.domain, {&group.key, 1}))
        count.domains.insert(*recorded);
      else if (const auto label = node->second.labels.find(group.key); label != node->second.labels.end())
        count.domains.insert(label->second);
    }
    return count;
  }

  void check_group(const StoredGroup& group) {
    if (group.min == 0) return;
    const Members members = count_members(group);
    const std::int64_t min = checker_.min_when_begun(group);
    if (members.bound > 0 && members.bound + checker_.lost_members(group.name) < min)
      say("I4: gang " + group.name + " is bound with " + std::to_string(members.bound) + " of " +
          std::to_string(min) + " members");
    if (members.bound >= group.min && group.scheduled != "True")
      say("I17: gang " + group.name + " is bound and its condition PodGroupInitiallyScheduled says \"" +
          group.scheduled + "\"");
    if (!group.parent.empty()) return;  // its tree may hold it
    // Finished members do not count any more, as in kube-scheduler, whose informer leaves them out: a late
    // member then waits for as many others as its gang began with.
    if (members.running + ssize(members.waiting) < group.min || members.waiting.empty()) return;
    if (!group.key.empty() && members.domains.size() > 1) return;  // a node changed its domain
    const std::set<std::string> domains =
        members.domains.empty() ? domains_of(state_, group.key) : members.domains;
    for (const std::string& domain : domains) {
      if (fit_in(state_, members.waiting, group.key, domain))
        return say_fits(*members.waiting.front(),
                        std::string("I10: gang ") + group.name +
                            (members.running > 0 ? ", which has begun," : "") + " waits with " +
                            std::to_string(members.waiting.size()) + " members and would fit");
    }
  }
  struct FailedMembers {
    std::vector<const StoredPod*> lost;  // on failed nodes
    std::int64_t healthy = 0;
    std::set<std::string> domains, lost_domains;  // of healthy members, and of lost ones
  };
  // None: somebody waits for room first, is about to go, or has lost devices.
  std::optional<FailedMembers> failed_members(const StoredGroup& group) const {
    FailedMembers members;
    const auto names = state_.members.find(group.name);
    if (names == state_.members.end()) return std::nullopt;
    for (const std::string& name : names->second) {
      const StoredPod& pod = state_.pods.at(name);
      if (pod.finished()) continue;
      const auto node = state_.nodes.find(pod.node);
      if (!pod.runs_or_will() || node == state_.nodes.end()) return std::nullopt;
      const bool lost = node->second.failed;
      if (lost && !pod.claims.empty()) return std::nullopt;
      if (lost)
        members.lost.push_back(&pod);
      else
        ++members.healthy;
      if (const auto label = node->second.labels.find(group.key); label != node->second.labels.end())
        (lost ? members.lost_domains : members.domains).insert(label->second);
    }
    return members;
  }
  // Members that stay on failed nodes, while there is room for all of them: in the domain of the others, or,
  // if nobody else is there, in any. Or for as many as the gang's minimum asks for, where all are.
  void check_failed_nodes(const StoredGroup& group) {
    const std::optional<FailedMembers> members = failed_members(group);
    if (!members || members->lost.empty() || members->domains.size() > 1) return;
    const std::vector<const StoredPod*>& lost = members->lost;
    const bool all_lost = members->healthy == 0;
    if (all_lost && (group.key.empty() || !group.parent.empty())) return;  // others may say where
    for (const std::string& domain : all_lost ? domains_of(state_, group.key) : members->domains)
      if (fit_in(state_, lost, group.key, domain)) return say_stays(lost, ssize(lost), domain);
    const std::int64_t needed = std::max<std::int64_t>(1, group.min - members->healthy);
    std::set<std::string> shared = members->lost_domains;
    shared.insert(members->domains.begin(), members->domains.end());
    if (shared.size() != 1 || needed >= ssize(lost)) return;
    if (fit_in(state_, {lost.begin(), lost.begin() + needed}, group.key, *shared.begin()) &&
        fit_in(state_, {lost.end() - needed, lost.end()}, group.key, *shared.begin()))
      say_stays(lost, needed, *shared.begin());
  }
  void say_stays(const std::vector<const StoredPod*>& lost, std::int64_t fit, const std::string& domain) {
    say_fits(*lost.front(), "I19: pod " + lost.front()->name + " stays on " + lost.front()->node +
                                ", which has failed, and " + std::to_string(fit) +
                                " members would fit elsewhere in " + domain);
  }
  // A tree of which nothing runs, and all is there. Keys are on its root, and on its groups of pods.
  void check_tree(const StoredComposite& root) {
    if (!root.parent.empty() || !has_children(root)) return;
    const std::vector<const StoredGroup*> groups = groups_under(state_, root.name);
    std::vector<Members> members;
    for (const StoredGroup* group : groups) {
      members.push_back(count_members(*group));
      const bool whole = members.back().bound == 0 && !members.back().waiting.empty() &&
                         ssize(members.back().waiting) >= group->min;
      if (!whole) return;
    }
    if (members.empty()) return;
    for (const std::string& domain : domains_of(state_, root.key))
      if (tree_fits({root.key, domain}, groups, members))
        return say_fits(*members.front().waiting.front(),
                        "I10: the tree of CompositePodGroup " + root.name + " waits and would fit");
  }
  // As many as it and all groups of groups below it need: some may be deleted.
  bool has_children(const StoredComposite& composite) const {
    std::int64_t children = 0;
    for (const auto& [name, group] : state_.groups) children += group.parent == composite.name;
    for (const auto& [name, child] : state_.composites) {
      if (child.parent != composite.name) continue;
      if (!has_children(child)) return false;
      ++children;
    }
    return children >= composite.min;
  }
  // Every pod, whichever order nodes are taken in.
  bool tree_fits(const Inside& of_root, const std::vector<const StoredGroup*>& groups,
                 const std::vector<Members>& members) const {
    return std::all_of(kNodeOrders.begin(), kNodeOrders.end(), [&](NodeOrder order) {
      TreeTrial trial{of_root, groups, members, order};
      return groups_fit(trial, 0, Room(state_));
    });
  }
  struct TreeTrial {
    const Inside& of_root;
    const std::vector<const StoredGroup*>& groups;
    const std::vector<Members>& members;
    NodeOrder order;
    std::size_t tried = 0;
  };
  // The groups from this one on: every choice of their domains.
  bool groups_fit(TreeTrial& tree, std::size_t at, const Room& room) const {
    if (at == tree.groups.size()) return true;
    const std::string& key = tree.groups[at]->key;
    const std::set<std::string> domains = domains_of(state_, key, tree.of_root);
    return std::any_of(domains.begin(), domains.end(), [&](const std::string& own) {
      if (++tree.tried > kTreeTrialsMax) return false;
      Room trial = room;
      for (const StoredPod* pod : tree.members[at].waiting)
        if (!trial.place(*pod, tree.of_root, {key, own}, tree.order)) return false;
      return groups_fit(tree, at + 1, trial);
    });
  }
  template <class T>
  static std::int64_t ssize(const T& items) {
    return static_cast<std::int64_t>(items.size());
  }

  bool is_running(const std::string& uid) const {
    const StoredPod* pod = state_.pod_by_uid(uid);
    return pod && !pod->node.empty() && !pod->finished();
  }
  bool is_group(const std::string& uid) const {
    return std::any_of(state_.groups.begin(), state_.groups.end(),
                       [&](const auto& group) { return group.second.uid == uid; });
  }
  // A group keeps its claims while one of its members runs, or none is there (KEP-5729); not while all wait.
  void check_entry_of_group(const StoredClaim& claim, const std::string& uid) {
    bool runs = false, told = false;
    for (const auto& [name, pod] : state_.pods) {
      if (!state_.is_entry_of(claim, uid, pod)) continue;
      runs |= pod.runs_or_will();
      told |=
          waits(pod) && (pod.scheduled_reason == "Unschedulable" || pod.scheduled_reason == "SchedulerError");
    }
    if (told && !runs) say("I6: claim " + claim.name + " is reserved for a group whose members all wait");
  }
  void check_reservation_pods() {
    for (const auto& [name, reservation] : state_.pods) {
      if (!name.starts_with(kReservationPods)) continue;
      const std::string& group = reservation.gpu_groups.at(0);
      const bool used = std::any_of(state_.pods.begin(), state_.pods.end(), [&](const auto& one) {
        const std::vector<std::string>& groups = one.second.gpu_groups;
        return one.second.share > 0 && one.second.node == reservation.node && !one.second.finished() &&
               std::find(groups.begin(), groups.end(), group) != groups.end();
      });
      if (!used) say("I6: " + name + " is left, and no pod uses " + group + " of " + reservation.node);
    }
  }

  // A claim that names a node while nobody is being bound with it keeps its pods to that node.
  void check_volumes() {
    for (std::string& sentence : state_.volumes.left_over()) say(std::move(sentence));
    std::set<std::string> under_way;
    for (const auto& [name, pod] : state_.pods)
      if (waits(pod) && state_.has_request(pod))
        under_way.insert(pod.volume_claims.begin(), pod.volume_claims.end());
    for (const auto& [name, claim] : state_.volumes.claims)
      if (claim.volume.empty() && !claim.selected_node.empty() && !under_way.contains(name))
        say("I6: volume claim " + name + " names " + claim.selected_node +
            ", and no pod is being bound with it");
  }
  // Every device is healthy by then, and for long enough.
  void check_taint_rules() {
    for (const auto& [name, rule] : state_.taint_rules)
      say("I6: the taint rule " + name + " is left although its device is well");
  }

  void check_leaks() {
    check_reservation_pods();
    check_volumes();
    check_taint_rules();
    for (const auto& [name, request] : state_.requests) {
      const StoredPod* pod = state_.pod_by_uid(request.pod_uid);
      if (!pod) say("I6: bind request " + name + " is left, its pod is gone");
      // A record in the memory of an earlier process is lost; this process finds the pod bound elsewhere.
      else if (!pod->node.empty() && request.phase != "Succeeded" &&
               (request.phase != "Failed" || request.node == pod->node))
        say("I17: bind request " + name + " of a bound pod says " + request.phase + " " + request.step);
      // A failed decision stays until another one replaces it, or the pod is deleted.
      else if (pod->node.empty() && request.phase != "Failed")
        say("I6: bind request " + name + " (" + request.phase + " " + request.step +
            ") is left, its pod waits");
    }
    for (const auto& [name, uids] : state_.gang_records)
      if (std::none_of(uids.begin(), uids.end(), [&](const std::string& uid) { return is_running(uid); }))
        say("I6: the record " + name + " of a gang is left, and none of its pods runs");
    for (const auto& [name, claim] : state_.claims) {
      for (const std::string& uid : claim.reserved) {
        if (is_group(uid)) {
          check_entry_of_group(claim, uid);
          continue;
        }
        const StoredPod* pod = state_.pod_by_uid(uid);
        if (!pod || pod->finished())
          say("I6: claim " + name + " is reserved for a pod that is " + (pod ? "finished" : "gone"));
        if (pod && waits(*pod))
          say("I6: claim " + name + " is reserved for pod " + pod->name + ", which waits");
      }
      if (claim.allocated && claim.reserved.empty())
        say("I6: claim " + name + " is allocated and nobody has it");
      if (!claim.owner_uid.empty() && !state_.pod_by_uid(claim.owner_uid))
        say("I6: claim " + name + " is left, its pod is gone");
    }
  }

  const SafetyChecker& checker_;
  const StoredState& state_;
  std::int64_t highest_waiting_ = INT64_MIN;
  bool waits_alone_ = false;  // with that priority
  std::vector<std::string> broken_;
};

}  // namespace

bool would_fit(const StoredState& state, const std::vector<const StoredPod*>& pods, const std::string& key) {
  const std::set<std::string> domains = domains_of(state, key);
  return std::any_of(domains.begin(), domains.end(),
                     [&](const std::string& domain) { return fit_in(state, pods, key, domain); });
}

std::vector<std::string> broken_at_rest(const SafetyChecker& checker, KeptRoom kept) {
  return RestCheck(checker, kept).run();
}

}  // namespace berth::sim
