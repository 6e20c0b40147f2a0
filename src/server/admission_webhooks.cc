#include "server/admission_webhooks.h"

#include "admission/configuration_rules.h"
#include "admission/policy_rules.h"
#include "server/admission_mutation.h"
#include "server/registry.h"

namespace berth::server {
namespace {

constexpr std::size_t place_of(admission::Phase phase) {
  return static_cast<std::size_t>(phase);
}

}  // namespace

AdmissionWebhooks::AdmissionWebhooks(Registry& registry, Access& access, const ServedResources& served,
                                     WebhookServices services)
    : registry_(registry),
      access_(access),
      served_(served),
      services_(std::move(services)),
      calls_(registry.dependencies().executor) {}

void AdmissionWebhooks::noted(const ObjectTarget& target) {
  const bool configures =
      admission::phase_of(*target.resource) || admission::policy_kind_of(*target.resource);
  if (configures) ++written_;
}

bool AdmissionWebhooks::may_see(admission::Phase phase, const ObjectTarget& target,
                                const WriteOptions& options) {
  if (!options.notes) return false;
  if (compiled_to_ != written_) compile_again();
  const api::ResourceInfo& row = *target.resource;
  return has_hooks_[place_of(phase)] && !admission::is_exempt({row.group, row.version, row.kind});
}

// Whoever comes while it is compiled waits for the lock: an acknowledged configuration holds for every later
// write.
void AdmissionWebhooks::compile_again() {
  const std::lock_guard lock(mutex_);
  const std::uint64_t written = written_;
  if (compiled_to_ == written) return;
  for (const admission::Phase phase : {admission::Phase::Mutating, admission::Phase::Validating}) {
    auto made = std::make_shared<const Hooks>(compile(phase));
    std::vector<BoundPolicy> bound = compile_policies(phase);
    // Written once: a write that began before reads it at any moment, and must not find it false between.
    has_hooks_[place_of(phase)] = !bound.empty() || !made->empty();
    hooks_[place_of(phase)] = std::move(made);
    policies_[place_of(phase)] =
        bound.empty() ? nullptr : std::make_shared<const std::vector<BoundPolicy>>(std::move(bound));
  }
  compiled_to_ = written;
}

std::vector<store::ObjectPtr> AdmissionWebhooks::stored(std::string_view plural) const {
  return registry_.stored(std::string(plural) + "." + std::string(admission::kRegistrationGroup));
}

// A policy without a binding has no effect.
std::vector<BoundPolicy> AdmissionWebhooks::compile_policies(admission::Phase phase) {
  std::map<std::string, std::vector<admission::PolicyBinding>> bindings;  // by policy
  for (const store::ObjectPtr& object : stored(admission::plural_of({phase, true})))
    if (const Result<Json> document = registry_.document_of(*object)) {
      admission::PolicyBinding binding = admission::read_policy_binding(*document);
      bindings[binding.policy].push_back(std::move(binding));
    }
  std::vector<BoundPolicy> policies;
  auto before = std::exchange(compiled_policies_[place_of(phase)], {});
  for (const store::ObjectPtr& object : stored(admission::plural_of({phase, false}))) {
    const std::string& name = object->key.name;
    const auto bound = bindings.find(name);
    if (bound == bindings.end()) continue;
    const auto known = before.find(name);
    admission::PolicyPtr policy;
    if (known != before.end() && known->second.first == object->revision)
      policy = known->second.second;
    else if (const Result<Json> document = registry_.document_of(*object))
      policy = admission::read_policy(*document, phase);
    if (!policy) continue;
    compiled_policies_[place_of(phase)][name] = {object->revision, policy};
    policies.push_back({std::move(policy), std::move(bound->second)});
  }
  return policies;
}

AdmissionWebhooks::PoliciesPtr AdmissionWebhooks::policies(admission::Phase phase) {
  const std::lock_guard lock(mutex_);
  return policies_[place_of(phase)];
}

// The store lists by name, which is the order of configurations.
AdmissionWebhooks::Hooks AdmissionWebhooks::compile(admission::Phase phase) {
  Hooks hooks;
  std::map<std::string, Compiled> before = std::exchange(compiled_[place_of(phase)], {});
  for (const store::ObjectPtr& object : stored(plural_of(phase))) {
    const auto known = before.find(object->key.name);
    Compiled made;
    if (known != before.end() && known->second.revision == object->revision)
      made = std::move(known->second);
    else if (const Result<Json> document = registry_.document_of(*object))
      made = {object->revision, admission::read_webhooks(*document, phase)};
    hooks.insert(hooks.end(), made.hooks.begin(), made.hooks.end());
    compiled_[place_of(phase)].emplace(object->key.name, std::move(made));
  }
  return hooks;
}

AdmissionWebhooks::HooksPtr AdmissionWebhooks::hooks(admission::Phase phase) {
  const std::lock_guard lock(mutex_);
  return hooks_[place_of(phase)];
}

void AdmissionWebhooks::mutate(AdmissionWrite write, AdmitAgain admit_again, Mutated done) {
  std::unique_ptr<PolicyMutation> mutation;
  if (PoliciesPtr bound = policies(admission::Phase::Mutating))
    mutation = std::make_unique<PolicyMutation>(*this, write, std::move(bound));
  std::make_shared<MutatingRun>(*this, std::move(write), std::move(mutation), std::move(admit_again),
                                std::move(done))
      ->start();
}

void AdmissionWebhooks::validate(AdmissionWrite write, Validated done) {
  if (const PoliciesPtr bound = policies(admission::Phase::Validating))
    if (const ApiResult<void> allowed = PolicyValidation(*this, write).check(*bound); !allowed)
      return done(allowed);
  std::make_shared<ValidatingRun>(*this, std::move(write), std::move(done))->start();
}

}  // namespace berth::server
