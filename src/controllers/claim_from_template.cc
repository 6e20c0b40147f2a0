#include <algorithm>
#include <optional>

#include "api/serialized.h"
#include "api/types/claim_consumer.h"
#include "base/nearest_names.h"
#include "controllers/controllers.h"
#include "controllers/patches.h"

namespace berth::controllers {

namespace {

// Attempts to find a name that no other owner uses.
constexpr int kNameTriesMax = 8;

// The owner of generated claims: a pod or a pod group.
struct Owner {
  Kind kind;
  const api::ObjectMeta& meta;

  api::ObjectKey key() const { return client::key_of(kind, meta); }
};

struct Wanted {
  std::string name;  // of the entry
  std::string template_name;
};

const api::ResourceClaim* existing_claim(const View& view, const Owner& owner, const std::string& entry) {
  for (const api::ResourceClaim* claim : view.claims_owned_by(owner.meta.uid))
    if (claim->meta.ns == owner.meta.ns && !claim->meta.deleting() &&
        claim->meta.annotation(api::kPodClaimNameAnnotation) == entry)
      return claim;
  return nullptr;
}

std::string free_name(const View& view, const Owner& owner, const std::string& entry) {
  std::string name;
  for (int n = 0; n < kNameTriesMax; ++n) {
    name = derived_name(owner.meta.name, entry, owner.meta.uid + "/" + entry + "/" + std::to_string(n));
    if (!view.claims.find(owner.meta.ns, name)) break;
  }
  return name;
}

// The delete-protection finalizer is set from the start, which saves the binder a write before the
// allocation.
Json claim_object(const Owner& owner, const std::string& entry, const api::ResourceClaimTemplate& from,
                  const std::string& name) {
  const api::KindInfo& claim_info = api::info_of(Kind::ResourceClaim);
  const api::KindInfo& owner_info = api::info_of(owner.kind);
  api::StringMap annotations = from.annotations;
  annotations[std::string(api::kPodClaimNameAnnotation)] = entry;
  const api::OwnerReference reference{api::ref_of(owner.kind).api_version(),
                                      std::string(owner_info.name),
                                      owner.meta.name,
                                      owner.meta.uid,
                                      true,
                                      false};
  const std::string prefix = name.substr(0, name.rfind('-') + 1);
  Json meta = Json::object({{"name", name}, {"generateName", prefix}, {"namespace", owner.meta.ns}});
  if (!from.labels.empty()) meta["labels"] = api::to_json(from.labels);
  meta["annotations"] = api::to_json(annotations);
  meta["ownerReferences"] = Json::array({api::to_json(reference)});
  meta["finalizers"] = Json::array({api::kClaimFinalizer});
  return Json::object({{"apiVersion", api::ref_of(Kind::ResourceClaim).api_version()},
                       {"kind", claim_info.name},
                       {"metadata", std::move(meta)},
                       {"spec", from.spec}});
}

// "; nearest: gpu-small", of the templates in the namespace.
std::string template_hint(const View& view, const std::string& ns, const std::string& missing) {
  const auto& all = view.claim_templates.all();
  std::vector<std::string> names;
  for (auto at = all.lower_bound({ns, ""});
       at != all.end() && at->first.ns == ns && names.size() < kNamesComparedMax; ++at)
    names.push_back(at->first.name);
  const std::string hint = names_hint(missing, names, names.size());
  return hint.empty() ? "" : "; " + hint;
}

client::EventNote missing_template(const View& view, const Owner& owner, const Wanted& wanted) {
  client::EventNote event{owner.key(), owner.meta.uid, true, "FailedResourceClaimCreation", "", ""};
  event.message = "PodResourceClaim " + wanted.name + ": resource claim template \"" + wanted.template_name +
                  "\": resourceclaimtemplate.resource.k8s.io \"" + wanted.template_name + "\" not found" +
                  template_hint(view, owner.meta.ns, wanted.template_name);
  event.component = "resource_claim";
  return event;
}

// The claim's name; creates the claim, or reports that its template is missing (then nothing).
std::optional<std::string> provide(const View& view, const Owner& owner, const Wanted& wanted,
                                   Effects& effects) {
  if (const api::ResourceClaim* claim = existing_claim(view, owner, wanted.name)) return claim->meta.name;
  const api::ResourceClaimTemplate* from = view.claim_templates.find(owner.meta.ns, wanted.template_name);
  if (!from) {
    effects.events.push_back(missing_template(view, owner, wanted));
    return std::nullopt;
  }
  std::string name = free_name(view, owner, wanted.name);
  effects.then(
      client::create(Kind::ResourceClaim, owner.meta.ns, claim_object(owner, wanted.name, *from, name)));
  return name;
}

Effects without_empty_chain(Effects effects) {
  if (effects.chains.at(0).writes.empty()) effects.chains.clear();
  return effects;
}

bool needs_claims(const api::Pod& pod) {
  if (pod.meta.deleting() || pod.finished()) return false;
  const auto from_template = [](const api::PodClaim& claim) { return !claim.template_name.empty(); };
  return std::any_of(pod.claims.begin(), pod.claims.end(), from_template);
}

void pods_of_template(const View& view, const Delta& delta, Keys& keys) {
  if (!delta.after || delta.before) return;  // templates are immutable: only a new one helps
  const auto& pods = view.pods.all();
  for (auto at = pods.lower_bound({delta.key.ns, ""}); at != pods.end() && at->first.ns == delta.key.ns; ++at)
    for (const api::PodClaim& claim : at->second->claims)
      if (claim.template_name == delta.key.name) keys.push_back(client::key_of(Kind::Pod, at->second->meta));
}

// The owner of a changed claim, when it has this kind.
std::optional<api::ObjectKey> owner_of(const Delta& delta, Kind kind) {
  const auto& object = delta.after ? *delta.after : *delta.before;
  const api::OwnerReference* owner = api::meta_of(object).controller();
  if (!owner || owner->kind != api::info_of(kind).name) return std::nullopt;
  return api::ObjectKey{kind, delta.key.ns, owner->name, {}};
}

void pods_of_group(const View& view, const api::ObjectKey& group, Keys& keys) {
  for (const api::Pod* pod : view.pods_of_group(group.ns, group.name))
    keys.push_back(client::key_of(Kind::Pod, pod->meta));
}

class ClaimFromTemplate final : public client::Reconciler {
 public:
  std::string_view name() const override { return "claim-from-template"; }

