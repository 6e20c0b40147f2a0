#include "controllers/patches.h"

#include <algorithm>

#include "api/evictions.h"
#include "base/safe_alphabet.h"
#include "base/stable_hash.h"

namespace berth::controllers {

namespace {

client::Write set_finalizers(const api::ObjectKey& key, const api::ObjectMeta& seen,
                             const std::vector<std::string>& finalizers) {
  Json patch = Json::object();
  patch["metadata"]["finalizers"] = api::to_json(finalizers);
  client::Write write = client::merge_patch(key, std::move(patch), seen.uid, seen.resource_version);
  write.fine_reasons = {"NotFound"};
  return write;
}

}  // namespace

client::Write drop_finalizer(const api::ObjectKey& key, const api::ObjectMeta& meta,
                             std::string_view finalizer) {
  std::vector<std::string> rest = meta.finalizers;
  std::erase(rest, finalizer);
  return set_finalizers(key, meta, rest);
}

client::Effects protect(const api::ObjectKey& key, const api::ObjectMeta& meta, std::string_view finalizer,
                        bool in_use) {
  const bool wanted = !meta.deleting() || in_use;
  if (meta.has_finalizer(finalizer) == wanted) return client::Effects::nothing();
  if (!wanted) return client::Effects::write(key, drop_finalizer(key, meta, finalizer));
  // The server refuses a new finalizer of what is deleted.
  if (meta.deleting()) return client::Effects::nothing();
  std::vector<std::string> all = meta.finalizers;
  all.emplace_back(finalizer);
  return client::Effects::write(key, set_finalizers(key, meta, all));
}

client::Write patch_status(const api::ObjectKey& key, Json status, std::string_view uid,
                           std::uint64_t if_version) {
  client::Write write =
      client::merge_patch(key, Json::object({{"status", std::move(status)}}), uid, if_version, "status");
  write.request.verb = client::Verb::StrategicPatch;
  return write;
}

Json with_condition(const api::Pod& pod, const api::Condition& wanted) {
  JsonArray order;
  for (const api::Condition& standing : pod.conditions)
    if (standing.type != wanted.type) order.push_back(Json::object({{"type", standing.type}}));
  order.push_back(Json::object({{"type", wanted.type}}));
  return Json::object({{"$setElementOrder/conditions", std::move(order)},
                       {"conditions", Json::array({api::to_json(wanted)})}});
}

client::Effects delete_disrupted(const api::ObjectKey& key, const api::Pod& pod, std::string_view reason,
                                 std::string_view message, Time now) {
  const api::Condition wanted{
      std::string(api::kDisruptionTarget), "True", std::string(reason), std::string(message), now, 0};
  client::Effects effects;
  effects.chains.push_back({key, {}});
  const api::Condition* standing = api::find_condition(pod.conditions, wanted.type);
  if (!standing || standing->status != "True" || standing->reason != wanted.reason)
    effects.then(patch_status(key, with_condition(pod, wanted), pod.meta.uid));
  effects.then(client::delete_object(key, pod.meta.uid));
  return effects;
}

std::string derived_name(std::string_view first, std::string_view second, std::string_view seed) {
  constexpr std::size_t kPartsBytesMax = 55, kHashCharacters = 5;
  if (first.size() + second.size() > kPartsBytesMax) {
    const std::size_t short_max = kPartsBytesMax / 2;
    const std::size_t first_max = std::max(short_max, kPartsBytesMax - std::min(second.size(), short_max));
    first = first.substr(0, first_max);
    second = second.substr(0, kPartsBytesMax - first.size());
  }
  return std::string(first) + "-" + std::string(second) + "-" +
         safe_digits(stable_hash(seed), kHashCharacters);
}

}  // namespace berth::controllers
