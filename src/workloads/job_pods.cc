#include "workloads/job_pods.h"

#include <algorithm>

namespace berth::workloads {
namespace {

constexpr const char* kIndexVariable = "JOB_COMPLETION_INDEX";

// Where failures are limited by index, an index waits for its own failures alone.
struct IndexPods {
  OwnedPods::ByName pods;
  bool busy = false;          // one of them runs, or has to end before it is replaced
  std::int64_t failures = 0;  // of the latest pod, this one included
  std::int64_t ignored = 0;
  std::optional<Time> last_failure;
};

void add_variable(Json& containers) {
  for (Json& container : containers.as_array()) {
    bool named = false;
    const Json& standing = container;
    for (const Json& variable : standing.items_at("env"))
      named |= variable.string_at("name") == kIndexVariable;
    if (named) continue;
    JsonArray env = standing.items_at("env");
    Json from = Json::object();
    from["fieldRef"]["fieldPath"] = "metadata.labels['" + std::string(kCompletionIndex) + "']";
    env.push_back(Json::object({{"name", kIndexVariable}, {"valueFrom", std::move(from)}}));
    container["env"] = std::move(env);
  }
}

class Maker {
 public:
  Maker(const View& view, const JobState& state, const PodsOfOwner& pods, const std::string& group, Time now,
        Effects& effects)
      : view_(view), state_(state), pods_(pods), group_(group), now_(now), effects_(effects) {}

  void keep() {
    if (state_.indexed && remove_beyond_completions()) return;
    const auto active = static_cast<std::int64_t>(state_.active.size());
    const std::int64_t wanted = wanted_active(active);
    if (active > wanted) {
      remove(static_cast<std::size_t>(active - wanted));
      return;
    }
    const std::int64_t ending =
        state_.replaces_failed_only ? static_cast<std::int64_t>(state_.terminating.size()) : 0;
    const std::int64_t missing = wanted - active - ending;
    if (missing <= 0 || !takes_pods(view_, state_.job.meta.ns)) return;
    const bool by_index = state_.indexed && state_.limit_per_index;
    if (const auto until = backoff_until(state_); until && !by_index && now_ < *until) {
      wake_by(effects_, *until);
      return;
    }
    const std::size_t standing =
        state_.active.size() + static_cast<std::size_t>(std::max<std::int64_t>(0, state_.succeeded));
    const std::size_t count = creates_of_run(static_cast<std::size_t>(missing), standing);
    if (state_.indexed)
      create_indexes(count);
    else
      create(count);
    effects_.stop_on_failure = true;
  }

 private:
  std::int64_t wanted_active(std::int64_t active) const {
    const std::int64_t done =
        state_.indexed ? state_.completed.count() + state_.failed_indexes.count()
                       : state_.succeeded + static_cast<std::int64_t>(state_.uncounted_succeeded.size());
    if (!state_.completions) return done > 0 ? std::min(active, state_.parallelism) : state_.parallelism;
    return std::clamp<std::int64_t>(*state_.completions - done, 0, state_.parallelism);
  }

  // Pods of indexes that the Job had when it was larger. True when there are any.
  bool remove_beyond_completions() {
    std::size_t removed = 0;
    for (const api::Pod* pod : state_.active) {
      if (completion_index(*pod) < state_.completions.value_or(0)) continue;
      if (removed++ < kPodsPerRunMax) remove_uncounted(effects_, state_.job, *pod);
    }
    return removed > 0;
  }

  // Of indexed pods, those of ended and of the highest indexes go first.
  void remove(std::size_t count) {
    std::vector<const api::Pod*> order = in_order_of_deletion(state_.active);
    if (state_.indexed)
      std::stable_sort(order.begin(), order.end(), [this](const api::Pod* a, const api::Pod* b) {
        return std::pair(!is_done(*a), -completion_index(*a)) <
               std::pair(!is_done(*b), -completion_index(*b));
      });
    for (std::size_t i = 0; i < std::min(count, kPodsPerRunMax); ++i)
      remove_uncounted(effects_, state_.job, *order[i]);
  }

  bool is_done(const api::Pod& pod) const {
    const std::int64_t index = completion_index(pod);
    return index < 0 || state_.completed.has(index) || state_.failed_indexes.has(index);
  }

  void create(std::size_t count) {
    const NumberedNames names = job_pod_names(state_.job.meta.name, state_.job.meta.uid, -1);
    const auto begin = static_cast<std::uint32_t>(state_.succeeded + state_.failed);
    for (std::string& name : next_names(view_, state_.job.meta.ns, names, pods_, begin, count))
      create_pod(effects_, state_.job, pod(std::move(name), state_.job.meta.name + "-"));
  }

  void create_indexes(std::size_t count) {
    std::map<std::int64_t, IndexPods> by_index;
    for (const auto& [name, pod] : pods_.pods) note(by_index[completion_index(*pod)], name, pod);
    static const IndexPods kNone;
    for (std::int64_t index = 0; index < state_.completions.value_or(0) && count > 0; ++index) {
      if (state_.completed.has(index) || state_.failed_indexes.has(index)) continue;
      const auto found = by_index.find(index);
      const IndexPods& standing = found == by_index.end() ? kNone : found->second;
      if (standing.busy || must_wait(standing)) continue;
      create_index(index, standing);
      --count;
    }
  }

