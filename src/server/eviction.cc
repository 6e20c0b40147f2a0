#include "server/eviction.h"

#include <algorithm>
#include <utility>

#include "api/evictions.h"
#include "api/selectors.h"
#include "api/types/meta.h"
#include "server/conditions.h"
#include "server/deletion.h"
#include "server/metadata.h"

namespace berth::server {
namespace {

constexpr int kRetryAfterS = 10;
// Evictions that the controller of the budgets has not confirmed: entries of one status.disruptedPods.
constexpr std::size_t kDisruptedPodsMax = 2000;
constexpr int kEvictionTriesMax = 20;  // of one request, after writes of others
constexpr std::string_view kDisruptionAllowed = "DisruptionAllowed";

ApiStatus refused_by_budget(std::string cause, int retry_after_s) {
  return {.code = 429,
          .reason = "TooManyRequests",
          .message = "Cannot evict pod as it would violate the pod's disruption budget.",
          .has_details = true,
          .causes = {{"DisruptionBudget", std::move(cause), ""}},
          .retry_after_s = retry_after_s};
}

std::string said_of(std::string_view budget, std::string_view what) {
  return std::string("The disruption budget ").append(budget).append(" ").append(what);
}

ApiStatus not_processed(std::string_view budget) {
  return refused_by_budget(said_of(budget, "is still being processed by the server."), kRetryAfterS);
}

ApiStatus forbidden_by(std::string_view budget, std::string_view why, std::string_view cause) {
  ApiStatus status = forbidden({"policy", "poddisruptionbudget"}, budget, why);
  status.causes.push_back({"DisruptionBudget", said_of(budget, cause), ""});
  return status;
}

// Why a budget without disruptions left refuses.
std::string shortage_of(const Json& budget) {
  const std::string_view name = metadata_of(budget).string_at("name");
  const Json& status = budget.part("status");
  const Json* condition = find_condition(status, kDisruptionAllowed);
  const std::string message(
      condition && condition->string_at("status") == "False" ? condition->string_at("message") : "");
  const std::string reason(condition ? condition->string_at("reason") : "");
  const std::string refuses = "does not allow evicting pods currently";
  if (!message.empty() && reason == "SyncFailed")
    return said_of(name, refuses + " because it failed sync: " + message);
  const std::int64_t desired = status.int_at("desiredHealthy"), current = status.int_at("currentHealthy");
  if (current <= desired)
    return said_of(name, "needs " + std::to_string(desired) + " healthy pods and has " +
                             std::to_string(current) + " currently");
  if (!message.empty()) return said_of(name, refuses + " (" + reason + "): " + message);
  return said_of(name, refuses);
}

ApiResult<void> check_room(const Json& budget) {
  const api::DisruptionBudget decoded = api::decode_disruption_budget(budget, nullptr);
  const std::string_view name = decoded.meta.name;
  if (!api::is_processed(decoded)) return not_processed(name);
  const std::int64_t allowed = decoded.disruptions_allowed;
  if (allowed < 0)
    return forbidden_by(name, "pdb disruptions allowed is negative",
                        "does not allow evicting pods currently: pdb disruptions allowed is negative");
  if (decoded.disrupted.size() > kDisruptedPodsMax)
    return forbidden_by(
        name, "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
        "does not allow evicting pods currently: too many pending evictions not confirmed by PDB controller");
  if (allowed == 0) return refused_by_budget(shortage_of(budget), 0);
  return {};
}

// Replaces the condition of this type; the time of its last transition stays while its status does.
void set_condition(Json& object, Json wanted, Time now) {
  Json& standing = condition_place(object, wanted.string_at("type"));
  const bool stays = standing.string_at("status") == wanted.string_at("status");
  wanted["lastTransitionTime"] = stays ? Json(standing.string_at("lastTransitionTime")) : format_time(now);
  standing = std::move(wanted);
}

ApiResult<Json> with_disruption(const ObjectTarget& target, const Json& budget, const std::string& pod,
                                Time now) {
  TRY(check_room(budget));
  Json next = budget;
  Json& status = next["status"];
  const std::int64_t left = status.int_at("disruptionsAllowed") - 1;
  status["disruptionsAllowed"] = left;
  status["disruptedPods"][pod] = format_time(now);
  if (left == 0)
    set_condition(next,
                  Json::object({{"type", kDisruptionAllowed},
                                {"status", "False"},
                                {"observedGeneration", status.int_at("observedGeneration")},
                                {"reason", "InsufficientPods"},
                                {"message", ""}}),
                  now);
  return canonical(target, std::move(next), budget);
}

// One eviction, until it is answered. Every attempt decides anew from what is stored.
class Eviction : public std::enable_shared_from_this<Eviction> {
 public:
  Eviction(Registry& registry, ObjectTarget pod, DeleteOptions options, Done done)
      : registry_(registry), pod_(std::move(pod)), asked_(std::move(options)), done_(std::move(done)) {}

  void attempt() { answer_refusal(try_once(), done_); }

 private:
  ApiResult<void> try_once();
  std::vector<Json> budgets_of(const Json& pod) const;
  void take_from(const std::string& budget);
  // `only_version`: the eviction rests on this version of the pod; 0 for any.
  void end_pod(store::Revision only_version);
  void delete_pod(DeleteOptions options, bool decided_on_version);
  void attempt_again(ApiStatus otherwise);

