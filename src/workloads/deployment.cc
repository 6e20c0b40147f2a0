#include <algorithm>

#include "workloads/conditions.h"
#include "workloads/deployment_status.h"
#include "workloads/pod_set.h"

namespace berth::workloads {
namespace {

// How much of an annotation of past revisions is kept.
constexpr std::size_t kRevisionHistoryBytesMax = 2000;

// Annotations that a ReplicaSet does not take over from its Deployment.
bool is_taken_over(std::string_view annotation) {
  constexpr std::string_view kOwn[] = {"kubectl.kubernetes.io/last-applied-configuration",
                                       kRevision,
                                       kRevisionHistory,
                                       kDesiredReplicas,
                                       kMaxReplicas,
                                       "deprecated.deployment.rollback.to"};
  return std::find(std::begin(kOwn), std::end(kOwn), annotation) == std::end(kOwn);
}

std::int64_t next_number(const Rollout& rollout) {
  std::int64_t highest = 0;
  for (const Revision& revision : rollout.revisions)
    if (!revision.is_new) highest = std::max(highest, revision.number);
  return highest + 1;
}

void put_sizes(Json& annotations, const Rollout& rollout) {
  annotations[kDesiredReplicas] = std::to_string(rollout.replicas);
  annotations[kMaxReplicas] = std::to_string(rollout.replicas + rollout.max_surge);
}

// A run of one Deployment's key: its steps change the copy of the conditions and add writes.
class DeploymentRun {
 public:
  DeploymentRun(const View& view, Parsed deployment, std::string refusal, Time now)
      : view_(view),
        rollout_(rollout_of(view, std::move(deployment))),
        refusal_(std::move(refusal)),
        now_(now) {
    conditions_ = Json(rollout_.deployment.status().items_at("conditions"));
    collisions_ = rollout_.deployment.status().int_at("collisionCount");
  }

  Effects go() {
    const Json& spec = rollout_.deployment.spec();
    if (rollout_.deployment.meta.deleting()) return finish(Progress::Left);
    if (spec.part("selector") == Json::object()) {
      effects_.events.push_back(event_about(rollout_.deployment, true, "SelectingAll",
                                            "This deployment is selecting all pods. A non-empty selector is "
                                            "required."));
      return std::move(effects_);
    }
    adopt();
    if (!effects_.chains.empty()) return std::move(effects_);  // one of them may be the newest
    note_pause(rollout_, conditions_, now_);
    if (spec.bool_at("paused") || is_scaled(rollout_)) {
      if (Revision* newest = rollout_.newest()) refresh(*newest);
      scale_in_proportion(rollout_);
      if (spec.bool_at("paused")) drop_history();
      return finish(Progress::Left);
    }
    if (rollout_.rolling)
      roll();
    else
      recreate();
    return finish(Progress::Judged);
  }

 private:
  void roll() {
    provide_newest();
    if (!roll_new_up(rollout_) && !roll_old_down(rollout_) && is_complete(rollout_)) drop_history();
  }

  void recreate() {
    if (scale_old_to_zero(rollout_)) return;
    for (const Revision& revision : rollout_.revisions)
      if (!revision.is_new && (revision.created > 0 || revision.terminating > 0)) return;
    provide_newest();
    roll_new_up(rollout_);
    if (is_complete(rollout_)) drop_history();
  }

  void provide_newest() {
    if (Revision* newest = rollout_.newest())
      refresh(*newest);
    else
      create_newest();
  }

  // Its revision and annotations, and the Deployment's revision.
  void refresh(Revision& newest) {
    const std::int64_t number = std::max(newest.number, next_number(rollout_));
    Json annotations = Json::object();
    for (const auto& [key, value] : rollout_.deployment.meta.annotations)
      if (is_taken_over(key) && newest.set.meta.annotation(key) != value) annotations[key] = value;
    if (newest.number < number) {
      annotations[kRevision] = std::to_string(number);
      if (newest.number > 0) annotations[kRevisionHistory] = history_with(newest);
    }
    newest.number = number;
    Json patch = Json::object();
    if (!annotations.as_object().empty()) patch["metadata"]["annotations"] = std::move(annotations);
    const std::int64_t ready = rollout_.deployment.spec().int_at("minReadySeconds");
    if (newest.set.spec().int_at("minReadySeconds") != ready) patch["spec"]["minReadySeconds"] = ready;
    if (!patch.as_object().empty()) changes_of_newest_ = std::move(patch);
    number_deployment(number);
    if (progress_deadline(rollout_) && !has_progressing())
      set_progressing(conditions_, "True", "FoundNewReplicaSet",
                      "Found new replica set \"" + newest.set.meta.name + "\"", now_);
  }