  std::vector<client::Interest> interests() const override {
    return {{Kind::Pod,
             {},
             [](const View&, const Delta& delta, Keys& keys) {
               if (delta.after && needs_claims(*std::get<std::shared_ptr<const api::Pod>>(*delta.after)))
                 keys.push_back(delta.key);
             }},
            {Kind::ResourceClaimTemplate, {}, pods_of_template},
            {Kind::ResourceClaim,
             {},
             [](const View& view, const Delta& delta, Keys& keys) {
               if (const auto pod = owner_of(delta, Kind::Pod)) keys.push_back(*pod);
               if (const auto group = owner_of(delta, Kind::PodGroup)) pods_of_group(view, *group, keys);
             }},
            {Kind::PodGroup, {}, [](const View& view, const Delta& delta, Keys& keys) {
               if (!delta.before) pods_of_group(view, delta.key, keys);
             }}};
  }

  Effects reconcile(const View& view, const api::ObjectKey& key, Time) override {
    const api::Pod* pod = view.pods.find(key.ns, key.name);
    if (!pod || !needs_claims(*pod)) return Effects::nothing();
    Effects effects;
    effects.chains.push_back({key, {}});
    JsonArray statuses;
    bool changed = false;
    for (const api::PodClaim& claim : pod->claims) {
      const auto known =
          std::find_if(pod->claim_statuses.begin(), pod->claim_statuses.end(),
                       [&](const api::PodClaimStatus& status) { return status.name == claim.name; });
      std::optional<std::string> name;
      if (known != pod->claim_statuses.end())
        name = known->claim_name;
      else if (!claim.template_name.empty())
        name = claim_name(view, *pod, claim, effects);
      if (!name) continue;
      changed |= known == pod->claim_statuses.end();
      Json status = Json::object({{"name", claim.name}});
      if (!name->empty()) status["resourceClaimName"] = *name;
      statuses.push_back(std::move(status));
    }
    if (changed) {
      Json patch = Json::object();
      patch["status"]["resourceClaimStatuses"] = std::move(statuses);
      effects.then(client::merge_patch(key, std::move(patch), pod->meta.uid, 0, "status"));
    }
    return without_empty_chain(std::move(effects));
  }