  Registry& registry_;
  const ObjectTarget pod_;
  const DeleteOptions asked_;
  const Done done_;
  std::string budget_;  // of the latest attempt
  int tries_left_ = kEvictionTriesMax;
};

ApiResult<void> Eviction::try_once() {
  const store::ObjectPtr stored = registry_.store().get(key_of(pod_));
  if (!stored) return not_found(pod_.resource_name(), pod_.name);
  const Result<Json> pod = registry_.document_of(*stored);
  if (!pod) return internal_error("stored object does not parse");
  budget_.clear();
  const std::string_view phase = pod->part("status").string_at("phase");
  if (api::is_evicted_freely(phase, is_deleting(*pod))) {
    const bool may_become_ready = phase == "Pending" && !is_deleting(*pod);
    end_pod(may_become_ready ? stored->revision : 0);
    return {};
  }
  const std::vector<Json> budgets = budgets_of(*pod);
  if (budgets.size() > 1)
    return plain_error(
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.");
  if (budgets.empty()) {
    end_pod(0);
    return {};
  }
  budget_ = metadata_of(budgets.front()).string_at("name");
  if (!condition_is_true(pod->part("status"), "Ready") &&
      api::lets_unready_pods_go(api::decode_disruption_budget(budgets.front(), nullptr)))
    end_pod(stored->revision);
  else
    take_from(budget_);
  return {};
}

std::vector<Json> Eviction::budgets_of(const Json& pod) const {
  std::vector<Json> found;
  for (const store::ObjectPtr& candidate : registry_.stored("poddisruptionbudgets.policy", pod_.ns)) {
    Json budget = registry_.document_of(*candidate).value_or(Json::object());
    const Result<api::LabelSelector> selector = api::LabelSelector::of(budget.part("spec").part("selector"));
    if (selector && selector->matches(metadata_of(std::as_const(pod)).find("labels")))
      found.push_back(std::move(budget));
  }
  return found;
}

void Eviction::take_from(const std::string& budget) {
  const ObjectTarget target{api::find_resource("policy", "v1", "poddisruptionbudgets"), pod_.ns, budget,
                            "status"};
  WriteOptions options;
  options.dry_run = asked_.dry_run;
  options.in_process = true;
  const Time now = registry_.dependencies().clock.now();
  registry_.modify(
      target,
      [target, name = pod_.name, now](const Json& current) {
        return with_disruption(target, current, name, now);
      },
      std::move(options),
      [self = shared_from_this()](ApiResult<Answer> taken) {
        if (taken) return self->end_pod(0);
        const std::string& reason = taken.error().reason;
        if (reason != "Conflict" && reason != "NotFound") return self->done_(taken.error());
        self->attempt_again(not_processed(self->budget_));
      });
}

void Eviction::end_pod(store::Revision only_version) {
  DeleteOptions options = asked_;
  const bool decided_on_version = only_version != 0 && options.resource_version.empty();
  if (decided_on_version) options.resource_version = std::to_string(only_version);
  if (options.dry_run) return delete_pod(std::move(options), decided_on_version);
  ObjectTarget target = pod_;
  target.subresource = "status";
  WriteOptions write;
  write.in_process = true;
  const Time now = registry_.dependencies().clock.now();
  registry_.modify(
      target,
      [target, options, now](const Json& current) -> ApiResult<Json> {
        store::Object found;
        found.uid = metadata_of(current).string_at("uid");
        found.revision = static_cast<store::Revision>(
            api::to_int(metadata_of(current).string_at("resourceVersion")).value_or(0));
        TRY(check_preconditions(target, options, found));
        Json pod = current;
        set_condition(pod,
                      Json::object({{"type", api::kDisruptionTarget},
                                    {"status", "True"},
                                    {"lastProbeTime", Json()},
                                    {"reason", api::kEvictionByEvictionApi},
                                    {"message", "Eviction API: evicting"}}),
                      now);
        return canonical(target, std::move(pod), current);
      },
      std::move(write),
      [self = shared_from_this(), options, decided_on_version](ApiResult<Answer> marked) mutable {
        if (!marked && decided_on_version && marked.error().reason == "Conflict")
          return self->attempt_again(marked.error());
        if (!marked || !marked->object) return self->done_(std::move(marked));
        if (!options.resource_version.empty())
          options.resource_version = std::to_string(marked->object->revision);
        self->delete_pod(std::move(options), decided_on_version);
      });
}

void Eviction::delete_pod(DeleteOptions options, bool decided_on_version) {
  registry_.remove(pod_, std::move(options), {},
                   [self = shared_from_this(), decided_on_version](ApiResult<Answer> deleted) {
                     if (!deleted && decided_on_version && deleted.error().reason == "Conflict")
                       return self->attempt_again(deleted.error());
                     self->done_(std::move(deleted));
                   });
}

void Eviction::attempt_again(ApiStatus otherwise) {
  if (--tries_left_ > 0)
    return registry_.dependencies().executor.post([self = shared_from_this()] { self->attempt(); });
  done_(budget_.empty() ? std::move(otherwise) : not_processed(budget_));
}

}  // namespace

void evict_pod(Registry& registry, ObjectTarget pod, DeleteOptions options, Done done) {
  std::make_shared<Eviction>(registry, std::move(pod), std::move(options), std::move(done))->attempt();
}

}  // namespace berth::server
