// Scales the targets of HorizontalPodAutoscalers by what their pods use. Source:
// pkg/controller/podautoscaler of Kubernetes 1.37.
#include "api/serialized.h"
#include "api/type_table.h"
#include "controllers/autoscaler_run.h"

namespace berth::controllers {
namespace {

using workloads::Parsed;

// As kube-controller-manager's --horizontal-pod-autoscaler-sync-period.
constexpr Duration kSyncPeriod = Duration::seconds(15);

const api::ResourceRef& autoscalers() {
  static const api::ResourceRef kRef{"autoscaling", "v2", "horizontalpodautoscalers"};
  return kRef;
}
const api::ResourceRef& target_definitions() {
  static const api::ResourceRef kRef{"apiextensions.k8s.io", "v1", "customresourcedefinitions"};
  return kRef;
}

// The version of a definition that a request of this version reads; another one that is served otherwise.
std::optional<api::ResourceRef> resource_in(const Json& spec, std::string_view version) {
  std::string_view served;
  for (const Json& one : spec.items_at("versions")) {
    if (!one.bool_at("served")) continue;
    if (served.empty() || one.string_at("name") == version) served = one.string_at("name");
  }
  if (served.empty()) return std::nullopt;
  return api::ResourceRef{std::string(spec.string_at("group")), std::string(served),
                          std::string(spec.part("names").string_at("plural"))};
}

// The resource of the target's kind; refuses kinds that nothing serves. Cost: a parse of each definition of
// the group.
Result<api::ResourceRef> target_resource(const View& view, const Json& target) {
  const std::string_view version = target.string_at("apiVersion"), kind = target.string_at("kind");
  const api::GroupVersion named = api::group_version_of(version);
  if (const api::ResourceInfo* row = api::find_resource_of_kind(named.group, named.version, kind))
    return api::ResourceRef{std::string(row->group), std::string(row->version), std::string(row->plural)};
  for (const api::ResourceInfo& row : api::resources())
    if (row.group == named.group && row.kind == kind)
      return api::ResourceRef{std::string(row.group), std::string(row.version), std::string(row.plural)};
  for (const api::ObjectKey& key : view.keys_in(Kind::Other, "", target_definitions())) {
    if (std::string_view(key.name).substr(key.name.find('.') + 1) != named.group) continue;
    const auto definition = workloads::find_parsed(view, key);
    if (!definition || definition->spec().part("names").string_at("kind") != kind) continue;
    if (auto found = resource_in(definition->spec(), named.version)) return *std::move(found);
  }
  return Error(ErrorCode::NotFound,
               "unable to determine resource for scale target reference: no matches for "
               "kind " +
                   to_string(Json(kind)) + " in group " + to_string(Json(named.group)));
}

client::Write scale_request(client::Verb verb, const api::ResourceRef& resource, const Parsed& autoscaler) {
  client::Write write;
  write.request.verb = verb;
  write.request.resource = resource;
  write.request.ns = autoscaler.meta.ns;
  write.request.name = autoscaler.spec().part("scaleTargetRef").string_at("name");
  write.request.subresource = client::kScaleSubresource;
  write.fine_reasons = {"NotFound", "Forbidden"};
  write.answer_to_decider = true;
  return write;
}

class HorizontalPodAutoscaler final : public client::Reconciler {
 public:
  std::string_view name() const override { return "horizontal-pod-autoscaler-controller"; }

  std::vector<client::Interest> interests() const override {
    const auto nobody = [](const View&, const Delta&, Keys&) {};
    return {{Kind::Other, autoscalers(),
             [](const View&, const Delta& delta, Keys& keys) { keys.push_back(delta.key); }},
            {Kind::Other, target_definitions(), nobody},
            {Kind::Pod, {}, nobody},
            {Kind::Node, {}, nobody}};
  }

  // Reads the scale, decides, changes it, reports: each step is a run of the key, as each waits for an
  // answer.
  Effects reconcile(const View& view, const api::ObjectKey& key, Time now) override {
    const auto autoscaler = workloads::find_parsed(view, key);
    if (!autoscaler || autoscaler->meta.deleting()) {
      known_.erase(key);
      return Effects::nothing();
    }
    Known& known = known_[key];
    if (known.uid != autoscaler->meta.uid) known = Known{.uid = autoscaler->meta.uid};
    const Step step = std::exchange(known.step, Step::Rest);
    std::optional<client::ApiReply> reply = std::exchange(known.reply, std::nullopt);
    if (step == Step::Changing && reply) return report_change(*autoscaler, known, *reply, now);
    if (step == Step::Reading && reply) return decide(view, *autoscaler, known, *reply, now);
    const bool is_due = now >= known.next_run || known.generation != autoscaler->meta.generation;
    if (is_due) return read_scale(view, *autoscaler, known, now);
    Effects effects;
    effects.wake_at = known.next_run;
    return effects;
  }

