// The way of one write through the webhooks of a phase, and through the mutating policies before them.
//
// A run belongs to its own callbacks and ends with them. MutatingRun is on one thread at a time;
// ValidatingRun's calls come back on any threads. Source: the dispatchers of k8s.io/apiserver 1.37
// (mutating/dispatcher.go, validating/dispatcher.go, reinvocation.go).
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "admission/review.h"
#include "server/admission_versions.h"
#include "server/admission_webhooks.h"
#include "server/user_authorizer.h"

namespace berth::server {

// What both phases do for each webhook: whether it sees the write, its question, its answer.
class AdmissionRun {
 public:
  AdmissionRun(AdmissionWebhooks& owner, AdmissionWrite write, admission::Phase phase);

 protected:
  // The row of the version in which the webhook sees the object.
  using Seen = const api::ResourceInfo*;
  // Null: the write is not seen. Both refuse when that cannot be said and a failure must not pass.
  ApiResult<Seen> seen_through(const admission::MatchCriteria& match);
  ApiResult<Seen> seen_by(const admission::Webhook& webhook);
  // The Namespace of the write, which has one.
  ApiResult<Json> namespace_object() const;
  Json request_json(Seen seen) const;
  ApiResult<Json> shown(Seen seen, const Json& document) const;
  // The document of the write that a patch of `before`, which shown() returned, has made.
  ApiResult<Json> written(Seen seen, Json patched, const Json& before, UnknownMembers unknown) const;
  // What expressions ask about the user of the write; no longer than this run.
  cel::Value authorizer() const;

  struct Question {
    admission::WebhookPtr webhook;
    Seen seen = nullptr;
    Json object;  // as it was shown; null for a delete
    std::string uid;
    Time asked_at;
  };
  // What came of a call. A failure that failurePolicy ignores is an answer that changes nothing.
  struct Outcome {
    std::optional<ApiStatus> refusal;
    Json patch;
    bool is_failure = false;
  };
  using Judged = std::function<void(const Question& question, const Outcome& outcome)>;
  // `judged` runs once, where objects of the target may be converted; inline when there is nothing to call.
  void ask(Question question, Judged judged);

  void count(const Question& question, int code, Refusal refusal, bool failed_open = false);
  // Refuses in the name of the webhook.
  ApiStatus refuse(const Question& question, Refusal why, ApiStatus status);

  AdmissionWebhooks& owner_;
  AdmissionWrite write_;
  admission::Attributes attributes_;
  const AdmissionWebhooks::HooksPtr hooks_;
  const UserAuthorizer authorizer_;

 private:
  // Null, or why the webhook cannot be asked.
  std::optional<Outcome> problem_before(const Question& question);
  Outcome judge(const Question& question, const WebhookAnswer& answer);
  Outcome failed(const Question& question, std::string why, int code);
  ApiResult<bool> is_in_namespaces(const admission::MatchCriteria& match) const;
  bool is_among_objects(const admission::MatchCriteria& match) const;
  const std::vector<Seen>& equivalents();

  std::optional<std::vector<Seen>> equivalents_;
  std::vector<admission::GroupVersionResource> equivalent_names_;  // the same
  const Time ends_at_;                                             // monotonic
};

class PolicyMutation;

class MutatingRun final : public AdmissionRun, public std::enable_shared_from_this<MutatingRun> {
 public:
  // `policies` is null for none.
  MutatingRun(AdmissionWebhooks& owner, AdmissionWrite write, std::unique_ptr<PolicyMutation> policies,
              AdmitAgain admit_again, Mutated done);
  ~MutatingRun();
  void start();

 private:
  // False, and `done` was called, when a policy refuses.
  bool run_policies();
  void go_on();
  void take(const Question& question, const Outcome& outcome);
  // The object as the webhook's patch leaves it.
  ApiResult<Json> apply(const Question& question, const Json& patch) const;
  void take_change(Json object);
  // False, and `done` was called, when there is none.
  bool begin_second_round();
  void annotate(const admission::Webhook& webhook, bool is_changed, const Outcome& outcome) const;

  const std::unique_ptr<PolicyMutation> policies_;
  const AdmitAgain admit_again_;
  const Mutated done_;
  std::size_t next_ = 0;
  int round_ = 0;
  bool is_changed_ = false;
  std::set<const admission::Webhook*> may_be_called_again_, call_again_;
};

class ValidatingRun final : public AdmissionRun, public std::enable_shared_from_this<ValidatingRun> {
 public:
  ValidatingRun(AdmissionWebhooks& owner, AdmissionWrite write, Validated done);
  void start();

 private:
  void take(std::size_t place, const Question& question, const Outcome& outcome);

  const Validated done_;
  std::vector<std::optional<ApiStatus>> refusals_;  // by question; each written by its own answer
  std::atomic<std::size_t> open_{0};
};

}  // namespace berth::server
