#include <algorithm>

#include "workloads/claim_owners.h"
#include "workloads/pod_set.h"
#include "workloads/revisions.h"

namespace berth::workloads {
namespace {

constexpr std::string_view kPodName = "statefulset.kubernetes.io/pod-name";
constexpr std::string_view kPodIndex = "apps.kubernetes.io/pod-index";

api::OwnerReference set_reference(const Parsed& set) {
  return controller_reference(set, "apps/v1", "StatefulSet");
}

// The ordinal of "<set>-<ordinal>"; nothing for another name.
std::optional<std::int64_t> ordinal_of(const std::string& set, std::string_view pod) {
  if (!pod.starts_with(set + "-")) return std::nullopt;
  const std::string_view number = pod.substr(set.size() + 1);
  const auto ordinal = api::to_int(number);
  if (!ordinal || *ordinal < 0 || std::to_string(*ordinal) != number) return std::nullopt;
  return ordinal;
}

// The name of its revision.
std::string_view revision_label(const api::Pod& pod) {
  const auto found = pod.meta.labels.find(kRevisionHash);
  return found == pod.meta.labels.end() ? std::string_view() : found->second;
}

// One run of a StatefulSet's key.
class StatefulSetRun {
 public:
  StatefulSetRun(const View& view, Parsed set, const OwnedPods::ByName& pods, Time now)
      : view_(view), set_(std::move(set)), now_(now) {
    const Json& spec = set_.spec();
    replicas_ = std::max<std::int64_t>(0, spec.int_at("replicas", 1));
    start_ = spec.part("ordinals").int_at("start");
    ordered_ = spec.string_at("podManagementPolicy") != "Parallel";
    min_ready_ = spec.int_at("minReadySeconds");
    rolling_ = spec.part("updateStrategy").string_at("type") != "OnDelete";
    const Json& limits = spec.part("updateStrategy").part("rollingUpdate");
    partition_ = limits.int_at("partition");
    unavailable_max_ =
        std::max<std::int64_t>(1, scaled_amount(limits.part("maxUnavailable"), replicas_, false));
    const Json& retention = spec.part("persistentVolumeClaimRetentionPolicy");
    retention_.with_set = retention.string_at("whenDeleted") == "Delete";
    retention_.with_replica = retention.string_at("whenScaled") == "Delete";
    collisions_ = set_.status().int_at("collisionCount");
    for (const auto& [name, pod] : pods)
      if (const auto ordinal = ordinal_of(set_.meta.name, name)) pods_[*ordinal] = pod.get();
  }

  Effects go() {
    if (set_.meta.deleting()) return std::move(effects_);
    history_ = keep_revisions(view_, set_, set_reference(set_), collisions_, effects_);
    const TemplateRevision* newest = history_.current();
    update_ = newest ? newest->name() : std::string(set_.status().string_at("updateRevision"));
    current_ = set_.status().string_at("currentRevision");
    if (current_.empty() || !history_.find(current_)) current_ = update_;
    if (newest && keep_wanted() && drop_surplus()) update_pods();
    write_status();
    drop_old_revisions(history_, set_, {current_, update_}, effects_);
    return std::move(effects_);
  }

 private:
  bool is_wanted(std::int64_t ordinal) const { return ordinal >= start_ && ordinal < start_ + replicas_; }
  bool serves(const api::Pod& pod) { return is_active(pod) && is_available(pod, min_ready_, now_, effects_); }
  bool is_of(const api::Pod& pod, const std::string& revision) const {
    const std::string_view label = revision_label(pod);
    return label == revision || is_bare_hash_of(revision, label);
  }
  // Earlier versions of Berth wrote the hash alone; such a pod is not replaced for its label.
  bool is_bare_hash_of(const std::string& revision, std::string_view label) const {
    return !label.empty() && revision.size() == set_.meta.name.size() + 1 + label.size() &&
           revision.starts_with(set_.meta.name + "-") && revision.ends_with(label);
  }

  // The pods of the wanted ordinals, in order. False when the rest has to wait.
  bool keep_wanted() {
    std::size_t made = 0;
    for (std::int64_t ordinal = start_; ordinal < start_ + replicas_; ++ordinal) {
      const auto found = pods_.find(ordinal);
      if (found == pods_.end()) {
        if (made++ >= kPodsPerRunMax) return false;
        if (!awaits_claims(ordinal)) create(ordinal);
        if (ordered_) return false;
        continue;
      }
      const api::Pod& pod = *found->second;
      if (pod.finished() && !pod.meta.deleting()) {
        effects_.events.push_back(event_about(set_, true, "RecreatingFailedPod",
                                              "StatefulSet " + set_.meta.ns + "/" + set_.meta.name +
                                                  " is recreating failed Pod " + pod.meta.name));
        delete_pod(effects_, set_, pod);
        if (ordered_) return false;
        continue;
      }
      provide_claims(ordinal);
      add_claim_writes(claim_writes(ordinal, &pod));
      if (ordered_ && !serves(pod)) return false;
    }
    return true;
  }