 private:
  static std::optional<std::string> claim_name(const View& view, const api::Pod& pod,
                                               const api::PodClaim& claim, Effects& effects) {
    const Wanted wanted{claim.name, claim.template_name};
    if (!pod.group.empty()) {
      const api::PodGroup* group = view.pod_groups.find(pod.meta.ns, pod.group);
      if (!group) return std::nullopt;  // the claim's owner cannot be known yet
      if (api::shared_entry(*group, claim)) {
        const api::ResourceClaim* shared = existing_claim(view, {Kind::PodGroup, group->meta}, claim.name);
        return shared ? std::optional(shared->meta.name) : std::nullopt;
      }
    }
    return provide(view, {Kind::Pod, pod.meta}, wanted, effects);
  }
};

class GroupClaimFromTemplate final : public client::Reconciler {
 public:
  std::string_view name() const override { return "group-claim-from-template"; }

  std::vector<client::Interest> interests() const override {
    return {client::itself(Kind::PodGroup),
            {Kind::ResourceClaimTemplate,
             {},
             [](const View& view, const Delta& delta, Keys& keys) {
               for (const auto& [name, group] : view.pod_groups.all())
                 for (const api::GroupClaim& claim : group->claims)
                   if (name.ns == delta.key.ns && claim.template_name == delta.key.name)
                     keys.push_back(client::key_of(Kind::PodGroup, group->meta));
             }},
            {Kind::ResourceClaim, {}, [](const View&, const Delta& delta, Keys& keys) {
               if (const auto group = owner_of(delta, Kind::PodGroup)) keys.push_back(*group);
             }}};
  }

  Effects reconcile(const View& view, const api::ObjectKey& key, Time) override {
    const api::PodGroup* group = view.pod_groups.find(key.ns, key.name);
    if (!group || group->meta.deleting() || group->claims.empty()) return Effects::nothing();
    Effects effects;
    effects.chains.push_back({key, {}});
    JsonArray statuses;
    for (const api::GroupClaim& claim : group->claims) {
      if (claim.template_name.empty()) continue;
      const auto name =
          provide(view, {Kind::PodGroup, group->meta}, {claim.name, claim.template_name}, effects);
      if (name) statuses.push_back(Json::object({{"name", claim.name}, {"resourceClaimName", *name}}));
    }
    const auto object = api::parse_object(*group->raw);
    const Json* status = object ? object->find("status") : nullptr;
    if (!statuses.empty() && (!status || status->items_at("resourceClaimStatuses") != statuses)) {
      Json patch = Json::object();
      patch["status"]["resourceClaimStatuses"] = std::move(statuses);
      effects.then(client::merge_patch(key, std::move(patch), group->meta.uid, 0, "status"));
    }
    return without_empty_chain(std::move(effects));
  }
};

}  // namespace

std::unique_ptr<client::Reconciler> make_claim_from_template() {
  return std::make_unique<ClaimFromTemplate>();
}

std::unique_ptr<client::Reconciler> make_group_claim_from_template() {
  return std::make_unique<GroupClaimFromTemplate>();
}

}  // namespace berth::controllers
