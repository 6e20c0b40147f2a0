#include "workloads/rollout.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/stable_hash.h"
#include "workloads/pod_names.h"

namespace berth::workloads {
namespace {

// The template as the Deployment has it.
Json without_hash(const Json& pod_template) {
  Json plain = pod_template;
  const Json* labels = pod_template.part("metadata").find("labels");
  if (!labels || !labels->find(kTemplateHash)) return plain;
  Json kept = *labels;
  kept.as_object().erase(kTemplateHash);
  if (kept.as_object().empty())
    plain["metadata"].as_object().erase("labels");
  else
    plain["metadata"]["labels"] = std::move(kept);
  return plain;
}

Revision revision_of(Parsed set) {
  Revision revision{std::move(set)};
  revision.replicas = revision.set.spec().int_at("replicas", 1);
  revision.created = revision.set.status().int_at("replicas");
  revision.ready = revision.set.status().int_at("readyReplicas");
  revision.available = revision.set.status().int_at("availableReplicas");
  revision.terminating = revision.set.status().int_at("terminatingReplicas");
  revision.number = number_in(revision.set.meta, kRevision).value_or(0);
  return revision;
}

// Surge rounded up, unavailability down; both zero would never move.
void set_limits(Rollout& rollout) {
  const Json& limits = rollout.deployment.spec().part("strategy").part("rollingUpdate");
  rollout.max_surge = scaled_amount(limits.part("maxSurge"), rollout.replicas, true);
  rollout.max_unavailable = scaled_amount(limits.part("maxUnavailable"), rollout.replicas, false);
  if (rollout.max_surge == 0 && rollout.max_unavailable == 0) rollout.max_unavailable = 1;
  rollout.max_unavailable = std::min(rollout.max_unavailable, rollout.replicas);
}

// Of the old ones, the oldest first, takes at most `budget`, as many from each as `surplus` says.
template <class Surplus>
std::int64_t take_from_old(Rollout& rollout, std::int64_t budget, Surplus surplus) {
  std::int64_t taken = 0;
  for (Revision& revision : rollout.revisions) {
    if (revision.is_new || revision.replicas == 0 || taken >= budget) continue;
    const std::int64_t some = std::clamp<std::int64_t>(surplus(revision), 0, budget - taken);
    revision.replicas -= std::min(some, revision.replicas);
    taken += some;
  }
  return taken;
}

std::vector<Revision*> active(Rollout& rollout) {
  std::vector<Revision*> found;
  for (Revision& revision : rollout.revisions)
    if (revision.replicas > 0) found.push_back(&revision);
  return found;
}

// The share of `to_add` that falls to the revision by the size for which it was made.
std::int64_t share_of(const Rollout& rollout, const Revision& revision, std::int64_t to_add,
                      std::int64_t added) {
  if (revision.replicas == 0 || to_add == 0 || to_add == added) return 0;
  const std::int64_t sized_for = number_in(revision.set.meta, kMaxReplicas).value_or(0);
  // Without the annotation: the size that its status shows.
  const std::int64_t base = sized_for > 0 ? sized_for : rollout.deployment.status().int_at("replicas", 1);
  const double wanted = static_cast<double>(revision.replicas) *
                        static_cast<double>(rollout.replicas + rollout.max_surge) /
                        static_cast<double>(std::max<std::int64_t>(1, base));
  const auto change = static_cast<std::int64_t>(std::llround(wanted)) - revision.replicas;
  return to_add > 0 ? std::min(change, to_add - added) : std::max(change, to_add - added);
}

}  // namespace

Revision* Rollout::newest() {
  for (Revision& revision : revisions)
    if (revision.is_new) return &revision;
  return nullptr;
}

std::int64_t Rollout::total() const {
  return std::accumulate(revisions.begin(), revisions.end(), std::int64_t{0},
                         [](std::int64_t sum, const Revision& r) { return sum + r.replicas; });
}

std::int64_t Rollout::available() const {
  return std::accumulate(revisions.begin(), revisions.end(), std::int64_t{0},
                         [](std::int64_t sum, const Revision& r) { return sum + r.available; });
}

Rollout rollout_of(const View& view, Parsed deployment) {
  Rollout rollout{std::move(deployment), {}};
  const Json& spec = rollout.deployment.spec();
  rollout.replicas = std::max<std::int64_t>(0, spec.int_at("replicas", 1));
  rollout.rolling = spec.part("strategy").string_at("type") != "Recreate";
  if (rollout.rolling) set_limits(rollout);
  const api::ObjectMeta& meta = rollout.deployment.meta;
  for (const api::AnyObject* object : controlled_others(view, replica_sets(), meta.ns, meta.uid))
    if (auto set = parse_other(key_in(replica_sets(), meta.ns, object->meta.name), *object))
      rollout.revisions.push_back(revision_of(std::move(*set)));
  std::stable_sort(
      rollout.revisions.begin(), rollout.revisions.end(),
      [](const Revision& a, const Revision& b) { return a.set.meta.created < b.set.meta.created; });
  for (Revision& revision : rollout.revisions)
    if (without_hash(revision.set.spec().part("template")) == spec.part("template")) {
      revision.is_new = true;
      break;
    }
  return rollout;
}

std::string template_hash(const Json& pod_template, std::int64_t collisions) {
  std::string text = to_string(pod_template);
  if (collisions > 0) text += "/" + std::to_string(collisions);
  return safe_text(static_cast<std::uint32_t>(stable_hash(text)));
}

std::int64_t first_size(const Rollout& rollout) {
  if (!rollout.rolling) return rollout.replicas;
  const std::int64_t room = rollout.replicas + rollout.max_surge - rollout.total();
  return std::clamp<std::int64_t>(room, 0, rollout.replicas);
}

bool roll_new_up(Rollout& rollout) {
  Revision* newest = rollout.newest();
  if (!newest || newest->replicas == rollout.replicas) return false;
  if (newest->replicas > rollout.replicas) {
    newest->replicas = rollout.replicas;
    return true;
  }
  const std::int64_t room = rollout.replicas + rollout.max_surge - rollout.total();
  const std::int64_t more = std::min(room, rollout.replicas - newest->replicas);
  if (more <= 0) return false;
  newest->replicas += more;
  return true;
}

bool roll_old_down(Rollout& rollout) {
  const Revision* newest = rollout.newest();
  if (!newest) return false;
  const std::int64_t least = rollout.replicas - rollout.max_unavailable;
  const std::int64_t missing_of_new = newest->replicas - newest->available;
  const std::int64_t budget = rollout.total() - least - missing_of_new;
  if (budget <= 0) return false;
  // First those that serve nobody; they cost no availability.
  const std::int64_t unhealthy = take_from_old(
      rollout, budget, [](const Revision& r) { return r.set.spec().int_at("replicas", 1) - r.available; });
  std::int64_t spare = rollout.available() - least;
  const std::int64_t healthy = take_from_old(rollout, spare, [](const Revision& r) { return r.replicas; });
  return unhealthy + healthy > 0;
}

bool scale_old_to_zero(Rollout& rollout) {
  bool changed = false;
  for (Revision& revision : rollout.revisions) {
    if (revision.is_new || revision.replicas == 0) continue;
    revision.replicas = 0;
    changed = true;
  }
  return changed;
}

bool is_scaled(const Rollout& rollout) {
  return std::any_of(rollout.revisions.begin(), rollout.revisions.end(), [&](const Revision& revision) {
    const auto sized_for = number_in(revision.set.meta, kDesiredReplicas);
    return revision.replicas > 0 && sized_for && *sized_for != rollout.replicas;
  });
}

void scale_in_proportion(Rollout& rollout) {
  std::vector<Revision*> sized = active(rollout);
  if (sized.size() <= 1) {
    Revision* only = sized.empty() ? rollout.newest() : sized.front();
    if (sized.empty() && !only && !rollout.revisions.empty()) only = &rollout.revisions.back();
    if (only) only->replicas = rollout.replicas;
    return;
  }
  const Revision* newest = rollout.newest();
  const bool saturated = newest && newest->replicas == rollout.replicas &&
                         number_in(newest->set.meta, kDesiredReplicas) == rollout.replicas &&
                         newest->available == rollout.replicas;
  if (saturated) {
    scale_old_to_zero(rollout);
    return;
  }
  if (!rollout.rolling) return;
  const std::int64_t allowed = rollout.replicas > 0 ? rollout.replicas + rollout.max_surge : 0;
  const std::int64_t to_add = allowed - rollout.total();
  // Growing goes to the newest of equal ones, shrinking to the oldest.
  std::stable_sort(sized.begin(), sized.end(), [&](const Revision* a, const Revision* b) {
    if (a->replicas != b->replicas) return a->replicas > b->replicas;
    return to_add > 0 ? a->set.meta.created > b->set.meta.created : a->set.meta.created < b->set.meta.created;
  });
  std::vector<std::int64_t> sizes;
  std::int64_t added = 0;
  for (const Revision* revision : sized) {
    const std::int64_t share = share_of(rollout, *revision, to_add, added);
    sizes.push_back(revision->replicas + share);
    added += share;
  }
  sizes.front() = std::max<std::int64_t>(0, sizes.front() + to_add - added);
  for (std::size_t i = 0; i < sized.size(); ++i) sized[i]->replicas = sizes[i];
}

std::vector<const Revision*> beyond_history(const Rollout& rollout) {
  std::vector<const Revision*> old;
  for (const Revision& revision : rollout.revisions)
    if (!revision.is_new && !revision.set.meta.deleting()) old.push_back(&revision);
  const std::int64_t limit = rollout.deployment.spec().int_at("revisionHistoryLimit", kNoLimit);
  std::int64_t surplus = static_cast<std::int64_t>(old.size()) - limit;
  std::stable_sort(old.begin(), old.end(),
                   [](const Revision* a, const Revision* b) { return a->number < b->number; });
  std::vector<const Revision*> beyond;
  for (const Revision* revision : old) {
    if (surplus-- <= 0) break;
    const bool holds = revision->created != 0 || revision->set.spec().int_at("replicas", 1) != 0 ||
                       revision->set.meta.generation > revision->set.status().int_at("observedGeneration");
    if (!holds) beyond.push_back(revision);
  }
  return beyond;
}

}  // namespace berth::workloads