  // Beyond the wanted ordinals, the highest first. False when the rest has to wait.
  bool drop_surplus() {
    std::size_t dropped = 0;
    for (auto at = pods_.rbegin(); at != pods_.rend(); ++at) {
      if (is_wanted(at->first)) continue;
      if (dropped++ >= kPodsPerRunMax) return false;
      drop_with_claims(at->first, *at->second);
      if (ordered_) return false;
    }
    return dropped == 0;
  }

  // The pod owns its claims before it goes: later nobody would know that they are to go with it.
  void drop_with_claims(std::int64_t ordinal, const api::Pod& pod) {
    std::vector<client::Write> writes = claim_writes(ordinal, &pod);
    if (pod.meta.deleting()) return add_claim_writes(std::move(writes));
    delete_pod(effects_, set_, pod);
    std::vector<client::Write>& chain = effects_.chains.back().writes;
    chain.insert(chain.begin(), std::make_move_iterator(writes.begin()),
                 std::make_move_iterator(writes.end()));
  }

  // Deletes pods of other revisions, the highest ordinals first: those that serve nobody, and others while no
  // more than maxUnavailable are away.
  void update_pods() {
    if (!rolling_) return;
    std::vector<const api::Pod*> serving, idle;
    std::int64_t away = 0;
    for (std::int64_t ordinal = start_ + replicas_ - 1; ordinal >= start_; --ordinal) {
      const auto found = pods_.find(ordinal);
      const bool up = found != pods_.end() && serves(*found->second);
      away += !up;
      if (found == pods_.end() || ordinal < start_ + partition_) continue;
      const api::Pod& pod = *found->second;
      if (!is_of(pod, update_) && !pod.meta.deleting()) (up ? serving : idle).push_back(&pod);
    }
    const std::int64_t rest = std::clamp<std::int64_t>(unavailable_max_ - away, 0, std::ssize(serving));
    idle.insert(idle.end(), serving.begin(), serving.begin() + rest);
    if (idle.size() > kPodsPerRunMax) idle.resize(kPodsPerRunMax);
    for (const api::Pod* pod : idle) delete_pod(effects_, set_, *pod);
  }

  // Below the partition a pod is of the current revision.
  const TemplateRevision* revision_for(std::int64_t ordinal) const {
    const bool old = rolling_ && ordinal < start_ + partition_;
    const TemplateRevision* standing = old ? history_.find(current_) : nullptr;
    return standing ? standing : history_.current();
  }

  void create(std::int64_t ordinal) {
    if (!takes_pods(view_, set_.meta.ns)) return;
    const std::string number = std::to_string(ordinal), name = set_.meta.name + "-" + number;
    if (view_.pods.find(set_.meta.ns, name)) {
      effects_.events.push_back(event_about(set_, true, "FailedCreate",
                                            "create Pod " + name + " failed: another pod has this name"));
      effects_.retry = true;
      return;
    }
    const TemplateRevision& revision = *revision_for(ordinal);
    Json pod = pod_from_template(revision.pod_template(), set_reference(set_), set_.meta.ns, name, "");
    Json& labels = pod["metadata"]["labels"];
    labels[kPodName] = name;
    labels[kPodIndex] = number;
    labels[kRevisionHash] = revision.name();
    Json& spec = pod["spec"];
    spec["hostname"] = name;
    if (const std::string_view service = set_.spec().string_at("serviceName"); !service.empty())
      spec["subdomain"] = service;
    JsonArray volumes;
    const JsonArray& templates = set_.spec().items_at("volumeClaimTemplates");
    for (const Json& volume : std::as_const(spec).items_at("volumes"))
      if (std::none_of(templates.begin(), templates.end(), [&](const Json& claim) {
            return claim.part("metadata").string_at("name") == volume.string_at("name");
          }))
        volumes.push_back(volume);
    for (const Json& claim : templates) {
      const std::string volume(claim.part("metadata").string_at("name"));
      Json source = Json::object({{"claimName", volume + "-" + name}});
      volumes.push_back(Json::object({{"name", volume}, {"persistentVolumeClaim", std::move(source)}}));
    }
    if (!volumes.empty()) spec["volumes"] = std::move(volumes);
    provide_claims(ordinal);
    add_claim_writes(claim_writes(ordinal, nullptr));
    create_pod(effects_, set_, pod);
  }