  void on_outcome(const View&, const api::ObjectKey& key, const client::Outcome& outcome, Time) override {
    const auto found = known_.find(key);
    if (found == known_.end() || found->second.step == Step::Rest) return;
    const client::ApiReply& last = outcome.chains.back().last;
    // A lost answer leaves the step without a reply: the scale is read again.
    if (last.delivery == client::Delivery::Answered) found->second.reply = last;
  }

 private:
  enum class Step { Rest, Reading, Changing };
  struct Known {
    std::string uid;
    std::int64_t generation = -1;  // of the spec that was acted on
    Time next_run = {};
    Step step = Step::Rest;  // the request under way
    std::optional<client::ApiReply> reply = {};
    AutoscalerReport report = {};  // of the change under way
    std::optional<api::LabelSelector> selector = {};
    ScalingHistory history = {};
  };

  Effects read_scale(const View& view, const Parsed& autoscaler, Known& known, Time now) {
    known.generation = autoscaler.meta.generation;
    known.next_run = now + kSyncPeriod;
    const Result<api::ResourceRef> resource = target_resource(view, autoscaler.spec().part("scaleTargetRef"));
    if (!resource) {
      AutoscalerReport report = report_of(autoscaler);
      note_unreadable(autoscaler, resource.error().message(), now, report);
      return write_report(autoscaler, known, std::move(report));
    }
    return ask(autoscaler, known, Step::Reading, scale_request(client::Verb::Get, *resource, autoscaler),
               now);
  }

  Effects decide(const View& view, const Parsed& autoscaler, Known& known, const client::ApiReply& reply,
                 Time now) {
    const Result<Json> read = reply.object ? api::parse_object(*reply.object) : Result<Json>(Json());
    if (!reply.ok() || !read || !read->is_object()) {
      AutoscalerReport report = report_of(autoscaler);
      note_unreadable(autoscaler, reply.message, now, report);
      return write_report(autoscaler, known, std::move(report));
    }
    const Json& meta = read->part("metadata");
    const TargetScale scale{
        read->part("spec").int_at("replicas"), std::string(read->part("status").string_at("selector")),
        std::string(meta.string_at("uid")), std::string(meta.string_at("resourceVersion"))};
    const Result<api::LabelSelector> selector = api::LabelSelector::parse(scale.selector);
    known.selector.reset();
    if (selector && !scale.selector.empty()) known.selector = *selector;
    AutoscalerReport report =
        decide_scale(view, autoscaler, scale, rivals_of(autoscaler.key), known.history, now);
    const Result<api::ResourceRef> resource = target_resource(view, autoscaler.spec().part("scaleTargetRef"));
    if (!report.rescales || !resource) return write_report(autoscaler, known, std::move(report));

    client::Write change = scale_request(client::Verb::MergePatch, *resource, autoscaler);
    Json patch = Json::object();
    patch["metadata"]["uid"] = scale.uid;
    patch["metadata"]["resourceVersion"] = scale.version;
    patch["spec"]["replicas"] = report.desired;
    change.request.body = to_string(patch);
    known.report = std::move(report);
    return ask(autoscaler, known, Step::Changing, std::move(change), now);
  }

  Effects report_change(const Parsed& autoscaler, Known& known, const client::ApiReply& reply, Time now) {
    AutoscalerReport report = std::exchange(known.report, {});
    if (reply.reason == "Conflict") {
      known.next_run = now;
      Effects again;
      again.wake_at = now;
      return again;
    }
    if (reply.ok())
      note_changed(autoscaler, now, known.history, report);
    else
      note_not_changed(autoscaler, reply.message, now, report);
    return write_report(autoscaler, known, std::move(report));
  }

  static Effects ask(const Parsed& autoscaler, Known& known, Step step, client::Write request, Time now) {
    known.step = step;
    Effects effects = Effects::write(autoscaler.key, std::move(request));
    effects.wake_at = now;
    return effects;
  }

  static Effects write_report(const Parsed& autoscaler, const Known& known, AutoscalerReport report) {
    Effects effects;
    if (auto write = report_write(autoscaler, report))
      effects = Effects::write(autoscaler.key, *std::move(write));
    effects.events = std::move(report.events);
    effects.wake_at = known.next_run;
    return effects;
  }

  RivalSelectors rivals_of(const api::ObjectKey& key) const {
    RivalSelectors rivals;
    const api::ObjectKey first{key.kind, key.ns, "", key.resource};
    for (auto at = known_.lower_bound(first); at != known_.end() && at->first.ns == key.ns; ++at)
      if (at->first.name != key.name && at->second.selector)
        rivals.emplace_back(at->first.name, &*at->second.selector);
    return rivals;
  }

  std::map<api::ObjectKey, Known> known_;  // of those that exist
};

}  // namespace

std::unique_ptr<client::Reconciler> make_horizontal_pod_autoscaler() {
  return std::make_unique<HorizontalPodAutoscaler>();
}

}  // namespace berth::controllers