  void note(IndexPods& index, const std::string& name, const PodPtr& pod) const {
    index.pods.emplace(name, pod);
    const bool ending = pod->meta.deleting() && !pod->finished();
    index.busy |= is_active(*pod) || (ending && state_.replaces_failed_only);
    if (pod->phase != "Failed" && (!pod->meta.deleting() || was_suspended(state_, *pod))) return;
    const Json* policy = state_.job.spec().find("podFailurePolicy");
    const auto match = policy ? match_failure_rule(*policy, *pod) : std::nullopt;
    const bool ignored = match && match->action == "Ignore";
    index.failures = std::max(index.failures, number_in(pod->meta, kIndexFailures).value_or(0) + !ignored);
    index.ignored = std::max(index.ignored, number_in(pod->meta, kIndexIgnored).value_or(0) + ignored);
    const api::Condition* ready = api::find_condition(pod->conditions, "Ready");
    const Time ended = ready && ready->last_transition.is_set() ? ready->last_transition : pod->meta.created;
    if (!index.last_failure || ended > *index.last_failure) index.last_failure = ended;
  }

  bool must_wait(const IndexPods& index) {
    if (!state_.limit_per_index || index.failures == 0) return false;
    JobState alone;
    alone.failures_in_a_row = index.failures;
    alone.last_failure = index.last_failure;
    const auto until = backoff_until(alone);
    if (!until || now_ >= *until) return false;
    wake_by(effects_, *until);
    return true;
  }

  void create_index(std::int64_t index, const IndexPods& standing) {
    const std::string number = std::to_string(index);
    const std::string base = state_.job.meta.name + "-" + number;
    const NumberedNames names = job_pod_names(state_.job.meta.name, state_.job.meta.uid, index);
    const PodsOfOwner of_index{standing.pods, pods_.next_numbers};
    for (std::string& name : next_names(view_, state_.job.meta.ns, names, of_index, 0, 1)) {
      Json made = pod(std::move(name), base + "-");
      Json& metadata = made["metadata"];
      metadata["labels"][kCompletionIndex] = number;
      metadata["annotations"][kCompletionIndex] = number;
      if (state_.limit_per_index) {
        metadata["annotations"][kIndexFailures] = std::to_string(standing.failures);
        if (standing.ignored > 0) metadata["annotations"][kIndexIgnored] = std::to_string(standing.ignored);
      }
      Json& spec = made["spec"];
      if (spec.part("hostname").is_null()) spec["hostname"] = base.substr(0, 63);
      for (std::string_view field : {"containers", "initContainers"})
        if (Json* containers = spec.find(field); containers && containers->is_array())
          add_variable(*containers);
      create_pod(effects_, state_.job, made);
    }
  }

  Json pod(std::string name, const std::string& prefix) const {
    const auto owner = controller_reference(state_.job, "batch/v1", "Job");
    Json made = pod_from_template(state_.job.spec().part("template"), owner, state_.job.meta.ns,
                                  std::move(name), prefix);
    JsonArray finalizers = std::as_const(made).part("metadata").items_at("finalizers");
    finalizers.emplace_back(kJobTracking);
    made["metadata"]["finalizers"] = std::move(finalizers);
    if (!group_.empty()) made["spec"]["schedulingGroup"] = Json::object({{"podGroupName", group_}});
    return made;
  }

  const View& view_;
  const JobState& state_;
  const PodsOfOwner& pods_;
  const std::string& group_;
  const Time now_;
  Effects& effects_;
};

}  // namespace

void keep_job_pods(const View& view, const JobState& state, const PodsOfOwner& pods, const std::string& group,
                   Time now, Effects& effects) {
  Maker(view, state, pods, group, now, effects).keep();
}

client::Write drop_tracking(const api::Pod& pod) {
  std::vector<std::string> rest = pod.meta.finalizers;
  std::erase(rest, kJobTracking);
  Json patch = Json::object();
  patch["metadata"]["finalizers"] = rest.empty() ? Json() : api::to_json(rest);
  client::Write write = client::merge_patch(client::key_of(Kind::Pod, pod.meta), std::move(patch),
                                            pod.meta.uid, pod.meta.resource_version);
  write.fine_reasons = {"NotFound"};
  return write;
}

void remove_uncounted(Effects& effects, const Parsed& job, const api::Pod& pod) {
  if (pod.meta.deleting()) return;
  delete_pod(effects, job, pod);
  if (!pod.meta.has_finalizer(kJobTracking)) return;
  std::vector<client::Write>& writes = effects.chains.back().writes;
  writes.insert(writes.begin(), drop_tracking(pod));
}

NumberedNames job_pod_names(const std::string& job, const std::string& uid, std::int64_t index) {
  if (index < 0) return NumberedNames(job + "-", uid);
  const std::string number = std::to_string(index);
  return NumberedNames(job + "-" + number + "-", uid + "/" + number);
}

}  // namespace berth::workloads
