// Makes volumes for claims whose class names the simulated provisioner: after the class's delay, with the
// topology of the selected node; or gives up for that node by removing the annotation that selects it, as
// external provisioners do. Deletes released volumes that it made, where the class says so.
#include "controllers/simulated_provisioner.h"

#include <algorithm>

#include "api/node_names.h"
#include "api/type_table.h"
#include "client/volumes.h"
#include "controllers/controllers.h"

namespace berth::controllers {
namespace {

using api::PersistentVolume;
using api::PersistentVolumeClaim;
using api::StorageClass;

// On a claim: when work on its volume began, and for which node: "<RFC 3339> <node>".
constexpr std::string_view kProvisioningSinceAnnotation = "berth.dev/provisioning-since";
constexpr std::string_view kNever = "never";

std::string_view parameter_of(const StorageClass& of, std::string_view name) {
  const auto found = of.parameters.find(name);
  return found == of.parameters.end() ? std::string_view() : std::string_view(found->second);
}

// None: never. A text that is no duration counts as none given.
std::optional<Duration> delay_of(const StorageClass& of) {
  const std::string_view text = parameter_of(of, kProvisionAfterParameter);
  if (text == kNever) return std::nullopt;
  const auto delay = parse_duration(text);
  return delay && *delay > Duration{} ? *delay : Duration{};
}

bool fails_on(const StorageClass& of, std::string_view node) {
  bool fails = false;
  api::for_each_listed(parameter_of(of, kProvisionFailsOnParameter),
                       [&](std::string_view one) { fails = fails || one == "*" || one == node; });
  return fails;
}

Effects change_annotations(const api::ObjectKey& key, const PersistentVolumeClaim& claim, Json annotations) {
  return Effects::write(
      key, client::merge_patch(
               key, Json::object({{"metadata", Json::object({{"annotations", std::move(annotations)}})}}),
               claim.meta.uid, claim.meta.resource_version));
}

Effects give_up(const api::ObjectKey& key, const PersistentVolumeClaim& claim) {
  return change_annotations(key, claim,
                            Json::object({{std::string(api::kSelectedNodeAnnotation), nullptr},
                                          {std::string(kProvisioningSinceAnnotation), nullptr}}));
}

// When the work for this node began; not set: it has not.
Time begun(const PersistentVolumeClaim& claim) {
  const std::string_view text = claim.meta.annotation(kProvisioningSinceAnnotation);
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos || text.substr(space + 1) != claim.selected_node()) return {};
  return api::decode_time(text.substr(0, space));
}

// The labels that bind a volume of the class to a place: those of its allowedTopologies, else the host name.
std::vector<std::string> topology_keys(const StorageClass& of) {
  std::vector<std::string> keys;
  if (of.allowed_nodes)
    for (const api::NodeSelectorTerm& term : of.allowed_nodes->terms)
      for (const api::Requirement& one : term.expressions)
        if (std::find(keys.begin(), keys.end(), one.key) == keys.end()) keys.push_back(one.key);
  if (keys.empty()) keys.emplace_back(api::kHostnameLabel);
  return keys;
}

api::NodeSelector topology_of(const StorageClass& of, const api::Node& node) {
  api::NodeSelectorTerm term;
  for (const std::string& key : topology_keys(of))
    if (const auto label = node.meta.labels.find(key); label != node.meta.labels.end())
      term.expressions.push_back({key, "In", {label->second}});
  return {{std::move(term)}};
}

// `node` null: of a class that does not wait for one.
Json volume_for(const PersistentVolumeClaim& claim, const StorageClass& of, const api::Node* node) {
  const std::string name = "pvc-" + claim.meta.uid;
  const api::VolumeTraits& traits = claim.traits;
  Json spec = Json::object(
      {{"capacity", Json::object({{"storage", claim.request.value_or(Quantity()).text()}})},
       {"accessModes", api::to_json(traits.access_modes)},
       {"volumeMode", traits.volume_mode},
       {"storageClassName", of.meta.name},
       {"persistentVolumeReclaimPolicy", of.reclaim_policy.empty() ? "Delete" : of.reclaim_policy},
       {"csi", Json::object({{"driver", kSimulatedProvisioner}, {"volumeHandle", name}})},
       {"claimRef", api::claim_ref_json(claim)}});
  if (!traits.attributes_class.empty()) spec["volumeAttributesClassName"] = traits.attributes_class;
  if (node)
    if (const api::NodeSelector place = topology_of(of, *node); !place.terms.front().expressions.empty())
      spec["nodeAffinity"] = Json::object({{"required", api::to_json(place)}});
  Json annotations = Json::object({{std::string(api::kProvisionedByAnnotation), kSimulatedProvisioner}});
  return Json::object({{"apiVersion", "v1"},
                       {"kind", "PersistentVolume"},
                       {"metadata", Json::object({{"name", name}, {"annotations", std::move(annotations)}})},
                       {"spec", std::move(spec)}});
}

// A volume exists or can be bound instead.
bool needs_none(const View& view, const PersistentVolumeClaim& claim, const StorageClass& of) {
  const auto reserved = view.volumes_for_claim(claim.meta.ns, claim.meta.name);
  if (std::any_of(reserved.begin(), reserved.end(),
                  [&](const PersistentVolume* volume) { return api::is_for(*volume, claim); }))
    return true;
  return !of.waits_for_consumer &&
         !client::volumes_for(view, claim, [](const PersistentVolume&) { return false; }).empty();
}

Effects provision(const View& view, const api::ObjectKey& key, Time now) {
  const PersistentVolumeClaim* claim = view.volume_claims.find(key.ns, key.name);
  if (!claim || claim->meta.deleting() || !claim->volume_name.empty()) return Effects::nothing();
  const StorageClass* of = view.storage_classes.find("", claim->traits.storage_class);
  const std::string node_name(claim->selected_node());
  if (!of || of->provisioner != kSimulatedProvisioner) return Effects::nothing();
  if ((of->waits_for_consumer && node_name.empty()) || needs_none(view, *claim, *of))
    return Effects::nothing();
  const api::Node* node = view.nodes.find("", node_name);
  if (!node_name.empty() && !node) return give_up(key, *claim);
  const std::optional<Duration> delay = delay_of(*of);
  if (!delay) return Effects::nothing();
  if (*delay > Duration{}) {
    const Time since = begun(*claim);
    if (!since.is_set())
      return change_annotations(
          key, *claim,
          Json::object({{std::string(kProvisioningSinceAnnotation), format_time(now) + " " + node_name}}));
    Effects later;
    later.wake_at = since + *delay;
    if (now < *later.wake_at) return later;
  }
  if (fails_on(*of, node_name)) return node_name.empty() ? Effects::nothing() : give_up(key, *claim);
  client::Write write = client::create(Kind::PersistentVolume, "", volume_for(*claim, *of, node));
  write.fine_reasons = {"AlreadyExists"};
  return Effects::write(key, std::move(write));
}

Effects reclaim(const View& view, const api::ObjectKey& key) {
  const PersistentVolume* volume = view.volumes.find("", key.name);
  const bool done = volume && !volume->meta.deleting() && volume->phase == "Released" &&
                    volume->reclaim_policy == "Delete" &&
                    volume->meta.annotation(api::kProvisionedByAnnotation) == kSimulatedProvisioner;
  return done ? Effects::write(key, client::delete_object(key, volume->meta.uid)) : Effects::nothing();
}

class SimulatedProvisioner final : public client::Reconciler {
 public:
  std::string_view name() const override { return "simulated-provisioner"; }

  std::vector<client::Interest> interests() const override {
    return {client::itself(Kind::PersistentVolumeClaim),
            client::itself(Kind::PersistentVolume),
            {Kind::StorageClass,
             {},
             [](const View& view, const Delta& delta, Keys& keys) {
               for (const auto& [name, claim] : view.volume_claims.all())
                 if (claim->volume_name.empty() && claim->traits.storage_class == delta.key.name)
                   keys.push_back(client::key_of(Kind::PersistentVolumeClaim, claim->meta));
             }},
            {Kind::Node, {}, [](const View& view, const Delta& delta, Keys& keys) {
               if (delta.after) return;
               for (const auto& [name, claim] : view.volume_claims.all())
                 if (claim->volume_name.empty() && claim->selected_node() == delta.key.name)
                   keys.push_back(client::key_of(Kind::PersistentVolumeClaim, claim->meta));
             }}};
  }

  Effects reconcile(const View& view, const api::ObjectKey& key, Time now) override {
    return key.kind == Kind::PersistentVolume ? reclaim(view, key) : provision(view, key, now);
  }
};

}  // namespace

std::unique_ptr<client::Reconciler> make_simulated_provisioner() {
  return std::make_unique<SimulatedProvisioner>();
}

}  // namespace berth::controllers
