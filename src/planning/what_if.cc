#include "planning/what_if.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "api/served_kinds.h"
#include "base/ascii.h"
#include "planning/document_removal.h"
#include "planning/offline_cluster.h"

namespace berth::planning {
namespace {

// Of workloads: the field that says how many pods they want.
struct ScaledKind {
  std::string_view group, kind, field;
};
constexpr ScaledKind kScaled[] = {{"apps", "Deployment", "replicas"},
                                  {"apps", "ReplicaSet", "replicas"},
                                  {"apps", "StatefulSet", "replicas"},
                                  {"batch", "Job", "parallelism"}};

bool is_kind(const Document& document, std::string_view word) {
  const api::ResourceInfo* row =
      api::find_resource_of_kind(document.object.string_at("apiVersion"), document.object.string_at("kind"));
  return row && api::is_kind_word(*row, word);
}

std::string_view namespace_of(const Document& document) {
  return document.object.part("metadata").string_at("namespace");
}

bool is_named(const Document& document, const ObjectName& wanted) {
  if (document.object.part("metadata").string_at("name") != wanted.name) return false;
  const std::string_view ns = namespace_of(document);
  const bool in_default = ns.empty() || ns == "default";
  return wanted.ns.empty() || wanted.ns == "default" ? in_default : wanted.ns == ns;
}

std::string text_of(const ObjectName& name) {
  return name.kind + " " + (name.ns.empty() ? "" : name.ns + "/") + name.name;
}

// One set of changes being applied.
class Editing {
 public:
  Editing(std::vector<Document>& documents, PlanOptions& options)
      : documents_(documents), options_(options) {}

  Status apply(const Change& change) {
    text_ = change.text;
    return std::visit([this](const auto& step) { return carry_out(step); }, change.step);
  }

 private:
  Error refused(const std::string& why) const {
    return Error(ErrorCode::NotFound, "--what-if " + text_, why);
  }

  // Refuses a name that no object has; it says where one of that name is.
  Result<Document*> find(const ObjectName& name) {
    Document* other = nullptr;
    for (Document& document : documents_) {
      if (!is_kind(document, name.kind)) continue;
      if (is_named(document, name)) return &document;
      if (document.object.part("metadata").string_at("name") == name.name) other = &document;
    }
    std::string why = "the input has no " + text_of(name);
    if (other) why += "; one of that name is in namespace " + std::string(namespace_of(*other));
    if (name.kind.starts_with("po"))
      why += "; pods that the plan makes cannot be named: scale their workload";
    return refused(why);
  }

  Status carry_out(const AddObjects& added) {
    for (const Document& document : added.documents) {
      const Json& metadata = document.object.part("metadata");
      const ObjectName name{to_lower(document.object.string_at("kind")),
                            std::string(metadata.string_at("namespace")),
                            std::string(metadata.string_at("name"))};
      if (find(name).ok())
        return refused("the input has " + text_of(name) + " already: remove it first (remove=" + name.kind +
                       "/" + (name.ns.empty() ? "" : name.ns + "/") + name.name + ")");
      documents_.push_back(document);
    }
    return {};
  }

  Status carry_out(const RemoveObject& removed) {
    const ObjectName& name = removed.object;
    if (const auto found = find(name); !found) return found.error();
    remove_objects(documents_, [&](const Document& document) {
      return is_kind(document, name.kind) && is_named(document, name);
    });
    return {};
  }

  Status carry_out(const CordonNode& cordoned) {
    Document* node = TRY(find({"node", "", cordoned.node}));
    node->object["spec"]["unschedulable"] = true;
    return {};
  }

  Status carry_out(const ScaleWorkload& scaled) {
    Document* found = TRY(find(scaled.workload));
    const api::GroupVersion version = api::group_version_of(found->object.string_at("apiVersion"));
    const auto row = std::ranges::find_if(kScaled, [&](const ScaledKind& one) {
      return one.group == version.group && one.kind == found->object.string_at("kind");
    });
    if (row == std::end(kScaled))
      return refused("a " + std::string(found->object.string_at("kind")) +
                     " has no number of pods: scale a Deployment, ReplicaSet, StatefulSet or Job");
    Json& spec = found->object["spec"];
    // Pods of an indexed or gang Job that needs as many completions as it runs pods.
    if (spec.part(row->field) == spec.part("completions") && spec.part("completions").is_int())
      spec["completions"] = scaled.count;
    spec[row->field] = scaled.count;
    found->scaled = true;
    return {};
  }

  Status carry_out(const SetPreemption& preemption) {
    options_.preempts = preemption.on;
    return {};
  }

  std::vector<Document>& documents_;
  PlanOptions& options_;
  std::string text_;
};

using DecisionName = std::tuple<bool, bool, std::string_view, std::string_view>;

DecisionName name_of(const Decision& decision) {
  return {decision.group, decision.composite, decision.ns, decision.name};
}

std::map<DecisionName, const Decision*> by_name(const std::vector<Decision>& decisions) {
  std::map<DecisionName, const Decision*> rows;
  for (const Decision& decision : decisions) rows.emplace(name_of(decision), &decision);
  return rows;
}

bool has_same_nodes(const Decision& a, const Decision& b) {
  const auto same = [](const PlannedPod& x, const PlannedPod& y) {
    return x.ns == y.ns && x.name == y.name && x.node == y.node;
  };
  return std::ranges::is_permutation(a.pods, b.pods, same);
}

WhatIf compare(const Plan& base, const Plan& changed, std::span<const Change> changes) {
  WhatIf what_if;
  for (const Change& change : changes) what_if.changes.push_back(change.text);
  for (const Decision& decision : base.decisions) ++what_if.base[decision.result];
  const auto before = by_name(base.decisions), after = by_name(changed.decisions);
  for (std::size_t i = 0; i < changed.decisions.size(); ++i) {
    const Decision& now = changed.decisions[i];
    const auto found = before.find(name_of(now));
    const Decision* was = found == before.end() ? nullptr : found->second;
    if (was && was->result == now.result && has_same_nodes(*was, now) && was->victims == now.victims)
      continue;
    what_if.changed.push_back({i, was ? std::optional(*was) : std::nullopt});
  }
  for (const Decision& was : base.decisions)
    if (!after.contains(name_of(was))) what_if.gone.push_back(was);
  return what_if;
}

}  // namespace

Result<Plan> make_what_if(std::vector<Document> documents, std::span<const Change> changes,
                          const PlanOptions& options, dra::SelectorEvaluator& selectors) {
  if (changes.size() > kChangesMax)
    return Error(
        ErrorCode::Invalid, "--what-if",
        "at most " + std::to_string(kChangesMax) + " changes; there are " + std::to_string(changes.size()));
  PlanOptions as_is = options;
  as_is.now = now_of(documents, options);
  PlanOptions with_changes = as_is;
  as_is.verdicts = Verdicts::None;
  as_is.objects = false;
  const Plan base = TRY(make_plan(documents, as_is, selectors));
  Editing editing(documents, with_changes);
  for (const Change& change : changes) TRY(editing.apply(change));
  Plan changed = TRY(make_plan(std::move(documents), with_changes, selectors));
  changed.what_if = compare(base, changed, changes);
  return changed;
}

}  // namespace berth::planning
