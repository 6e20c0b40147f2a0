#include "server/quota_charges.h"

#include <algorithm>
#include <set>

#include "server/metadata.h"
#include "server/object_versions.h"
#include "server/registry.h"
#include "server/write_errors.h"

namespace berth::server {
namespace {

constexpr const char* kQuotasPlural = "resourcequotas";
constexpr std::size_t kBatchMax = 1024;  // creates that are charged together
constexpr int kChargeTriesMax = 8;       // batches that lost a race with another write of a quota

const api::ResourceInfo& quota_row() {
  static const api::ResourceInfo& row = *api::find_resource("", "v1", kQuotasPlural);
  return row;
}

// "pods=1,secrets=2", of these names.
std::string text_of(const api::ResourceMap& amounts, const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    const auto found = amounts.find(name);
    if (!text.empty()) text += ",";
    text += name + "=" + (found == amounts.end() ? "0" : found->second.text());
  }
  return text;
}

}  // namespace

struct QuotaCharges::Waiting {
  ObjectTarget target;
  api::QuotaCharge charge;
  api::UnsetAmounts unset;
  bool dry_run = false;
  std::function<void(ApiResult<void>)> then;
  std::string refusal;  // after the judgement; empty: charged
};

// A quota as it is stored, and as the batch charges it.
struct QuotaCharges::Quota {
  std::string name, version;
  Json spec;
  api::ResourceMap hard, used;  // of its status
  bool is_charged = false;

  // Why the object may not be created; empty where it may.
  std::string refuses(const Waiting& waiting) const {
    const std::vector<std::string> names = limited_names(waiting);
    if (names.empty()) return "";
    if (const std::string missing = api::missing_amounts(waiting.unset, hard); !missing.empty())
      return "failed quota: " + name + ": must specify " + missing;
    std::vector<std::string> exceeded;
    for (const std::string& limited : names) {
      const Quantity& amount = waiting.charge.amounts.at(limited);
      if (!amount.is_zero() && used.at(limited) + amount > hard.at(limited)) exceeded.push_back(limited);
    }
    if (exceeded.empty()) return "";
    return "exceeded quota: " + name + ", requested: " + text_of(waiting.charge.amounts, exceeded) +
           ", used: " + text_of(used, exceeded) + ", limited: " + text_of(hard, exceeded);
  }

  void add(const Waiting& waiting) {
    for (const std::string& limited : limited_names(waiting)) {
      const Quantity& amount = waiting.charge.amounts.at(limited);
      used[limited] += amount;
      is_charged |= !amount.is_zero();
    }
  }

  // What the object counts and this quota limits, of what has been counted.
  std::vector<std::string> limited_names(const Waiting& waiting) const {
    std::vector<std::string> names;
    if (!api::is_in_scopes(waiting.charge, spec)) return names;
    for (const auto& [limited, amount] : waiting.charge.amounts)
      if (hard.contains(limited) && used.contains(limited)) names.push_back(limited);
    return names;
  }
};

struct QuotaCharges::Batch {
  std::string ns;
  std::deque<Waiting> creates;
  std::vector<Quota> quotas;
  std::size_t next_write = 0;  // of `quotas`
  int tries_left = kChargeTriesMax;
};

QuotaCharges::QuotaCharges(Registry& registry) : registry_(registry) {}
QuotaCharges::~QuotaCharges() = default;

bool QuotaCharges::concern(const ObjectTarget& target) const {
  if (!target.resource->namespaced || target.resource->plural == "events") return false;
  if (registry_.store().count(kQuotasPlural) == 0) return false;
  return !registry_.stored(kQuotasPlural, target.ns, 1).empty();
}

void QuotaCharges::charge(const ObjectTarget& target, const Json& object, bool dry_run,
                          std::function<void(ApiResult<void>)> then) {
  const api::ResourceInfo& resource = *target.resource;
  Waiting waiting{
      target, api::quota_charge(resource.group, resource.plural, object), {}, dry_run, std::move(then), ""};
  if (waiting.charge.is_pod) waiting.unset = api::unset_amounts(object);
  std::optional<Waiting> refused;
  {
    const std::lock_guard lock(mutex_);
    const auto [entry, is_first] = waiting_.try_emplace(target.ns);
    if (entry->second.size() < kQuotaWaitingMax)
      entry->second.push_back(std::move(waiting));
    else
      refused = std::move(waiting);
    if (!is_first && !refused) return;
  }
  if (refused) return refused->then(too_many_requests());
  run(target.ns);
}

