#include "server/admission_run.h"

#include <algorithm>

#include "api/patch.h"
#include "api/served_kinds.h"
#include "server/admission_mutation.h"
#include "server/metadata.h"
#include "server/object_versions.h"
#include "server/registry.h"
#include "server/served.h"

namespace berth::server {
namespace {

using admission::Operation;
using admission::Phase;

constexpr int kOkCode = 200, kBadRequestCode = 400, kUnavailableCode = 503, kTimeoutCode = 504;

bool is_namespace(const ObjectTarget& target) {
  return is_core(target, "namespaces");
}

admission::GroupVersionResource resource_of(const api::ResourceInfo& row) {
  return {row.group, row.version, row.plural};
}

admission::GroupVersionKind kind_of(const api::ResourceInfo& row, const api::TypeInfo* body_type) {
  if (body_type) return {body_type->group, body_type->version, body_type->name};
  return {row.group, row.version, row.kind};
}

// CreateOptions or UpdateOptions, as the reference decodes the query.
Json options_of(Operation operation, const HttpRequest& request) {
  Json options = Json::object({{"kind", operation == Operation::Create ? "CreateOptions" : "UpdateOptions"},
                               {"apiVersion", "meta.k8s.io/v1"}});
  JsonArray dry_runs;
  for (const auto& [key, value] : request.query)
    if (key == "dryRun") dry_runs.emplace_back(value);
  if (!dry_runs.empty()) options["dryRun"] = Json(std::move(dry_runs));
  for (const std::string_view name : {"fieldManager", "fieldValidation"})
    if (const std::string* value = request.parameter(name); value && !value->empty()) options[name] = *value;
  return options;
}

admission::Attributes attributes_of(const AdmissionWrite& write) {
  const ObjectTarget& target = write.target;
  const HttpRequest& request = write.notes->request();
  admission::Attributes attributes;
  attributes.operation = write.operation;
  attributes.resource = resource_of(*target.resource);
  attributes.kind = kind_of(*target.resource, write.body_type);
  attributes.subresource = target.subresource;
  attributes.name = target.name;
  if (attributes.name.empty()) attributes.name = metadata_of(write.object).string_at("name");
  attributes.ns = is_namespace(target) ? attributes.name : target.ns;
  attributes.user = request.user;
  attributes.dry_run = write.dry_run;
  attributes.options =
      write.operation == Operation::Delete ? write.options : options_of(write.operation, request);
  return attributes;
}

ApiStatus timed_out() {
  return {.code = kTimeoutCode,
          .reason = "Timeout",
          .message = "Timeout: request did not complete within requested timeout",
          .has_details = true};
}

// The Status of a webhook's refusal: its own, as far as it gave one.
ApiStatus denial_status(const admission::Webhook& webhook, const Json& result) {
  admission::Denial denial = admission::denial_of(webhook, result);
  ApiStatus status{
      .code = denial.code, .reason = std::move(denial.reason), .message = std::move(denial.message)};
  const Json& details = result.part("details");
  if (!details.is_object()) return status;
  status.has_details = true;
  status.name = details.string_at("name");
  status.group = details.string_at("group");
  status.kind = details.string_at("kind");
  status.retry_after_s =
      static_cast<int>(std::clamp<std::int64_t>(details.int_at("retryAfterSeconds"), 0, 3600));
  for (const Json& cause : details.items_at("causes"))
    status.causes.push_back({std::string(cause.string_at("reason")), std::string(cause.string_at("message")),
                             std::string(cause.string_at("field"))});
  return status;
}

}  // namespace

AdmissionRun::AdmissionRun(AdmissionWebhooks& owner, AdmissionWrite write, Phase phase)
    : owner_(owner),
      write_(std::move(write)),
      attributes_(attributes_of(write_)),
      hooks_(owner.hooks(phase)),
      authorizer_(owner.access_, write_.notes->request().user),
      ends_at_(owner.registry_.dependencies().clock.monotonic() + kAdmissionTimeMax) {}

ApiResult<bool> AdmissionRun::is_in_namespaces(const admission::MatchCriteria& match) const {
  const bool is_of_cluster = attributes_.ns.empty() && !is_namespace(write_.target);
  if (is_of_cluster || match.namespaces.selects_everything()) return true;
  const bool has_own =
      is_namespace(write_.target) && write_.target.subresource.empty() && !write_.object.is_null();
  if (has_own) return match.namespaces.matches(metadata_of(write_.object).find("labels"));
  return match.namespaces.matches(metadata_of(TRY(namespace_object())).find("labels"));
}

ApiResult<Json> AdmissionRun::namespace_object() const {
  const store::ObjectPtr stored = owner_.registry_.store().get({"namespaces", "", attributes_.ns});
  const Result<Json> document = stored ? owner_.registry_.document_of(*stored) : Result<Json>(Json());
  if (!stored || !document) return not_found({"", "namespaces"}, attributes_.ns);
  return *document;
}

bool AdmissionRun::is_among_objects(const admission::MatchCriteria& match) const {
  if (match.objects.selects_everything()) return true;
  const auto is_selected = [&](const Json& document) {
    return !document.is_null() && match.objects.matches(metadata_of(document).find("labels"));
  };
  return is_selected(write_.object) || is_selected(write_.old);
}

// Other versions of the same objects, with the same subresource; bodies of subresources have one version.
const std::vector<AdmissionRun::Seen>& AdmissionRun::equivalents() {
  if (equivalents_) return *equivalents_;
  equivalents_.emplace();
  if (write_.body_type) return *equivalents_;
  const ObjectTarget& target = write_.target;
  const std::string stored = storage_resource(*target.resource);
  const ServedPtr served = target.served ? target.served : owner_.served_.now();
  for (const Seen row : served->rows())
    if (row->plural == target.resource->plural && row != target.resource &&
        (target.subresource.empty() || row->has_subresource(target.subresource)) &&
        storage_resource(*row) == stored)
      equivalents_->push_back(row);
  for (const Seen row : *equivalents_) equivalent_names_.push_back(resource_of(*row));
  return *equivalents_;
}

ApiResult<AdmissionRun::Seen> AdmissionRun::seen_through(const admission::MatchCriteria& match) {
  static const std::vector<admission::GroupVersionResource> kNone;
  const bool has_others = match.sees_equivalents && !equivalents().empty();
  const std::vector<admission::GroupVersionResource>& others = has_others ? equivalent_names_ : kNone;
  const admission::GroupVersionResource* named = admission::seen_resource(match, attributes_, others);
  if (!named || !is_among_objects(match)) return Seen(nullptr);
  if (!TRY(is_in_namespaces(match))) return Seen(nullptr);
  if (named == &attributes_.resource) return write_.target.resource;
  return equivalents()[static_cast<std::size_t>(named - others.data())];
}

ApiResult<AdmissionRun::Seen> AdmissionRun::seen_by(const admission::Webhook& webhook) {
  const Seen seen = TRY(seen_through(webhook.match));
  if (!seen || webhook.conditions.empty()) return seen;
  const Json request = request_json(seen), object = TRY(shown(seen, write_.object)),
             old = TRY(shown(seen, write_.old)), none;
  const admission::MatchResult match = webhook.conditions.evaluate(
      admission::values_of({request, object, old, none, none, authorizer()}, false));
  if (match.match == admission::Match::Failed && !webhook.ignores_failures) {
    write_.notes->refuse(webhook.name);
    return forbidden(write_.target.resource_name(), attributes_.name, match.errors);
  }
  return match.match == admission::Match::Yes ? seen : nullptr;
}

cel::Value AdmissionRun::authorizer() const {
  cel::AccessQuestion resource;
  resource.group = attributes_.resource.group;
  resource.resource = attributes_.resource.resource;
  resource.subresource = attributes_.subresource;
  resource.ns = attributes_.ns;
  resource.name = attributes_.name;
  return cel::authorizer_value(authorizer_, std::move(resource));
}

Json AdmissionRun::request_json(Seen seen) const {
  return admission::request_of(attributes_, {resource_of(*seen), kind_of(*seen, write_.body_type)});
}

ApiResult<Json> AdmissionRun::shown(Seen seen, const Json& document) const {
  if (write_.body_type) return document;
  return seen_document(write_.target, *seen, document);
}

ApiResult<Json> AdmissionRun::written(Seen seen, Json patched, const Json& before,
                                      UnknownMembers unknown) const {
  if (write_.body_type) return written_body(*write_.body_type, std::move(patched), before, unknown);
  return written_document(write_.target, *seen, std::move(patched), before, unknown);
}

void AdmissionRun::count(const Question& question, int code, Refusal refusal, bool failed_open) {
  const Time now = owner_.registry_.dependencies().clock.monotonic();
  owner_.metrics_.observe(*question.webhook, {.operation = write_.operation,
                                              .elapsed = now - question.asked_at,
                                              .code = code,
                                              .refusal = refusal,
                                              .failed_open = failed_open});
}

ApiStatus AdmissionRun::refuse(const Question& question, Refusal why, ApiStatus status) {
  count(question, why == Refusal::Internal ? 0 : status.code, why);
  write_.notes->refuse(question.webhook->name);
  return status;
}

AdmissionRun::Outcome AdmissionRun::failed(const Question& question, std::string why, int code) {
  Outcome outcome;
  outcome.is_failure = true;
  const bool ignores = question.webhook->ignores_failures;
  count(question, code, ignores ? Refusal::None : Refusal::CallFailed, ignores);
  if (ignores) return outcome;
  write_.notes->refuse(question.webhook->name);
  outcome.refusal =
      internal_error("failed calling webhook " + to_string(Json(question.webhook->name)) + ": " + why);
  return outcome;
}

std::optional<AdmissionRun::Outcome> AdmissionRun::problem_before(const Question& question) {
  const admission::Webhook& webhook = *question.webhook;
  if (question.asked_at >= ends_at_) return Outcome{timed_out(), {}, true};
  if (write_.dry_run && !webhook.allows_dry_run)
    return Outcome{refuse(question, Refusal::Internal,
                          bad_request("admission webhook " + to_string(Json(webhook.name)) +
                                      " does not support dry run")),
                   {},
                   true};
  if (webhook.review_version.empty())
    return failed(
        question,
        "could not create admission objects: webhook does not accept known AdmissionReview versions "
        "(v1, v1beta1)",
        kBadRequestCode);
  return std::nullopt;
}

void AdmissionRun::ask(Question question, Judged judged) {
  question.asked_at = owner_.registry_.dependencies().clock.monotonic();
  question.uid = owner_.registry_.dependencies().random.uuid();
  if (std::optional<Outcome> problem = problem_before(question)) return judged(question, *std::move(problem));
  ApiResult<Json> object = shown(question.seen, write_.object), old = shown(question.seen, write_.old);
  if (!object || !old)
    return judged(question,
                  {refuse(question, Refusal::Internal, object ? old.error() : object.error()), {}, true});
  const admission::WebhookPtr webhook = question.webhook;
  std::string body = admission::review_body(webhook->review_version, question.uid,
                                            request_json(question.seen), *object, *old);
  question.object = *std::move(object);
  owner_.calls_.post(
      endpoint_of(webhook->client, owner_.services_), webhook->timeout, std::move(body),
      [this, question = std::move(question), judged = std::move(judged)](const WebhookAnswer& answer) {
        const auto go_on = [this, question, judged, answer] { judged(question, judge(question, answer)); };
        if (!has_webhook(write_.target)) return go_on();
        post_for(write_.target, owner_.registry_.dependencies().executor, go_on);
      });
}

AdmissionRun::Outcome AdmissionRun::judge(const Question& question, const WebhookAnswer& answer) {
  if (!answer.problem.empty())
    return failed(question, "failed to call webhook: " + answer.problem, answer.code);
  Result<admission::ReviewAnswer> read = admission::read_answer(*question.webhook, question.uid, answer.body);
  if (!read) return failed(question, std::string(read.error().message()), kUnavailableCode);
  for (auto& [key, value] : read->annotations) write_.notes->annotate(std::move(key), std::move(value));
  for (std::string& warning : read->warnings) write_.notes->warn(std::move(warning));
  Outcome outcome;
  outcome.patch = std::move(read->patch);
  if (!read->allowed)
    outcome.refusal = refuse(question, Refusal::ByWebhook, denial_status(*question.webhook, read->result));
  else if (outcome.patch.is_null())
    count(question, kOkCode, Refusal::None);
  return outcome;
}

MutatingRun::MutatingRun(AdmissionWebhooks& owner, AdmissionWrite write,
                         std::unique_ptr<PolicyMutation> policies, AdmitAgain admit_again, Mutated done)
    : AdmissionRun(owner, std::move(write), Phase::Mutating),
      policies_(std::move(policies)),
      admit_again_(std::move(admit_again)),
      done_(std::move(done)) {}

MutatingRun::~MutatingRun() = default;

void MutatingRun::start() {
  if (run_policies()) go_on();
}

bool MutatingRun::run_policies() {
  if (!policies_ || write_.object.is_null()) return true;
  ApiResult<Json> object = policies_->run(write_.object);
  if (!object) {
    done_(object.error());
    return false;
  }
  if (!(*object == write_.object)) take_change(*std::move(object));
  return true;
}

void MutatingRun::take_change(Json object) {
  write_.object = std::move(object);
  is_changed_ = true;
  call_again_.merge(may_be_called_again_);
  may_be_called_again_.clear();
}

void MutatingRun::go_on() {
  do {
    for (; next_ < hooks_->size(); ++next_) {
      const admission::WebhookPtr& webhook = (*hooks_)[next_];
      // A webhook that did not see the object in the first round is not called for the first time now.
      if (round_ > 0 && !call_again_.contains(webhook.get())) continue;
      const ApiResult<Seen> seen = seen_by(*webhook);
      if (!seen) return done_(seen.error());
      if (!*seen) continue;
      return ask({.webhook = webhook, .seen = *seen},
                 [self = shared_from_this()](const Question& question, const Outcome& outcome) {
                   self->take(question, outcome);
                 });
    }
  } while (begin_second_round());
}

void MutatingRun::take(const Question& question, const Outcome& outcome) {
  const admission::Webhook& webhook = *question.webhook;
  bool is_changed = false;
  if (!outcome.patch.is_null() && !outcome.refusal) {
    ApiResult<Json> patched = apply(question, outcome.patch);
    if (!patched) return done_(refuse(question, Refusal::Internal, patched.error()));
    count(question, kOkCode, Refusal::None);
    is_changed = !(*patched == write_.object);
    if (is_changed) take_change(*std::move(patched));
  }
  annotate(webhook, is_changed, outcome);
  if (outcome.refusal) return done_(*outcome.refusal);
  if (webhook.may_be_called_again) may_be_called_again_.insert(&webhook);
  ++next_;
  go_on();
}

ApiResult<Json> MutatingRun::apply(const Question& question, const Json& patch) const {
  if (write_.object.is_null())
    return internal_error("admission webhook " + to_string(Json(question.webhook->name)) +
                          " attempted to modify the object, which is not supported for this operation");
  Result<Json> patched = api::apply_json_patch(question.object, to_string(patch));
  if (!patched) return internal_error(patched.error().message());
  return written(question.seen, *std::move(patched), question.object, UnknownMembers::Dropped);
}

void MutatingRun::annotate(const admission::Webhook& webhook, bool is_changed, const Outcome& outcome) const {
  constexpr std::string_view kPrefix = "mutation.webhook.admission.k8s.io/";
  const std::string key =
      std::string(kPrefix) + "round_" + std::to_string(round_) + "_index_" + std::to_string(next_);
  if (outcome.is_failure && !outcome.refusal) write_.notes->annotate("failed-open." + key, webhook.name);
  write_.notes->annotate(key, to_string(Json::object({{"configuration", webhook.configuration},
                                                      {"webhook", webhook.name},
                                                      {"mutated", is_changed}})));
}

// The kind's own admission, and policies, may change what webhooks made; then those that want it are called
// again.
bool MutatingRun::begin_second_round() {
  if (round_ > 0 || !is_changed_) {
    done_(std::move(write_.object));
    return false;
  }
  ApiResult<Json> admitted = admit_again_(write_.object);
  if (!admitted) {
    done_(admitted.error());
    return false;
  }
  if (!(*admitted == write_.object)) call_again_.merge(may_be_called_again_);
  write_.object = *std::move(admitted);
  round_ = 1;
  next_ = 0;
  return run_policies();
}

ValidatingRun::ValidatingRun(AdmissionWebhooks& owner, AdmissionWrite write, Validated done)
    : AdmissionRun(owner, std::move(write), Phase::Validating), done_(std::move(done)) {}

void ValidatingRun::start() {
  std::vector<Question> questions;
  for (const admission::WebhookPtr& webhook : *hooks_) {
    const ApiResult<Seen> seen = seen_by(*webhook);
    if (!seen) return done_(seen.error());
    if (*seen) questions.push_back({.webhook = webhook, .seen = *seen});
  }
  if (questions.empty()) return done_({});
  refusals_.resize(questions.size());
  open_ = questions.size();
  for (std::size_t place = 0; place < questions.size(); ++place)
    ask(std::move(questions[place]),
        [self = shared_from_this(), place](const Question& question, const Outcome& outcome) {
          self->take(place, question, outcome);
        });
}

void ValidatingRun::take(std::size_t place, const Question& question, const Outcome& outcome) {
  refusals_[place] = outcome.refusal;
  if (outcome.is_failure && !outcome.refusal)
    write_.notes->annotate(
        "failed-open.validating.webhook.admission.k8s.io/round_0_index_" + std::to_string(place),
        question.webhook->name);
  if (open_.fetch_sub(1) > 1) return;
  for (std::optional<ApiStatus>& refusal : refusals_)
    if (refusal) return done_(*std::move(refusal));
  done_({});
}

}  // namespace berth::server
