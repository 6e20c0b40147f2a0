// Counts what ResourceQuotas limit. Source: pkg/controller/resourcequota of kube-controller-manager 1.37.
#include <algorithm>

#include "api/quota.h"
#include "api/serialized.h"
#include "controllers/controllers.h"
#include "workloads/objects.h"

namespace berth::controllers {
namespace {

using workloads::Parsed;

// A run adds up all objects of the namespace, so runs keep a distance for each of them.
constexpr Duration kRestPerObject = Duration::micros(20);
// The server charges a quota before the object is stored. Until the object is seen, the count is too low, so
// it replaces a higher one only after the quota has been still for so long.
constexpr Duration kChargeGrace = Duration::seconds(1);
// A quota that is never still is corrected all the same.
constexpr Duration kCorrectionDelayMax = Duration::seconds(10);

const api::ResourceRef& quotas() {
  static const api::ResourceRef kRef{"", "v1", "resourcequotas"};
  return kRef;
}

// Events come and go too often to be limited.
bool is_counted(const ServedResource& served) {
  return served.namespaced && served.resource.resource != "events";
}

// Nothing for a BindRequest that is kept in memory: it has no text, and the server does not store it.
std::optional<api::QuotaCharge> charge_of(const api::ResourceRef& resource, const api::TypedObject& object) {
  const api::RawPtr& text = api::raw_of(object);
  if (!text) return std::nullopt;
  if (!api::quota_reads(resource.group, resource.resource))
    return api::quota_charge(resource.group, resource.resource, Json());
  const Result<Json> document = api::parse_object(*text, api::ManagedFields::Skip);
  if (!document) return std::nullopt;
  return api::quota_charge(resource.group, resource.resource, *document);
}

// A map of quantities: members of `standing` that `wanted` lacks become null, as a merge patch needs it.
Json replaced(const Json& standing, Json wanted) {
  if (standing.is_object())
    for (const JsonMember& member : standing.as_object())
      if (!wanted.find(member.key)) wanted[member.key] = Json();
  return wanted;
}

class ResourceQuotas final : public client::Reconciler {
 public:
  explicit ResourceQuotas(std::vector<ServedResource> resources) : resources_(std::move(resources)) {}

  std::string_view name() const override { return "resourcequota-controller"; }

  std::vector<client::Interest> interests() const override {
    std::vector<client::Interest> interests;
    for (const ServedResource& served : resources_) {
      if (!is_counted(served)) continue;
      const api::Kind kind = api::kind_of_resource(served.resource.group, served.resource.resource);
      const api::ResourceRef resource = served.resource;
      interests.push_back(
          {kind, resource, [this, resource](const View& view, const Delta& delta, Keys& keys) {
             if (resource == quotas()) on_quota(view, delta, keys);
             on_object(view, resource, delta, keys);
           }});
    }
    return interests;
  }

  Effects reconcile(const View& view, const api::ObjectKey& key, Time now) override {
    const auto quota = workloads::find_parsed(view, key);
    const auto in_namespace = namespaces_.find(key.ns);
    if (!quota || in_namespace == namespaces_.end()) {
      pacing_.erase(key);
      return Effects::nothing();
    }
    Effects effects;
    Pacing& pacing = pacing_[key];
    const std::size_t objects = in_namespace->second.size();
    const Time due = pacing.last_run + kRestPerObject * static_cast<std::int64_t>(objects);
    if (pacing.last_run.is_set() && pacing.last_run <= now && now < due) {
      effects.wake_at = due;
      return effects;
    }
    pacing.last_run = now;
    const Json& hard = quota->spec().part("hard");
    const api::ResourceMap used = used_of(in_namespace->second, *quota, hard);
    if (const auto later = waits_until(*quota, used, pacing, now)) {
      effects.wake_at = later;
      return effects;
    }
    write(*quota, hard, used, effects);
    return effects;
  }

 private:
  using Charges = std::map<api::ObjectKey, api::QuotaCharge>;
  struct Pacing {
    Time last_run;
    std::uint64_t version = 0;  // of the quota as last seen
    Time version_since;
    Time lower_since;  // since when less is in use than the status says; unset: it is not
  };