  static std::string history_with(const Revision& revision) {
    std::string history(revision.set.meta.annotation(kRevisionHistory));
    if (!history.empty()) history += ",";
    history += std::to_string(revision.number);
    while (history.size() > kRevisionHistoryBytesMax && history.find(',') != std::string::npos)
      history.erase(0, history.find(',') + 1);
    return history;
  }

  bool has_progressing() const {
    const Json& conditions = conditions_;
    return find_condition(conditions.as_array(), "Progressing") != nullptr;
  }

  void number_deployment(std::int64_t number) {
    const std::string text = std::to_string(number);
    const api::ObjectMeta& meta = rollout_.deployment.meta;
    if (meta.annotation(kRevision) == text) return;
    Json patch = Json::object();
    patch["metadata"]["annotations"][kRevision] = text;
    own_writes_.push_back(
        client::merge_patch(rollout_.deployment.key, patch, meta.uid, meta.resource_version));
  }

  void create_newest() {
    const Parsed& deployment = rollout_.deployment;
    const Json& spec = deployment.spec();
    const std::string hash = template_hash(spec.part("template"), collisions_);
    const std::string name = deployment.meta.name + "-" + hash;
    if (const auto* taken = find_other(view_, replica_sets(), deployment.meta.ns, name)) {
      // Another template, or somebody else's: the next run takes another name.
      if (taken->meta.controller()) ++collisions_;
      return;
    }
    Json pod_template = spec.part("template");
    pod_template["metadata"]["labels"][kTemplateHash] = hash;
    Json selector = spec.part("selector");
    selector["matchLabels"][kTemplateHash] = hash;
    Json annotations = Json::object();
    for (const auto& [key, value] : deployment.meta.annotations)
      if (is_taken_over(key)) annotations[key] = value;
    const std::int64_t number = next_number(rollout_), size = first_size(rollout_);
    annotations[kRevision] = std::to_string(number);
    put_sizes(annotations, rollout_);
    const auto owner = controller_reference(deployment, "apps/v1", "Deployment");
    Json metadata = Json::object({{"name", name}, {"namespace", deployment.meta.ns}});
    metadata["labels"] = pod_template.part("metadata").part("labels");
    metadata["annotations"] = std::move(annotations);
    metadata["ownerReferences"] = Json::array({api::to_json(owner)});
    Json set_spec = Json::object({{"replicas", size}, {"selector", std::move(selector)}});
    if (const std::int64_t ready = spec.int_at("minReadySeconds")) set_spec["minReadySeconds"] = ready;
    set_spec["template"] = std::move(pod_template);
    const Json set = Json::object({{"apiVersion", "apps/v1"},
                                   {"kind", "ReplicaSet"},
                                   {"metadata", std::move(metadata)},
                                   {"spec", std::move(set_spec)}});
    effects_.chains.push_back(
        {key_in(replica_sets(), deployment.meta.ns, name), {create_other(replica_sets(), set)}});
    if (size > 0) tell_scaled(name, 0, size);
    number_deployment(number);
    if (!progress_deadline(rollout_)) return;
    if (refusal_.empty())
      set_progressing(conditions_, "True", "NewReplicaSetCreated", "Created new replica set \"" + name + "\"",
                      now_);
    else
      set_progressing(conditions_, "False", "ReplicaSetCreateError",
                      "Failed to create new replica set \"" + name + "\": " + refusal_, now_);
  }

  // ReplicaSets without a controller that the selector selects.
  void adopt() {
    const Parsed& deployment = rollout_.deployment;
    const auto selector = api::LabelSelector::of(deployment.spec().part("selector"));
    const auto table = view_.others.find(replica_sets());
    if (!selector || table == view_.others.end()) return;
    const std::string& ns = deployment.meta.ns;
    const auto& all = table->second.all();
    for (auto at = all.lower_bound({ns, ""}); at != all.end() && at->first.ns == ns; ++at) {
      const api::ObjectMeta& meta = at->second->meta;
      if (meta.controller() || meta.deleting() || !selector->matches(meta.labels)) continue;
      JsonArray owners;
      for (const api::OwnerReference& other : meta.owners) owners.push_back(api::to_json(other));
      owners.push_back(api::to_json(controller_reference(deployment, "apps/v1", "Deployment")));
      Json patch = Json::object();
      patch["metadata"]["ownerReferences"] = std::move(owners);
      const api::ObjectKey key = key_in(replica_sets(), ns, meta.name);
      // Only while the Deployment still is what the view has, and so not on its way out.
      effects_.chains.push_back(
          {key,
           {client::merge_patch(deployment.key, Json::object(), deployment.meta.uid,
                                deployment.meta.resource_version),
            client::merge_patch(key, std::move(patch), meta.uid, meta.resource_version)}});
    }
  }

