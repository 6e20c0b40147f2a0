#include "planning/expected_start.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "placement/expected_duration.h"
#include "planning/planner.h"

namespace berth::planning {
namespace {

// Owners above a pod or a group that are looked at.
constexpr std::size_t kOwnersMax = 4;

// Pods and groups without an annotation of their own get that of the nearest owner among the documents.
class Inheritance {
 public:
  explicit Inheritance(std::vector<Document>& documents) {
    for (Document& document : documents) by_name_.try_emplace(key_of(document), &document);
  }
  void hand_down(Document& document) const {
    std::string text = annotation_of(document);
    const Document* at = &document;
    for (std::size_t level = 0; text.empty() && level < kOwnersMax; ++level) {
      at = owner_of(*at);
      if (!at) return;
      text = annotation_of(*at);
    }
    if (!text.empty())
      document.object["metadata"]["annotations"][placement::kExpectedDurationAnnotation] = text;
  }

 private:
  using Key = std::array<std::string, 3>;  // kind, namespace, name
  static Key key_of(const Document& document) {
    const Json& metadata = document.object.part("metadata");
    return {std::string(document.object.string_at("kind")), std::string(metadata.string_at("namespace")),
            std::string(metadata.string_at("name"))};
  }
  static std::string annotation_of(const Document& document) {
    return std::string(document.object.part("metadata")
                           .part("annotations")
                           .string_at(placement::kExpectedDurationAnnotation));
  }
  const Document* owner_of(const Document& document) const {
    const Json& metadata = document.object.part("metadata");
    for (const Json& owner : metadata.items_at("ownerReferences")) {
      const auto found =
          by_name_.find({std::string(owner.string_at("kind")), std::string(metadata.string_at("namespace")),
                         std::string(owner.string_at("name"))});
      if (found != by_name_.end()) return found->second;
    }
    return nullptr;
  }

  std::map<Key, const Document*> by_name_;
};

bool gets_place(const Decision& decision) {
  return decision.result == ResultKind::Placed || decision.result == ResultKind::Preempting;
}

bool has_run_times(const client::View& view) {
  return std::ranges::any_of(view.pods.all(), [&](const auto& entry) {
    return !entry.second->finished() && placement::expected_duration(view, *entry.second);
  });
}

class Timeline {
 public:
  Timeline(OfflineCluster& offline, const PlanOptions& options, dra::SelectorEvaluator& selectors)
      : offline_(offline),
        now_(offline.now()),
        planner_(offline, options, selectors, {0, 0}, Alike::DecideFirst) {}

  ExpectedStart run(const AskedAbout& asked) {
    for (const auto& [key, pod] : offline_.view().pods.all())
      if (pod->bound() && !pod->finished()) note_start(*pod, pod->started.is_set() ? pod->started : now_);
    for (const auto& [at, pods] : ends_) start_.running += pods.size();
    for (std::size_t step = 0; step < kStartStepsMax && has_budget(); ++step) {
      const Plan plan = planner_.run();
      decisions_ += plan.decisions.size();
      for (const Decision& decision : plan.decisions)
        if (gets_place(decision)) start(decision);
      if (const Decision* own = find(plan, asked)) return found(*own);
      if (ends_.empty()) return std::move(start_);
      end_next();
    }
    start_.out_of_budget = true;
    return std::move(start_);
  }

 private:
  // Pods that end at the same time, by name.
  using Ends = std::map<Time, std::set<client::NamedKey>>;

  bool has_budget() {
    looked_at_ += offline_.view().pods.all().size();
    return decisions_ < kStartDecisionsMax && looked_at_ < kStartPodsMax;
  }
  void note_start(const api::Pod& pod, Time at) {
    if (const auto duration = placement::expected_duration(offline_.view(), pod))
      ends_[at + *duration].insert({pod.meta.ns, pod.meta.name});
  }
  void start(const Decision& decision) {
    for (const PlannedPod& placed : decision.pods)
      if (const api::Pod* pod =
              placed.node.empty() ? nullptr : offline_.view().pods.find(placed.ns, placed.name))
        note_start(*pod, now_);
  }
  static placement::EntityKind kind_of(const Decision& decision) {
    if (decision.composite) return placement::EntityKind::CompositeGroup;
    return decision.group ? placement::EntityKind::Group : placement::EntityKind::Pod;
  }
  static const Decision* find(const Plan& plan, const AskedAbout& asked) {
    const auto own = std::ranges::find_if(plan.decisions, [&](const Decision& decision) {
      return gets_place(decision) && kind_of(decision) == asked.kind && decision.ns == asked.key.ns &&
             decision.name == asked.key.name;
    });
    return own == plan.decisions.end() ? nullptr : &*own;
  }
  ExpectedStart found(const Decision& own) {
    start_.at = now_;
    std::set<std::string> nodes;
    for (const PlannedPod& pod : own.pods) nodes.insert(pod.node);
    const bool there =
        std::ranges::any_of(ended_, [&](const auto& one) { return nodes.contains(one.second); });
    for (auto one = ended_.rbegin(); one != ended_.rend() && start_.after.size() < kEndingsShownMax; ++one)
      if (!there || nodes.contains(one->second)) start_.after.push_back(one->first);
    start_.ended = ended_.size();
    return std::move(start_);
  }
  void end_next() {
    const auto [at, pods] = *ends_.begin();
    ends_.erase(ends_.begin());
    now_ = std::max(now_, at);
    for (const client::NamedKey& key : pods) {
      // It may have been evicted before its end.
      const auto pod = offline_.view().pods.find_shared(key.ns, key.name);
      if (!pod || !pod->bound()) continue;
      ended_.push_back({{key, at}, pod->node_name});
      offline_.end(key);
    }
  }

  OfflineCluster& offline_;
  Time now_;
  Planner planner_;
  Ends ends_;
  std::vector<std::pair<Ending, std::string>> ended_;  // with its node, in the order of their ends
  std::size_t decisions_ = 0, looked_at_ = 0;
  ExpectedStart start_;
};

}  // namespace

void inherit_expected_durations(std::vector<Document>& documents) {
  const Inheritance inheritance(documents);
  for (Document& document : documents)
    if (document.kind == api::Kind::Pod || document.kind == api::Kind::PodGroup)
      inheritance.hand_down(document);
}

ExpectedStart expected_start(OfflineCluster& offline, const AskedAbout& asked, const PlanOptions& options,
                             dra::SelectorEvaluator& selectors) {
  if (!has_run_times(offline.view())) return {};
  return Timeline(offline, options, selectors).run(asked);
}

void put_json(const ExpectedStart& start, Time now, Json& json) {
  if (start.at ? start.ended == 0 : start.running == 0) return;
  if (!start.at) {
    json["expectedStart"] = Json::object({{"unknown", start.out_of_budget ? "OutOfBudget" : "NeverFits"},
                                          {"running", static_cast<std::int64_t>(start.running)}});
    return;
  }
  Json after = Json::array();
  for (const Ending& one : start.after)
    after.as_array().push_back(
        Json::object({{"pod", one.pod.ns + "/" + one.pod.name}, {"time", format_time(one.at)}}));
  json["expectedStart"] = Json::object({{"time", format_time(*start.at)},
                                        {"inSeconds", (*start.at - now).micros() / 1'000'000},
                                        {"ended", static_cast<std::int64_t>(start.ended)},
                                        {"after", std::move(after)}});
}

}  // namespace berth::planning
