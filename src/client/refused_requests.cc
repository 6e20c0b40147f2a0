#include "client/refused_requests.h"

#include <algorithm>
#include <atomic>

#include "base/log.h"
#include "client/api_path.h"

namespace berth::client {
namespace {

constexpr int kRightMissing = 403, kAbsent = 404;
constexpr std::string_view kLeases = "leases";
constexpr std::string_view kEvents = "events";

std::string_view rbac_verb(Verb verb) {
  switch (verb) {
    case Verb::Create:
      return "create";
    case Verb::Update:
      return "update";
    case Verb::Delete:
      return "delete";
    case Verb::Get:
      return "get";
    default:
      return "patch";
  }
}

std::string title_of(const api::ResourceRef& resource, const std::string& subresource = "") {
  std::string title = resource.resource;
  if (!resource.group.empty()) title += "." + resource.group;
  if (!subresource.empty()) title += "/" + subresource;
  return title;
}

// An authorizer's sentence; admission refuses single objects in other words.
bool lacks_a_right(const ApiReply& reply) {
  return reply.message.find("\" cannot ") != std::string::npos &&
         reply.message.find(" resource \"") != std::string::npos;
}

bool lacks_a_definition(const ApiReply& reply) {
  return reply.code == kAbsent &&
         (reply.message.find("page not found") != std::string::npos ||
          reply.message.find("could not find the requested resource") != std::string::npos);
}

// Only a Lease's namespace is configured; others go with their objects.
bool lacks_its_namespace(const api::ResourceRef& resource, const ApiReply& reply) {
  return resource.resource == kLeases && reply.code == kAbsent && reply.message.starts_with("namespaces ");
}

// Without BindRequests nothing is scheduled; other kinds are optional, or Kubernetes' own.
bool needs_definition(const api::ResourceRef& resource) {
  return resource.group == api::ref_of(api::Kind::BindRequest).group;
}

}  // namespace

RefusalReason refusal_reason(const api::ResourceRef& resource, const ApiReply& reply) {
  if (reply.delivery != Delivery::Answered) return {};
  const bool lease = resource.resource == kLeases;
  if (lacks_its_namespace(resource, reply))
    return {"create the namespace, or name another one: --leader-elect-resource-namespace"};
  if (reply.code == kRightMissing && lacks_a_right(reply)) {
    if (lease)
      return {
          "grant get, create and update of leases there, or name a namespace where they are granted: "
          "--leader-elect-resource-namespace (`berth install` grants them in its own, berth-system)"};
    return {"`berth install` grants it; `berth doctor` lists every right that is missing",
            resource.resource != kEvents};
  }
  if (lacks_a_definition(reply) && needs_definition(resource))
    return {"run `berth install`, or `berth crds | kubectl apply -f -`"};
  return {};
}

void RefusedRequests::note(const std::string& request, const ApiReply& reply, const RefusalReason& reason) {
  const Time now = clock_.monotonic();
  std::uint64_t more = 0;
  {
    const std::lock_guard lock(mutex_);
    if (!refusals_.contains(request) && refusals_.size() >= kRefusedRequestsMax) return;
    ++counts_[{request, reply.code}];
    Refusal& refusal = refusals_[request];
    refusal.sentence =
        request + " is refused (" + std::to_string(reply.code) + "): " + reply.message + "; " + reason.help;
    refusal.essential = reason.essential;
    refusal.seen_at = now;
    if (refusal.told_at.is_set() && now - refusal.told_at < kRefusalQuiet) return void(++refusal.left_out);
    refusal.told_at = now;
    more = std::exchange(refusal.left_out, 0);
  }
  log(LogLevel::Warning, "the API server refuses what this process needs",
      {{"request", request},
       {"code", std::to_string(reply.code)},
       {"cause", reply.message},
       {"help", reason.help},
       {"more", std::to_string(more)}});
}

void RefusedRequests::allowed(const std::string& request) {
  const std::lock_guard lock(mutex_);
  if (refusals_.empty()) return;
  const auto found = refusals_.find(request);
  if (found != refusals_.end()) found->second.seen_at = Time();
}

std::vector<std::string> RefusedRequests::standing() const {
  const Time now = clock_.monotonic();
  const std::lock_guard lock(mutex_);
  std::vector<std::string> sentences;
  for (const auto& [request, refusal] : refusals_)
    if (refusal.essential && refusal.seen_at.is_set() && now - refusal.seen_at < kRefusalStands)
      sentences.push_back(refusal.sentence);
  return sentences;
}

std::map<std::pair<std::string, int>, std::uint64_t> RefusedRequests::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

namespace {

class ReportingWatch final : public Subscription, public WatchReceiver {
 public:
  enum class Need { Essential, Optional };
  ReportingWatch(api::ResourceRef resource, Need need, WatchReceiver& receiver,
                 std::shared_ptr<RefusedRequests> refusals)
      : resource_(std::move(resource)), need_(need), receiver_(receiver), refusals_(std::move(refusals)) {}
  void begin(ApiClient& inner) { inner_ = inner.list_and_watch(resource_, *this); }