  // Claims stay when the pod goes: they are the pod's state.
  void provide_claims(std::int64_t ordinal) {
    for (const Json& claim : set_.spec().items_at("volumeClaimTemplates")) {
      const std::string name = claim_name(claim, ordinal);
      if (view_.volume_claims.find(set_.meta.ns, name)) continue;
      Json metadata = Json::object({{"name", name}, {"namespace", set_.meta.ns}});
      Json labels = claim.part("metadata").part("labels");
      if (labels.is_null()) labels = Json::object();
      const Json& selected = set_.spec().part("selector").part("matchLabels");
      if (selected.is_object())
        for (const JsonMember& label : selected.as_object()) labels[label.key] = label.value;
      metadata["labels"] = std::move(labels);
      if (const Json* notes = claim.part("metadata").find("annotations")) metadata["annotations"] = *notes;
      if (retention_.with_set) metadata["ownerReferences"] = Json::array({api::to_json(set_reference(set_))});
      const Json object = Json::object({{"apiVersion", "v1"},
                                        {"kind", "PersistentVolumeClaim"},
                                        {"metadata", std::move(metadata)},
                                        {"spec", claim.part("spec")}});
      client::Write write = client::create(Kind::PersistentVolumeClaim, set_.meta.ns, object);
      write.fine_reasons = {"AlreadyExists"};
      effects_.chains.push_back({{Kind::PersistentVolumeClaim, set_.meta.ns, name, {}}, {std::move(write)}});
    }
  }

  std::string claim_name(const Json& claim, std::int64_t ordinal) const {
    return std::string(claim.part("metadata").string_at("name")) + "-" + set_.meta.name + "-" +
           std::to_string(ordinal);
  }

  // `pod` is null before it exists.
  ClaimUsers claim_users(std::int64_t ordinal, const api::Pod* pod) const {
    const std::string name = set_.meta.name + "-" + std::to_string(ordinal);
    return {
        set_reference(set_), {"v1", "Pod", name, pod ? pod->meta.uid : "", true, true}, !is_wanted(ordinal)};
  }

  // What brings the owners of the pod's claims to the policy.
  std::vector<client::Write> claim_writes(std::int64_t ordinal, const api::Pod* pod) {
    const ClaimUsers users = claim_users(ordinal, pod);
    std::vector<client::Write> writes;
    for (const Json& claim : set_.spec().items_at("volumeClaimTemplates")) {
      const auto* standing = view_.volume_claims.find(set_.meta.ns, claim_name(claim, ordinal));
      if (!standing) continue;
      const api::ObjectMeta& meta = standing->meta;
      const auto wanted = claim_owners(meta.owners, users, retention_);
      if ((wanted || !pod) && has_other_controller(meta.owners, users, retention_))
        effects_.events.push_back(event_about(set_, true, "ConflictingController",
                                              "PersistentVolumeClaim " + meta.name +
                                                  " has a conflicting OwnerReference that acts as a manging "
                                                  "controller, the retention policy is "
                                                  "ignored for this claim"));
      if (!wanted) continue;
      Json owners = JsonArray();
      for (const api::OwnerReference& owner : *wanted) owners.as_array().push_back(api::to_json(owner));
      Json patch = Json::object();
      patch["metadata"]["ownerReferences"] = std::move(owners);
      writes.push_back(client::merge_patch(client::key_of(Kind::PersistentVolumeClaim, meta),
                                           std::move(patch), meta.uid, meta.resource_version));
    }
    return writes;
  }

  void add_claim_writes(std::vector<client::Write> writes) {
    for (client::Write& write : writes) {
      const api::ObjectKey key{Kind::PersistentVolumeClaim, write.request.ns, write.request.name, {}};
      effects_.chains.push_back({key, {std::move(write)}});
    }
  }

  // A claim that goes with an earlier pod, or is going, is not given to the next one; its end wakes the set.
  bool awaits_claims(std::int64_t ordinal) {
    const ClaimUsers users = claim_users(ordinal, nullptr);
    for (const Json& claim : set_.spec().items_at("volumeClaimTemplates")) {
      const auto* standing = view_.volume_claims.find(set_.meta.ns, claim_name(claim, ordinal));
      if (!standing) continue;
      if (retention_.with_replica && is_of_earlier_pod(standing->meta.owners, users.pod)) return true;
      if (!standing->meta.deleting()) continue;
      effects_.events.push_back(event_about(set_, true, "FailedCreate",
                                            "create Pod " + users.pod.name + " in StatefulSet " +
                                                set_.meta.name + " failed error: pvc " + standing->meta.name +
                                                " is being deleted"));
      return true;
    }
    return false;
  }