  void on_quota(const View& view, const Delta& delta, Keys& keys) const {
    keys.push_back(delta.key);
    const bool any = !view.keys_in(Kind::Other, delta.key.ns, quotas()).empty();
    if (!any) {
      namespaces_.erase(delta.key.ns);
      return;
    }
    const auto [added, is_new] = namespaces_.try_emplace(delta.key.ns);
    if (!is_new) return;
    for (const ServedResource& served : resources_) {
      if (!is_counted(served)) continue;
      const api::Kind kind = api::kind_of_resource(served.resource.group, served.resource.resource);
      for (const api::ObjectKey& key : view.keys_in(kind, delta.key.ns, served.resource))
        if (const auto object = view.find(key))
          if (auto charge = charge_of(served.resource, *object))
            added->second.emplace(key, std::move(*charge));
    }
  }

  void on_object(const View& view, const api::ResourceRef& resource, const Delta& delta, Keys& keys) const {
    const auto in_namespace = namespaces_.find(delta.key.ns);
    if (in_namespace == namespaces_.end()) return;
    Charges& charges = in_namespace->second;
    const auto known = charges.find(delta.key);
    std::optional<api::QuotaCharge> next = delta.after ? charge_of(resource, *delta.after) : std::nullopt;
    if (known == charges.end() ? !next : next && known->second == *next) return;
    if (next)
      charges.insert_or_assign(delta.key, std::move(*next));
    else
      charges.erase(known);
    for (api::ObjectKey& quota : view.keys_in(Kind::Other, delta.key.ns, quotas()))
      keys.push_back(std::move(quota));
  }

  static api::ResourceMap used_of(const Charges& charges, const Parsed& quota, const Json& hard) {
    api::ResourceMap used;
    if (!hard.is_object()) return used;
    for (const JsonMember& limit : hard.as_object()) used[limit.key] = Quantity();
    for (const auto& [key, charge] : charges) {
      if (!api::is_in_scopes(charge, quota.spec())) continue;
      for (const auto& [name, quantity] : charge.amounts)
        if (const auto counted = used.find(name); counted != used.end()) counted->second += quantity;
    }
    return used;
  }

  static std::optional<Time> waits_until(const Parsed& quota, const api::ResourceMap& used, Pacing& pacing,
                                         Time now) {
    if (pacing.version != quota.meta.resource_version) {
      pacing.version = quota.meta.resource_version;
      pacing.version_since = now;
    }
    const api::ResourceMap standing = api::decode_resource_map(quota.status().find("used"));
    const bool lower = std::any_of(standing.begin(), standing.end(), [&](const auto& entry) {
      const auto counted = used.find(entry.first);
      return counted != used.end() && counted->second < entry.second;
    });
    if (!lower) {
      pacing.lower_since = Time();
      return std::nullopt;
    }
    if (!pacing.lower_since.is_set()) pacing.lower_since = now;
    const Time due = std::min(pacing.version_since + kChargeGrace, pacing.lower_since + kCorrectionDelayMax);
    return now < due ? std::optional(due) : std::nullopt;
  }

  static void write(const Parsed& quota, const Json& hard, const api::ResourceMap& used, Effects& effects) {
    const Json &status = quota.status(), &standing = status.part("used");
    Json counted = Json::object();
    for (const auto& [name, quantity] : used) counted[name] = quantity.text();
    const api::ResourceMap before = api::decode_resource_map(&standing);
    const Json limits = hard.is_object() ? hard : Json::object();
    const bool same_limits =
        status.part("hard") == hard || (limits.as_object().empty() && !status.find("hard"));
    if (same_limits && before == used) return;
    Json patch = Json::object();
    patch["status"]["hard"] = replaced(status.part("hard"), limits);
    patch["status"]["used"] = replaced(standing, std::move(counted));
    effects.chains.push_back({quota.key,
                              {client::merge_patch(quota.key, std::move(patch), quota.meta.uid,
                                                   quota.meta.resource_version, "status")}});
  }

  const std::vector<ServedResource> resources_;
  std::map<api::ObjectKey, Pacing> pacing_;  // of quotas that exist
  // What each object of a namespace with a quota counts. Engines tell changes through const interests.
  mutable std::map<std::string, Charges, std::less<>> namespaces_;
};

}  // namespace

std::unique_ptr<client::Reconciler> make_resource_quota() {
  return std::make_unique<ResourceQuotas>(watched_resources());
}

}  // namespace berth::controllers