  void drop_history() {
    for (const Revision* revision : beyond_history(rollout_))
      effects_.chains.push_back(
          {revision->set.key, {client::delete_object(revision->set.key, revision->set.meta.uid)}});
  }

  void tell_scaled(const std::string& name, std::int64_t from, std::int64_t to) {
    effects_.events.push_back(event_about(rollout_.deployment, false, "ScalingReplicaSet",
                                          std::string("Scaled ") + (to > from ? "up" : "down") +
                                              " replica set " + name + " from " + std::to_string(from) +
                                              " to " + std::to_string(to)));
  }

  // One write for each ReplicaSet whose size, annotations or traits change.
  void write_sets() {
    for (const Revision& revision : rollout_.revisions) {
      Json patch = revision.is_new ? changes_of_newest_ : Json::object();
      const std::int64_t before = revision.set.spec().int_at("replicas", 1);
      const bool resized = before != revision.replicas;
      const bool sized = revision.replicas > 0;
      const bool relabeled =
          sized && (number_in(revision.set.meta, kDesiredReplicas) != rollout_.replicas ||
                    number_in(revision.set.meta, kMaxReplicas) != rollout_.replicas + rollout_.max_surge);
      if (resized) patch["spec"]["replicas"] = revision.replicas;
      if (resized || relabeled) {
        Json annotations = patch.part("metadata").part("annotations");
        if (annotations.is_null()) annotations = Json::object();
        put_sizes(annotations, rollout_);
        patch["metadata"]["annotations"] = std::move(annotations);
      }
      if (patch.as_object().empty()) continue;
      const Parsed& set = revision.set;
      effects_.chains.push_back(
          {set.key,
           {client::merge_patch(set.key, std::move(patch), set.meta.uid, set.meta.resource_version)}});
      if (resized) tell_scaled(set.meta.name, before, revision.replicas);
    }
  }

  Effects finish(Progress progress) {
    write_sets();
    const Parsed& deployment = rollout_.deployment;
    const JsonObject status =
        deployment_status(rollout_, std::move(conditions_), collisions_, progress, now_, effects_);
    if (const auto changed = difference(deployment.status(), status)) {
      client::Write write =
          client::merge_patch(deployment.key, Json::object({{"status", *changed}}), deployment.meta.uid,
                              own_writes_.empty() ? deployment.meta.resource_version : 0, "status");
      write.on_previous_version = !own_writes_.empty();
      own_writes_.push_back(std::move(write));
    }
    if (!own_writes_.empty()) effects_.chains.push_back({deployment.key, std::move(own_writes_)});
    return std::move(effects_);
  }

  const View& view_;
  Rollout rollout_;
  const std::string refusal_;
  const Time now_;
  Json conditions_;
  std::int64_t collisions_ = 0;
  Json changes_of_newest_ = Json::object();
  std::vector<client::Write> own_writes_;  // of the Deployment
  Effects effects_;
};

class Deployment final : public client::Reconciler {
 public:
  std::string_view name() const override { return "deployment-controller"; }

  std::vector<client::Interest> interests() const override {
    const auto of_set = [](const View& view, const Delta& delta, Keys& keys) {
      for (const auto* side : {&delta.before, &delta.after}) {
        const auto* set = client::object_of<api::AnyObject>(*side);
        if (!set) continue;
        const api::OwnerReference* owner = set->meta.controller();
        if (owner && owner->kind == "Deployment")
          keys.push_back(key_in(deployments(), delta.key.ns, owner->name));
        if (!owner)
          for (api::ObjectKey& key : view.keys_in(Kind::Other, delta.key.ns, deployments()))
            keys.push_back(std::move(key));
      }
    };
    return {{Kind::Other, deployments(),
             [](const View&, const Delta& delta, Keys& keys) { keys.push_back(delta.key); }},
            {Kind::Other, replica_sets(), of_set}};
  }

  Effects reconcile(const View& view, const api::ObjectKey& key, Time now) override {
    auto deployment = find_parsed(view, key);
    if (!deployment) return Effects::nothing();
    return DeploymentRun(view, std::move(*deployment), refusals_.take(key), now).go();
  }

  void on_outcome(const View&, const api::ObjectKey& key, const client::Outcome& outcome, Time) override {
    refusals_.note(key, outcome);
  }

 private:
  RefusedWrites refusals_;
};

}  // namespace

std::unique_ptr<client::Reconciler> make_deployment() {
  return std::make_unique<Deployment>();
}

}  // namespace berth::workloads