void QuotaCharges::run(const std::string& ns) {
  auto batch = std::make_shared<Batch>();
  batch->ns = ns;
  {
    const std::lock_guard lock(mutex_);
    std::deque<Waiting>& waiting = waiting_[ns];
    while (!waiting.empty() && batch->creates.size() < kBatchMax) {
      batch->creates.push_back(std::move(waiting.front()));
      waiting.pop_front();
    }
    if (batch->creates.empty()) waiting_.erase(ns);
  }
  if (!batch->creates.empty()) judge(batch);
}

std::vector<QuotaCharges::Quota> QuotaCharges::quotas_of(const std::string& ns) const {
  std::vector<Quota> quotas;
  for (const store::ObjectPtr& object : registry_.stored(kQuotasPlural, ns)) {
    const Result<Json> document = registry_.document_of(*object);
    if (!document) continue;
    const Json& status = document->part("status");
    Quota quota{std::string(metadata_of(*document).string_at("name")),
                std::to_string(object->revision),
                document->part("spec"),
                {},
                {},
                false};
    quota.hard = api::decode_resource_map(status.find("hard"));
    quota.used = api::decode_resource_map(status.find("used"));
    quotas.push_back(std::move(quota));
  }
  return quotas;
}

void QuotaCharges::judge(const std::shared_ptr<Batch>& batch) {
  batch->quotas = quotas_of(batch->ns);
  batch->next_write = 0;
  for (Waiting& create : batch->creates) {
    create.refusal.clear();
    for (const Quota& quota : batch->quotas)
      if (create.refusal.empty()) create.refusal = quota.refuses(create);
    if (!create.refusal.empty() || create.dry_run) continue;
    for (Quota& quota : batch->quotas) quota.add(create);
  }
  write(batch);
}

// One quota after the other. Where another write was faster, the whole batch is judged again; what it charged
// before stays charged until the controller counts.
void QuotaCharges::write(const std::shared_ptr<Batch>& batch) {
  std::vector<Quota>& quotas = batch->quotas;
  while (batch->next_write < quotas.size() && !quotas[batch->next_write].is_charged) ++batch->next_write;
  if (batch->next_write == quotas.size()) return answer(batch);
  const Quota& quota = quotas[batch->next_write++];
  Json used = Json::object();
  for (const auto& [name, amount] : quota.used) used[name] = amount.text();
  WriteOptions options;
  options.in_process = true;
  const ObjectTarget target{&quota_row(), batch->ns, quota.name, "status"};
  const auto charged = [used, version = quota.version, target](const Json& current) -> ApiResult<Json> {
    if (metadata_of(current).string_at("resourceVersion") != version)
      return stale(target.resource_name(), target.name);
    Json next = current;
    next["status"]["used"] = used;
    return next;
  };
  registry_.modify(target, charged, options, [this, batch, target](const ApiResult<Answer>& written) {
    const bool again = !written && --batch->tries_left > 0;
    post_for(target, registry_.dependencies().executor, [this, batch, again, ok = written.ok()] {
      if (again) return judge(batch);
      if (ok) return write(batch);
      for (Waiting& create : batch->creates)
        if (create.refusal.empty())
          create.refusal = "a quota changed too often while it was charged; try again";
      answer(batch);
    });
  });
}

void QuotaCharges::answer(const std::shared_ptr<Batch>& batch) {
  for (Waiting& create : batch->creates) {
    ApiResult<void> result;
    if (!create.refusal.empty())
      result = forbidden(create.target.resource_name(), create.target.name, create.refusal);
    create.then(std::move(result));
  }
  // Not inline: a series of refusals would nest.
  post_for(batch->creates.front().target, registry_.dependencies().executor,
           [this, ns = batch->ns] { run(ns); });
}

}  // namespace berth::server