  void on_list(RawList list) override {
    allow("list");
    receiver_.on_list(std::move(list));
  }
  void on_changes(std::vector<RawChange> changes) override {
    allow("watch");
    receiver_.on_changes(std::move(changes));
  }
  void on_not_served() override {
    if (needs_definition(resource_)) {
      ApiReply absent;
      absent.code = kAbsent;
      absent.message = "the API server does not serve it (404 page not found)";
      note("list", absent);
    }
    receiver_.on_not_served();
  }
  void on_trouble(std::string text) override { receiver_.on_trouble(std::move(text)); }
  void on_refused(std::string_view request, const ApiReply& reply) override {
    if (!note(request, reply)) return receiver_.on_refused(request, reply);
    if (need_ == Need::Optional && request == "list") receiver_.on_not_served();
  }

 private:
  bool note(std::string_view request, const ApiReply& reply) {
    RefusalReason reason = refusal_reason(resource_, reply);
    if (reason.help.empty()) return false;
    if (need_ == Need::Optional) reason.essential = false;
    refused_ = true;
    refusals_->note(std::string(request) + " " + title_of(resource_), reply, reason);
    return true;
  }
  void allow(std::string_view request) {
    if (refused_) refusals_->allowed(std::string(request) + " " + title_of(resource_));
  }

  const api::ResourceRef resource_;
  const Need need_;
  WatchReceiver& receiver_;
  const std::shared_ptr<RefusedRequests> refusals_;
  std::atomic<bool> refused_ = false;
  std::unique_ptr<Subscription> inner_;  // last: it ends first
};

}  // namespace

void RefusalReporter::submit(ApiRequest request, std::function<void(ApiReply)> done) {
  std::string what =
      std::string(rbac_verb(request.verb)) + " " + title_of(request.resource, request.subresource);
  if (request.resource.resource == kLeases) what += " in namespace " + request.ns;
  const auto answered = [refusals = refusals_, what = std::move(what), resource = request.resource,
                         done = std::move(done)](ApiReply reply) {
    const RefusalReason reason = refusal_reason(resource, reply);
    if (!reason.help.empty())
      refusals->note(what, reply, reason);
    else if (reply.ok())
      refusals->allowed(what);
    done(std::move(reply));
  };
  inner_.submit(std::move(request), answered);
}

std::unique_ptr<Subscription> RefusalReporter::list_and_watch(api::ResourceRef resource,
                                                              WatchReceiver& receiver) {
  const bool optional = std::ranges::find(optional_, resource) != optional_.end();
  const auto need = optional ? ReportingWatch::Need::Optional : ReportingWatch::Need::Essential;
  auto watch = std::make_unique<ReportingWatch>(std::move(resource), need, receiver, refusals_);
  watch->begin(inner_);
  return watch;
}

}  // namespace berth::client