  void write_status() {
    std::int64_t replicas = 0, ready = 0, available = 0, current = 0, updated = 0;
    for (const auto& [ordinal, pod] : pods_) {
      if (pod->finished()) continue;
      ++replicas;
      if (pod->meta.deleting()) continue;
      const bool is_up = is_ready(*pod);
      ready += is_up;
      available += is_available(*pod, min_ready_, now_, effects_);
      current += is_of(*pod, current_);
      updated += is_of(*pod, update_);
    }
    const bool complete =
        rolling_ && history_.current() && updated == replicas_ && replicas == replicas_ && ready == replicas_;
    if (complete) {
      current_ = update_;
      current = updated;
    }
    JsonObject status;
    // Not before updateRevision is that of the template.
    const std::int64_t observed =
        history_.current() ? set_.meta.generation : set_.status().int_at("observedGeneration");
    status.append("observedGeneration", unless_zero(observed));
    status.append("replicas", replicas);
    status.append("readyReplicas", unless_zero(ready));
    status.append("availableReplicas", available);
    status.append("currentReplicas", unless_zero(current));
    status.append("updatedReplicas", unless_zero(updated));
    status.append("currentRevision", current_.empty() ? Json() : Json(current_));
    status.append("updateRevision", update_.empty() ? Json() : Json(update_));
    status.append("collisionCount", collisions_);
    if (auto write = status_write(set_, status)) effects_.chains.push_back({set_.key, {std::move(*write)}});
  }

  const View& view_;
  const Parsed set_;
  const Time now_;
  std::int64_t replicas_ = 0, start_ = 0, min_ready_ = 0, partition_ = 0, unavailable_max_ = 1,
               collisions_ = 0;
  ClaimRetention retention_;
  bool ordered_ = true, rolling_ = true;
  std::map<std::int64_t, const api::Pod*> pods_;  // by ordinal
  RevisionHistory history_;
  std::string current_, update_;  // names of revisions
  Effects effects_;
};

class StatefulSet final : public client::Reconciler {
 public:
  std::string_view name() const override { return "statefulset-controller"; }

  std::vector<client::Interest> interests() const override {
    std::vector<client::Interest> interests = pods_.interests();
    interests.push_back(
        wakes_controller(Kind::Other, controller_revisions(), stateful_sets(), "StatefulSet"));
    interests.push_back(
        {Kind::PersistentVolumeClaim, {}, [](const View& view, const Delta& delta, Keys& keys) {
           const auto* gone = client::object_of<api::PersistentVolumeClaim>(delta.before);
           if (gone && !client::object_of<api::PersistentVolumeClaim>(delta.after))
             wake_users(view, gone->meta, keys);
         }});
    return interests;
  }

  Effects reconcile(const View& view, const api::ObjectKey& key, Time now) override {
    auto set = find_parsed(view, key);
    if (!set) return Effects::nothing();
    const std::string refusal = refusals_.take(key);
    Effects effects;
    pods_.claim(view, *set, set_reference(*set), effects);
    if (!effects.chains.empty()) return effects;
    if (!refusal.empty())
      effects.events.push_back(
          event_about(*set, true, "FailedCreate", "create Pod failed error: " + refusal));
    const OwnedPods::ByName& pods = pods_.of(set->meta.uid);
    Effects run = StatefulSetRun(view, std::move(*set), pods, now).go();
    run.events.insert(run.events.end(), effects.events.begin(), effects.events.end());
    return run;
  }

  void on_outcome(const View&, const api::ObjectKey& key, const client::Outcome& outcome, Time) override {
    refusals_.note(key, outcome);
  }

 private:
  // The sets of which "<template>-<set>-<ordinal>" may be a claim.
  static void wake_users(const View& view, const api::ObjectMeta& claim, Keys& keys) {
    const std::size_t end = claim.name.rfind('-');
    if (end == std::string::npos) return;
    const std::string_view stem = std::string_view(claim.name).substr(0, end);
    for (std::size_t dash = stem.find('-'); dash != std::string_view::npos; dash = stem.find('-', dash + 1)) {
      const std::string_view set = stem.substr(dash + 1);
      if (find_other(view, stateful_sets(), claim.ns, set))
        keys.push_back(key_in(stateful_sets(), claim.ns, set));
    }
  }

  OwnedPods pods_{stateful_sets(),
                  "StatefulSet",
                  {.adopts_finished = true, .may_be_named = [](const std::string& set, std::string_view pod) {
                     return ordinal_of(set, pod).has_value();
                   }}};
  RefusedWrites refusals_;
};

}  // namespace

std::unique_ptr<client::Reconciler> make_stateful_set() {
  return std::make_unique<StatefulSet>();
}

}  // namespace berth::workloads
