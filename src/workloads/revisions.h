// The ControllerRevisions of a StatefulSet or DaemonSet: its templates, oldest first.
//
// Pure; the engine's thread. Source: kube-controller-manager 1.37, pkg/controller/history.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "workloads/objects.h"

namespace berth::workloads {

inline constexpr std::string_view kRevisionHash = "controller-revision-hash";  // label of pods and revisions

struct TemplateRevision {
  Parsed object;
  std::int64_t number = 0;
  const std::string& name() const { return object.meta.name; }
  // The pod template that it holds.
  const Json& pod_template() const { return object.document.part("data").part("spec").part("template"); }
};

struct RevisionHistory {
  std::vector<TemplateRevision> revisions;  // by number
  // That of the owner's template; nothing while it is being made.
  std::optional<std::size_t> newest;

  const TemplateRevision* find(std::string_view name) const;
  const TemplateRevision* current() const { return newest ? &revisions[*newest] : nullptr; }
};

// Those of the owner. Adds the create of the newest one, or its new number when an older template came back;
// `collisions` grows when its name is taken.
RevisionHistory keep_revisions(const View& view, const Parsed& owner, const api::OwnerReference& reference,
                               std::int64_t& collisions, Effects& effects);

// Deletes the oldest beyond spec.revisionHistoryLimit that neither `used` nor the newest names.
void drop_old_revisions(const RevisionHistory& history, const Parsed& owner,
                        const std::vector<std::string>& used, Effects& effects);

}  // namespace berth::workloads
