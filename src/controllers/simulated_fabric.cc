#include <algorithm>

#include "api/serialized.h"
#include "api/types/claim_consumer.h"
#include "controllers/controllers.h"
#include "controllers/patches.h"
#include "controllers/simulated.h"

namespace berth::controllers {

namespace {

// How the fabric handles one allocated device.
struct Plan {
  std::optional<Duration> ready_after;
  std::optional<Duration> fail_after;
  bool any() const { return ready_after || fail_after; }
};

Plan plan_of(const api::ObjectMeta& meta) {
  return {annotated_duration(meta, kFabricReadyAfterAnnotation),
          annotated_duration(meta, kFabricFailAfterAnnotation)};
}

std::string_view class_of(const api::ResourceClaim& claim, std::string_view result_request) {
  for (const api::DeviceRequest& request : claim.requests)
    for (const api::DeviceSubRequest& alternative : request.alternatives) {
      const std::string full = request.prioritized ? request.name + "/" + alternative.name : request.name;
      if (full == result_request) return alternative.device_class;
    }
  return {};
}

// The claim's own annotation, else that of the first consumer with one, else that of the device's class.
Plan plan_for(const View& view, const api::ResourceClaim& claim, const api::DeviceResult& result) {
  if (const Plan own = plan_of(claim.meta); own.any()) return own;
  for (const api::ClaimConsumer& consumer : claim.reserved_for) {
    if (api::is_group(consumer)) {
      const api::PodGroup* group = view.pod_groups.find(claim.meta.ns, consumer.name);
      if (!group || group->meta.uid != consumer.uid) continue;
      if (const Plan of_group = plan_of(group->meta); of_group.any()) return of_group;
      continue;
    }
    const api::Pod* pod = view.pods.find(claim.meta.ns, consumer.name);
    if (!pod || pod->meta.uid != consumer.uid) continue;
    if (const Plan of_pod = plan_of(pod->meta); of_pod.any()) return of_pod;
  }
  const api::DeviceClass* of = view.classes.find("", class_of(claim, result.request));
  return of ? plan_of(of->meta) : Plan{};
}

bool is_entry(const Json& entry, const api::DeviceResult& result) {
  return entry.string_at("driver") == result.driver && entry.string_at("pool") == result.pool &&
         entry.string_at("device") == result.device && entry.string_at("shareID") == result.share_id;
}

Json& entry_for(JsonArray& devices, const api::DeviceResult& result) {
  for (Json& entry : devices)
    if (is_entry(entry, result)) return entry;
  Json entry = Json::object({{"driver", result.driver}, {"pool", result.pool}, {"device", result.device}});
  if (!result.share_id.empty()) entry["shareID"] = result.share_id;
  return devices.emplace_back(std::move(entry));
}

// True when a condition changed.
bool set_true(Json& entry, const std::vector<std::string>& types, std::string_view reason,
              std::string_view message, Time now) {
  Json& conditions = entry["conditions"];
  if (!conditions.is_array()) conditions = Json::array();
  bool changed = false;
  for (const std::string& type : types) {
    Json next = Json::object({{"type", type},
                              {"status", "True"},
                              {"lastTransitionTime", format_time(now)},
                              {"reason", reason},
                              {"message", message}});
    auto& all = conditions.as_array();
    const auto known = std::find_if(all.begin(), all.end(),
                                    [&](const Json& json) { return json.string_at("type") == type; });
    if (known != all.end() && known->string_at("status") == "True") continue;
    changed = true;
    if (known == all.end())
      all.push_back(std::move(next));
    else
      *known = std::move(next);
  }
  return changed;
}

// Applies what the fabric has done to one device by now; `wake_at` gets the time of its next action.
bool attach(JsonArray& devices, const api::DeviceResult& result, const Plan& plan, Time allocated, Time now,
            std::optional<Time>& wake_at) {
  const auto due = [&](const std::optional<Duration>& after) {
    if (!after) return false;
    const Time at = allocated + *after;
    if (at <= now) return true;
    wake_at = wake_at ? std::min(*wake_at, at) : at;
    return false;
  };
  const bool fails_first = plan.fail_after && (!plan.ready_after || *plan.fail_after <= *plan.ready_after);
  if (fails_first) {
    if (!due(plan.fail_after) || result.binding_failure_conditions.empty()) return false;
    return set_true(entry_for(devices, result), result.binding_failure_conditions, "SimulatedFabricFailed",
                    "the simulated fabric could not attach the device", now);
  }
  if (!due(plan.ready_after)) return false;
  return set_true(entry_for(devices, result), result.binding_conditions, "SimulatedFabricAttached",
                  "the simulated fabric attached the device", now);
}

class SimulatedFabric final : public client::Reconciler {
 public:
  std::string_view name() const override { return "simulated-fabric"; }

  std::vector<client::Interest> interests() const override {
    return {client::itself(Kind::ResourceClaim),
            {Kind::Pod,
             {},
             [](const View& view, const Delta& delta, Keys& keys) {
               if (!delta.after || !plan_of(api::meta_of(*delta.after)).any()) return;
               for (const api::ResourceClaim* claim : view.claims_reserved_by(api::meta_of(*delta.after).uid))
                 keys.push_back(client::key_of(Kind::ResourceClaim, claim->meta));
             }},
            {Kind::DeviceClass, {}, [](const View& view, const Delta& delta, Keys& keys) {
               if (!delta.after || !plan_of(api::meta_of(*delta.after)).any()) return;
               for (const auto& [name, claim] : view.claims.all())
                 if (claim->allocation) keys.push_back(client::key_of(Kind::ResourceClaim, claim->meta));
             }}};
  }

  Effects reconcile(const View& view, const api::ObjectKey& key, Time now) override {
    const api::ResourceClaim* claim = view.claims.find(key.ns, key.name);
    if (!claim || !claim->allocation || !claim->allocation->timestamp.is_set()) return Effects::nothing();
    JsonArray devices;
    bool read = false, changed = false;
    Effects effects;
    for (const api::DeviceResult& result : claim->allocation->results) {
      if (result.binding_conditions.empty()) continue;
      const Plan plan = plan_for(view, *claim, result);
      if (!plan.any()) continue;
      if (!read) devices = devices_in(*claim);
      read = true;
      changed |= attach(devices, result, plan, claim->allocation->timestamp, now, effects.wake_at);
    }
    if (!changed) return effects;
    Json patch = Json::object();
    patch["status"]["devices"] = std::move(devices);
    effects.chains.push_back({key,
                              {client::merge_patch(key, std::move(patch), claim->meta.uid,
                                                   claim->meta.resource_version, "status")}});
    return effects;
  }

 private:
  static JsonArray devices_in(const api::ResourceClaim& claim) {
    const auto object = api::parse_object(*claim.raw);
    BERTH_ASSERT(object.ok(), "what is in the view was decoded");
    const Json* status = object->find("status");
    return status ? status->items_at("devices") : JsonArray{};
  }
};

}  // namespace

std::unique_ptr<client::Reconciler> make_simulated_fabric() {
  return std::make_unique<SimulatedFabric>();
}

}  // namespace berth::controllers
