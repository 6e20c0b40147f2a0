// The verbs of the API on stored objects: create, update, patch, delete, get; one implementation for every
// kind.
//
// api/kind_rules.h has the differences between kinds. Thread-safe; every call may run on any pool thread.
// Responses to writes come on the store's committer thread and must only be enqueued.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "admission/webhook.h"
#include "api/kind_rules.h"
#include "base/clock.h"
#include "base/executor.h"
#include "base/random.h"
#include "server/answer.h"
#include "server/object_target.h"
#include "server/quota_charges.h"
#include "server/recent_documents.h"
#include "server/service_allocations.h"
#include "server/write_options.h"
#include "store/store.h"

namespace berth::api {
class Admission;
class Gates;
}  // namespace berth::api

namespace berth::server {

inline constexpr int kUpdateTriesMax = 8;        // lost races of one update without a resourceVersion
inline constexpr int kGenerateNameTriesMax = 8;  // taken names of one generateName

class Access;
class AdmissionWebhooks;
class CertificateSigner;
class FlowControl;
class TokenSecrets;
struct AdmissionWrite;

// Who else may still need an owner that is being deleted in the foreground.
class ForegroundHold {
 public:
  virtual ~ForegroundHold() = default;
  // Asked when a loop of this process is about to remove the finalizer, because the dependents that it knows
  // of are gone. True keeps it; then the holder has to remove it. Any thread.
  virtual bool holds(const ObjectTarget& target, const store::Object& owner) = 0;
};

class Registry {
 public:
  struct Dependencies {
    store::Store& store;
    Executor& executor;
    Clock& clock;
    Random& random;
    const api::Gates& gates;
    api::CelCheck check_cel;
    // In addition to the rules of the kind; outlives the registry. Null: none.
    const api::Admission* pod_admission = nullptr;
  };
  Registry(Dependencies dependencies, std::size_t recent_documents_bytes)
      : dependencies_(dependencies), recent_(std::make_shared<RecentDocuments>(recent_documents_bytes)) {}

  // `body`: a canonical document of the storage version.
  void create(ObjectTarget target, Json body, WriteOptions options, Done done);
  // Replaces the object, or creates it where the kind allows that.
  void update(ObjectTarget target, Json body, WriteOptions options, Done done);
  // Turns the current document into the wanted one; called again after a concurrent write.
  using Change = std::function<ApiResult<Json>(const Json& current)>;
  void modify(ObjectTarget target, Change change, WriteOptions options, Done done);
  void remove(ObjectTarget target, DeleteOptions options, WriteOptions write_options, Done done);

  ApiResult<Answer> get(const ObjectTarget& target) const;
  // Objects of the newest state, by ns and name: at most `limit` (0: all) of one namespace (empty: of all).
  // `resource`: as the store names it. Cost: O(objects), a pointer each.
  std::vector<store::ObjectPtr> stored(std::string_view resource, std::string_view ns = {},
                                       std::size_t limit = 0) const;
  // Those whose bytes contain `text`. Cost: a search of the bytes of all.
  std::vector<store::ObjectPtr> stored_with(std::string_view resource, std::string_view text) const;
  // The document of a stored version. Refuses bytes that are no JSON.
  Result<Json> document_of(const store::Object& object) const { return recent_->document_of(object); }

  // `hold` outlives every write. Before the first one.
  void set_foreground_hold(ForegroundHold& hold) { foreground_hold_ = &hold; }
  // The same; without them no webhook is called.
  void set_admission_webhooks(AdmissionWebhooks& webhooks) { webhooks_ = &webhooks; }
  // The same; without it everyone who may write a role may grant anything.
  void set_access(Access& access) { access_ = &access; }
  // The same; it hears of writes.
  void set_certificate_signer(CertificateSigner& signer) { signer_ = &signer; }
  void set_token_secrets(TokenSecrets& secrets) { token_secrets_ = &secrets; }
  void set_flow_control(FlowControl& flows) { flows_ = &flows; }
  // For pods that are created from then on; any thread, at any time.
  void set_pod_accounts(api::PodAccounts accounts) { pod_accounts_ = accounts; }

  // Passes the body of a subresource that is no part of the object (Binding, Eviction) through the webhooks.
  // Calls `then` with their result, or a refusal; inline when no webhook may see it.
  void admit_body(ObjectTarget target, const api::TypeInfo& type, Json body, const WriteOptions& options,
                  std::function<void(ApiResult<Json>)> then);

