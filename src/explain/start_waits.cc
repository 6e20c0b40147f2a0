#include "explain/start_waits.h"

#include <algorithm>
#include <string>
#include <utility>

#include "api/types/cluster.h"
#include "api/types/pod.h"
#include "base/count_text.h"
#include "base/name_list.h"

namespace berth::explain {
namespace {

class Waits {
 public:
  explicit Waits(std::vector<std::string> missing) : texts_(std::move(missing)) {}
  // `whose`: " of PodGroup train" in a tree.
  void add_group(const Json& object, const std::vector<PodFacts>& members, const std::string& whose) {
    std::int64_t alive = 0;
    for (const PodFacts& member : members) {
      const api::Pod pod = api::decode_pod(member.pod, nullptr);
      if (pod.finished() || pod.meta.deleting()) continue;
      ++alive;
      if (!pod.scheduling_gates.empty()) gated_.push_back(text_of_gates(pod));
    }
    add_missing("pod", whose, alive, api::decode_pod_group(object, nullptr).minimum());
  }
  void add_missing(const std::string& what, const std::string& whose, std::int64_t have,
                   std::int64_t minimum) {
    if (have >= minimum) return;
    const std::int64_t more = minimum - have;
    texts_.push_back(count_text(more, "more " + what) + whose + ": " + std::to_string(have) + " of " +
                     std::to_string(minimum) + (have == 1 ? " exists" : " exist"));
  }
  Json take() {
    texts_.insert(texts_.end(), gated_.begin(), gated_.end());
    const std::size_t left_out = texts_.size() - std::min(texts_.size(), kStartWaitsMax);
    texts_.resize(texts_.size() - left_out);
    if (left_out > 0) texts_.push_back("and " + std::to_string(left_out) + " more");
    Json texts = Json::array();
    for (std::string& text : texts_) texts.as_array().push_back(std::move(text));
    return texts;
  }

 private:
  static std::string text_of_gates(const api::Pod& pod) {
    const std::size_t gates = pod.scheduling_gates.size();
    return (gates == 1 ? "scheduling gate " : "scheduling gates ") +
           first_names(pod.scheduling_gates, gates) + " of pod " + pod.meta.name;
  }

  std::vector<std::string> texts_, gated_;
};

// Children of the group of groups at `at`: the groups below it that are one level deeper.
std::int64_t children_of(const TreeFacts& facts, std::size_t at) {
  std::int64_t children = 0;
  for (std::size_t i = at + 1; i < facts.groups.size() && facts.groups[i].level > facts.groups[at].level; ++i)
    children += facts.groups[i].level == facts.groups[at].level + 1;
  return children;
}

}  // namespace

Json start_waits(const GroupFacts& facts) {
  Waits waits(facts.missing);
  waits.add_group(facts.group, facts.members, "");
  return waits.take();
}

Json start_waits(const TreeFacts& facts) {
  Waits waits(facts.missing);
  for (std::size_t i = 0; i < facts.groups.size(); ++i) {
    const TreeGroupFacts& one = facts.groups[i];
    const std::string name(one.object.part("metadata").string_at("name"));
    if (one.composite)
      waits.add_missing("group", " of CompositePodGroup " + name, children_of(facts, i),
                        api::decode_composite_pod_group(one.object, nullptr).minimum());
    else
      waits.add_group(one.object, one.members, " of PodGroup " + name);
  }
  return waits.take();
}

}  // namespace berth::explain
