// Answers ResourcePoolStatusRequests, each once. Source: KEP-5677.
#include <algorithm>

#include "api/serialized.h"
#include "controllers/controllers.h"
#include "controllers/pool_status.h"
#include "workloads/objects.h"

namespace berth::controllers {
namespace {

constexpr Duration kAnswerLife = Duration::minutes(60);
constexpr std::int64_t kPoolsDefault = 100;

const api::ResourceRef& pool_status_requests() {
  static const api::ResourceRef kRef{"resource.k8s.io", "v1alpha3", "resourcepoolstatusrequests"};
  return kRef;
}

// Few slices name one, and only those of partitions, so others are not parsed.
std::string partition_attribute(const api::ResourceSlice& slice) {
  const bool has_partitions = !slice.shared_counters.empty() ||
                              std::any_of(slice.devices.begin(), slice.devices.end(),
                                          [](const api::Device& device) { return !device.consumes.empty(); });
  if (!has_partitions || !slice.raw) return "";
  const Result<Json> document = api::parse_object(*slice.raw, api::ManagedFields::Skip);
  return document ? std::string(document->part("spec").string_at("partitionTypeAttribute")) : "";
}

// The pools of a driver by name, with their newest slices; only the named one unless `only` is empty.
std::map<std::string, PoolContents> pools_of(const View& view, std::string_view driver,
                                             std::string_view only) {
  std::map<std::string, PoolContents> pools;
  for (const auto& [key, slice] : view.slices.all()) {
    if (slice->driver != driver || (!only.empty() && slice->pool != only)) continue;
    std::vector<PoolSlice>& slices = pools[slice->pool].slices;
    const std::int64_t newest = slices.empty() ? slice->generation : slices.front().slice->generation;
    if (slice->generation < newest) continue;
    if (slice->generation > newest) slices.clear();
    slices.push_back({slice.get(), partition_attribute(*slice)});
  }
  for (const auto& [key, claim] : view.claims.all()) {
    if (!claim->allocation) continue;
    for (const api::DeviceResult& result : claim->allocation->results) {
      const auto pool = pools.find(result.pool);
      if (result.driver != driver || result.admin_access || pool == pools.end()) continue;
      pool->second.use.devices.insert(result.device);
      for (const auto& [name, amount] : result.consumed_capacity) {
        const auto [sum, is_first] = pool->second.use.consumed.try_emplace(name, amount);
        if (!is_first) sum->second += amount;
      }
    }
  }
  return pools;
}

Json answer_to(const View& view, const Json& spec, Time now) {
  client::TaintRuleList rules;
  for (const auto& [key, rule] : view.taint_rules.all()) rules.push_back(rule.get());
  const auto pools = pools_of(view, spec.string_at("driver"), spec.string_at("poolName"));
  const auto limit = static_cast<std::size_t>(spec.int_at("limit", kPoolsDefault));
  JsonArray shown;
  std::size_t with_errors = 0;
  for (const auto& [name, pool] : pools) {
    if (shown.size() == limit) break;
    shown.push_back(pool_status(pool, rules, spec.string_at("defaultPartitionTypeAttribute")));
    with_errors += shown.back().find("validationError") != nullptr;
  }
  std::string message = "Calculated status for " + std::to_string(shown.size()) + " pools";
  if (with_errors > 0) message += " (" + std::to_string(with_errors) + " incomplete)";
  Json status = Json::object({{"poolCount", static_cast<std::int64_t>(pools.size())}});
  if (!shown.empty()) status["pools"] = std::move(shown);
  status["conditions"] = Json::array({Json::object({{"type", "Complete"},
                                                    {"status", "True"},
                                                    {"reason", "CalculationComplete"},
                                                    {"message", std::move(message)},
                                                    {"lastTransitionTime", format_time(now)}})});
  return status;
}

class ResourcePoolStatus final : public client::Reconciler {
 public:
  std::string_view name() const override { return "resourcepoolstatusrequest-controller"; }

  std::vector<client::Interest> interests() const override {
    const auto none = [](const View&, const Delta&, Keys&) {};
    client::Interest requests = client::itself(Kind::Other);
    requests.resource = pool_status_requests();
    return {std::move(requests),
            {Kind::ResourceSlice, {}, none},
            {Kind::ResourceClaim, {}, none},
            {Kind::DeviceTaintRule, {}, none}};
  }

  Effects reconcile(const View& view, const api::ObjectKey& key, Time now) override {
    const auto request = workloads::find_parsed(view, key);
    if (!request || request->meta.deleting()) return Effects::nothing();
    if (!request->status().is_object())
      return Effects::write(
          key, client::merge_patch(key, Json::object({{"status", answer_to(view, request->spec(), now)}}),
                                   request->meta.uid, request->meta.resource_version, "status"));
    const Time end = answered_at(*request) + kAnswerLife;
    if (now >= end) return Effects::write(key, client::delete_object(key, request->meta.uid));
    Effects effects;
    effects.wake_at = end;
    return effects;
  }

 private:
  static Time answered_at(const workloads::Parsed& request) {
    for (const Json& condition : request.status().items_at("conditions"))
      if (const std::string_view type = condition.string_at("type"); type == "Complete" || type == "Failed")
        return api::decode_time(condition.string_at("lastTransitionTime"));
    return request.meta.created;
  }
};

}  // namespace

std::unique_ptr<client::Reconciler> make_resource_pool_status() {
  return std::make_unique<ResourcePoolStatus>();
}

}  // namespace berth::controllers
