// MutatingWebhookConfigurations, ValidatingWebhookConfigurations, and the admission policies of both phases,
// carried out.
//
// No thread waits for a webhook. The rest of a write runs when the answer has come, on the executor or on the
// lane of the definition that converts its objects. Without a configuration a write costs two atomic reads.
// Owner: ApiServer. Thread-safe. Bounds: those of WebhookCalls; kAdmissionTimeMax for the webhooks of one
// try. Source: pkg/admission/plugin/webhook of k8s.io/apiserver 1.37.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "admission/policy.h"
#include "admission/webhook.h"
#include "server/admission_metrics.h"
#include "server/admission_notes.h"
#include "server/object_target.h"
#include "server/webhook_calls.h"
#include "server/write_options.h"

namespace berth::server {

class Access;
class Registry;
class ServedResources;

inline constexpr Duration kAdmissionTimeMax = Duration::seconds(60);

// One write as webhooks see it. Its documents are those of the registry, or of `body_type` where the
// subresource has a type of its own (Binding, Eviction, Scale).
struct AdmissionWrite {
  ObjectTarget target;
  admission::Operation operation = admission::Operation::Create;
  std::shared_ptr<AdmissionNotes> notes;
  bool dry_run = false;
  Json options = {};  // DeleteOptions; those of other operations follow from the request
  Json object = {};   // null for a delete
  Json old = {};      // null for a create
  const api::TypeInfo* body_type = nullptr;
};

// The kind's own admission, again, over what webhooks have changed.
using AdmitAgain = std::function<ApiResult<Json>(Json object)>;
using Mutated = std::function<void(ApiResult<Json> object)>;
using Validated = std::function<void(ApiResult<void> allowed)>;

struct BoundPolicy {
  admission::PolicyPtr policy;
  std::vector<admission::PolicyBinding> bindings;  // by name
};

class AdmissionWebhooks {
 public:
  // The first three outlive it.
  AdmissionWebhooks(Registry& registry, Access& access, const ServedResources& served,
                    WebhookServices services);

  // Whether any webhook or policy of the phase may see such a write: most writes end here. A write without
  // notes is the server's own, which none sees.
  bool may_see(admission::Phase phase, const ObjectTarget& target, const WriteOptions& options);

  // Asks the policies, then calls the webhooks that see the write, one after the other. `done` gets the
  // object with their changes, or a refusal; inline when none sees it.
  void mutate(AdmissionWrite write, AdmitAgain admit_again, Mutated done);
  // Asks the policies, then calls the webhooks that see the write side by side. `done` gets the first refusal
  // by their order.
  void validate(AdmissionWrite write, Validated done);

  // A configuration was written: the next write is judged by it.
  void noted(const ObjectTarget& target);
  // About every 200 ms.
  void tick() { calls_.tick(); }
  void stop() { calls_.stop(); }
  void write_metrics(MetricsText& text) const { metrics_.write(text); }

 private:
  friend class AdmissionRun;
  friend class PolicyRun;
  using Hooks = std::vector<admission::WebhookPtr>;
  using HooksPtr = std::shared_ptr<const Hooks>;
  struct Compiled {
    store::Revision revision = 0;
    Hooks hooks;
  };

  using PoliciesPtr = std::shared_ptr<const std::vector<BoundPolicy>>;

  HooksPtr hooks(admission::Phase phase);
  // Null for none.
  PoliciesPtr policies(admission::Phase phase);
  void compile_again();
  Hooks compile(admission::Phase phase);
  std::vector<BoundPolicy> compile_policies(admission::Phase phase);
  std::vector<store::ObjectPtr> stored(std::string_view plural) const;

  Registry& registry_;
  Access& access_;
  const ServedResources& served_;
  const WebhookServices services_;
  WebhookCalls calls_;
  AdmissionMetrics metrics_;
  // Writes of configurations, and how many of them the compiled set has seen.
  std::atomic<std::uint64_t> written_{1}, compiled_to_{0};
  std::atomic<bool> has_hooks_[2] = {false, false};  // by phase
  std::mutex mutex_;
  HooksPtr hooks_[2];                            // by phase
  std::map<std::string, Compiled> compiled_[2];  // by phase and configuration
  PoliciesPtr policies_[2];                      // by phase; null for none
  // By phase and name.
  std::map<std::string, std::pair<store::Revision, admission::PolicyPtr>> compiled_policies_[2];
};

}  // namespace berth::server