  store::Store& store() const { return dependencies_.store; }
  const Dependencies& dependencies() const { return dependencies_; }

 private:
  struct Creation;  // one create, with its tries of generated names
  struct Update;    // one update, with its retries
  struct Removal;   // one delete, with its retries

  // One attempt of each: an accepted one answers by itself.
  ApiResult<void> try_create(const std::shared_ptr<Creation>& creation);
  ApiResult<void> check_create(const std::shared_ptr<Creation>& creation);
  ApiResult<void> charge_create(const std::shared_ptr<Creation>& creation);
  ApiResult<void> finish_create(const std::shared_ptr<Creation>& creation);
  ApiResult<void> try_update(const std::shared_ptr<Update>& update);
  ApiResult<void> check_update(const std::shared_ptr<Update>& update);
  ApiResult<void> finish_update(const std::shared_ptr<Update>& update);
  ApiResult<void> create_instead(const std::shared_ptr<Update>& update);
  ApiResult<void> try_remove(const std::shared_ptr<Removal>& removal);
  ApiResult<void> finish_remove(const std::shared_ptr<Removal>& removal);

  // The webhooks between these steps: each calls them, or continues at once when none may see the write.
  ApiResult<void> mutate_create(const std::shared_ptr<Creation>& creation);
  ApiResult<void> validate_create(const std::shared_ptr<Creation>& creation);
  ApiResult<void> mutate_update(const std::shared_ptr<Update>& update);
  ApiResult<void> validate_update(const std::shared_ptr<Update>& update);
  ApiResult<void> ask_about_removal(const std::shared_ptr<Removal>& removal);
  ApiResult<void> take_created(const std::shared_ptr<Creation>& creation, Json object);
  void take_updated(Update& update, Json object) const;
  std::optional<AdmissionWrite> update_write(const Update& update, admission::Phase phase) const;
  bool may_see(admission::Phase phase, const ObjectTarget& target, const WriteOptions& options) const;

  ApiResult<void> check_namespace(const ObjectTarget& target) const;
  // Whether the update takes the finalizer away that another one needs (ForegroundHold).
  bool is_held(const Update& update, const store::Object& current, const Json& before,
               const Json& next) const;
  // Null when it looks at no objects of this resource.
  const api::Admission* admission_of(const ObjectTarget& target) const;
  // The object with the changes of the kind's admission, and of pod_admission; with defaults and canonical.
  ApiResult<Json> admitted(const Creation& creation, Json object) const;
  ApiResult<Json> mutated(const ObjectTarget& target, const api::Admission& admission, Json object) const;
  std::string generated_name(const Json& object) const;
  ApiResult<void> submit_create(std::shared_ptr<Creation> creation);
  ApiStatus name_is_taken(const ObjectTarget& target) const;

  // In the shape of the request's version.
  ApiResult<Json> current_document(const ObjectTarget& target, const store::ObjectPtr& current) const;
  void attempt_update(const std::shared_ptr<Update>& update);
  // The kind's admission of an update, unless it is one of the status.
  ApiResult<void> admit(const Update& update, Json& next, const Json& before) const;
  ApiResult<void> apply_rules(Update& update, Json& next, const Json& before);
  void submit_update(std::shared_ptr<Update> update, store::WriteRequest write, Json written,
                     std::string last_state);

  void attempt_removal(const std::shared_ptr<Removal>& removal);
  void submit_removal(std::shared_ptr<Removal> removal, store::WriteRequest write);

  api::RuleContext context(const ObjectTarget& target, const WriteOptions& options) const;
  // On the committer's thread, before the answer.
  void note_written(const ObjectTarget& target) const;
  void keep(const store::Object& object, Json written);

  ForegroundHold* foreground_hold_ = nullptr;
  AdmissionWebhooks* webhooks_ = nullptr;
  Access* access_ = nullptr;
  CertificateSigner* signer_ = nullptr;
  TokenSecrets* token_secrets_ = nullptr;
  FlowControl* flows_ = nullptr;
  std::atomic<api::PodAccounts> pod_accounts_{api::PodAccounts::AsGiven};
  QuotaCharges quota_charges_{*this};
  ServiceAllocations service_allocations_{*this};
  Dependencies dependencies_;
  std::shared_ptr<RecentDocuments> recent_;  // also used by writes in flight
};

}  // namespace berth::server
