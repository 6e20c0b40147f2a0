#include "binding/bind_cycle.h"

#include <algorithm>

#include "api/types/device_readiness.h"
#include "base/backoff.h"
#include "base/known_defects.h"
#include "binding/bind_pod.h"
#include "binding/request_check.h"
#include "client/group_tree.h"
#include "client/request_writes.h"

namespace berth::binding {
namespace {
using api::BindPhase;
using api::BindStep;
using api::FailureClass;
using client::Chain;
using client::Effects;
using client::Write;
using State = PodObservation::State;

std::string words_of_late(const api::BindRequest& request) {
  if (request.lease.empty()) return "a scheduler process that has ended decided it";
  return "a scheduler decided it in epoch " + std::to_string(request.epoch) + " of Lease " +
         request.lease.ns + "/" + request.lease.name + " and wrote it after a later term had begun";
}

api::ObjectKey pod_key(const api::BindRequest& request) {
  return {api::Kind::Pod, request.meta.ns, request.pod_name, {}};
}

std::string pod_text(const api::BindRequest& request) {
  return "pod " + request.meta.ns + "/" + request.pod_name;
}

// Cuts the text to the limit of events, never inside a UTF-8 character.
std::string within_bound(std::string message) {
  if (message.size() <= kMessageBytesMax) return message;
  std::size_t end = kMessageBytesMax;
  while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xC0) == 0x80) --end;
  message.resize(end);
  return message;
}

// API times have whole seconds; rounding up keeps a stored time from being early.
Time next_second(Time time) {
  return time.to_second() == time ? time : time.to_second() + Duration::seconds(1);
}

}  // namespace

PodObservation observe_pod(const client::View& view, const api::BindRequest& request) {
  const api::Pod* pod = view.pods.find(request.meta.ns, request.pod_name);
  const std::string name = pod_text(request);
  if (!pod) return {State::Unknown, nullptr, name + " does not exist any more"};
  if (pod->meta.uid != request.pod_uid)
    return {State::Unknown, nullptr,
            name + " is another one by now: UID " + pod->meta.uid + ", decided for " + request.pod_uid};
  if (api::is_bound_by(*pod, request)) return {State::OnOurNode, pod, ""};
  if (pod->bound()) return {State::Elsewhere, pod, name + " is bound to node " + pod->node_name + " already"};
  if (pod->meta.deleting()) return {State::Ending, pod, name + " is being deleted"};
  if (pod->finished()) return {State::Ending, pod, name + " has finished"};
  return {State::Free, pod, ""};
}

client::EventNote event_of_pod(const client::View& view, const api::BindRequest& request,
                               std::string_view reason, std::string_view action, std::string message) {
  client::EventNote event;
  event.regarding = pod_key(request);
  event.regarding_uid = request.pod_uid;
  event.reason = reason;
  event.action = action;
  event.message = std::move(message);
  if (const api::Pod* pod = view.pods.find(request.meta.ns, request.pod_name))
    event.component = pod->scheduler_name;
  return event;
}

BindCycle::BindCycle(const client::View& view, const api::BindRequest& request, Time now,
                     const RequestHistory& known, const BinderOptions& options, const Plugins& plugins)
    : view_(view),
      request_(request),
      key_(client::key_of(api::Kind::BindRequest, request.meta)),
      now_(now),
      known_(known),
      options_(options),
      plugins_(plugins),
      gang_(view, request, known.saw_commit) {}

Effects BindCycle::step() {
  const PodObservation observation = observe_pod(view_, request_);
  // First of all: a binding whose answer was lost may have been carried out.
  if (observation.state == State::OnOurNode) return finish({key_, {}}, observation.pod);
  if (request_.step == BindStep::RollingBack) return roll_back();
  // Members of a committed gang only go forward; the scheduler withdrew them before it saw the commit.
  const bool may_fail = !gang_.only_forward();
  if (request_.withdrawn && may_fail)
    return fail({FailureClass::OtherPlacement, std::string(api::kWithdrawn), "the scheduler took it back"});
  if (known_.late && may_fail)
    return fail({FailureClass::OtherPlacement, std::string(api::kStaleEpoch), words_of_late(request_)});
  if (request_.deadline.is_set() && now_ >= request_.deadline && may_fail)
    return fail({FailureClass::OtherPlacement, "DeadlineExceeded",
                 "it was not bound by its deadline, " + format_time(request_.deadline)});
  if (gang_.aborted()) return fail_with_gang();
  if (auto ended = identify(observation)) return *std::move(ended);
  if (known_.write_failure && !known_.write_failure->of_addition) return after_write_failure();
  // The clock of another process may have set it, so the wait is bounded from when this process saw it.
  const Time next = std::min(request_.next_attempt, known_.first_seen + longest_wait());
  waits_ = request_.next_attempt.is_set() && now_ < next;
  return waits_ ? wake(next) : advance(observation);
}

std::optional<Effects> BindCycle::identify(const PodObservation& observation) {
  const Time seen_by = known_.first_seen + kInformerLagGrace;
  const bool late = now_ < seen_by;
  if (observation.state == State::Unknown && late) return wake(seen_by);
  if (observation.state != State::Free) {
    Effects effects = fail({FailureClass::Permanent, std::string(kSuperseded), observation.why});
    // The watch of pods may lag, so a pod that the view lacks is read before it counts as gone.
    if (observation.state == State::Unknown && !effects.chains.empty())
      effects.chains.front().writes.insert(effects.chains.front().writes.begin(),
                                           client::unless_exists(pod_key(request_), request_.pod_uid));
    return effects;
  }
  if (!view_.nodes.find("", request_.node)) {
    if (late) return wake(seen_by);
    return fail(
        {FailureClass::OtherPlacement, "NodeNotFound", "node " + request_.node + " does not exist any more"});
  }
  if (!gang_.committed() && !group_of(view_, request_)) {
    if (late) return wake(seen_by);
    return fail({FailureClass::OtherPlacement, "PodGroupNotFound",
                 "pod group " + request_.group.name + " does not exist any more"});
  }
  if (!gang_.committed() && !client::register_of(view_, request_)) {
    if (late) return wake(seen_by);
    return fail({FailureClass::OtherPlacement, "PodGroupNotFound",
                 "composite pod group " + request_.group.root.name + " does not exist any more"});
  }
  if (const api::FieldErrors errors = check_request(request_, *observation.pod); !errors.empty()) {
    if (late) return wake(seen_by);
    return fail({FailureClass::Permanent, "InvalidRequest", api::to_text(errors)});
  }
  if (const api::FieldErrors errors = validate(plugins_, *observation.pod, options_); !errors.empty())
    return fail({FailureClass::Permanent, "InvalidPod", api::to_text(errors)});
  return std::nullopt;
}

Effects BindCycle::advance(const PodObservation& observation) {
  const BindContext context = context_of(observation.pod);
  PreBindStep step = pre_bind(plugins_, context);
  if (auto* failed = std::get_if<Failed>(&step.verdict)) {
    pre_bind_end_ = failed->reason == api::kBindingTimeout ? PreBindStatus::Timeout : PreBindStatus::Failure;
    return fail(std::move(*failed));
  }
  if (!step.chains.empty()) {
    Effects effects;
    effects.chains = std::move(step.chains);
    return effects;
  }
  if (const auto* waiting = std::get_if<Waiting>(&step.verdict)) {
    waits_for_conditions_ = !waiting->event_reason.empty() && waiting->step == BindStep::WaitingForDevices;
    return wait(*waiting);
  }
  pre_bind_end_ = PreBindStatus::Success;
  return gang_.committed() ? bind(context) : wait_for_gang();
}

Duration BindCycle::longest_wait() const {
  return options_.retry_cap + Duration::seconds(1);
}

Effects BindCycle::wake(Time at) const {
  Effects effects;
  effects.wake_at = at;
  return effects;
}

Effects BindCycle::write_status(const api::BindRequest& wanted, IfChanged if_changed) const {
  api::BindRequest status = wanted;
  // Each member's status records the commit, because the PodGroup may be deleted before it.
  status.committed = wanted.committed || gang_.only_forward();
  status.observed_generation = request_.meta.generation;
  set_condition(status, bound_condition(status));
  std::optional<Write> write = status_write(request_, status, if_changed);
  return write ? Effects::write(key_, *std::move(write)) : Effects::nothing();
}

void BindCycle::set_condition(api::BindRequest& status, api::Condition condition) const {
  condition.last_transition = now_;
  condition.observed_generation = request_.meta.generation;
  api::set_condition(status.conditions, std::move(condition));
}

Effects BindCycle::wait(const Waiting& waiting) {
  Effects effects;
  waits_ = request_.step == waiting.step;
  if (!waiting.event_reason.empty() && request_.step != waiting.step) {
    api::BindRequest wanted = request_;
    wanted.step = waiting.step;
    wanted.message = waiting.why;
    effects = write_status(wanted, IfChanged::Refuse);
    effects.events.push_back(event_of_pod(view_, request_, waiting.event_reason, "Scheduling", waiting.why));
  }
  if (waiting.until.is_set()) effects.wake_at = waiting.until;
  return effects;
}

// GangBarrier commits or aborts; the change of the group, or of the root of its tree, wakes this request.
Effects BindCycle::wait_for_gang() {
  const Time quiet_until = known_.first_seen + kQuietGangWait;
  if (now_ < quiet_until) return wake(quiet_until);
  waits_ = request_.step == BindStep::WaitingForGang;
  if (waits_) return Effects::nothing();
  api::BindRequest wanted = request_;
  wanted.step = BindStep::WaitingForGang;
  wanted.message = "waiting for the other members of its gang";
  return write_status(wanted, IfChanged::Refuse);
}

BindContext BindCycle::context_of(const api::Pod* pod) const {
  const bool on_version = known_.write_failure && known_.write_failure->of_addition;
  return {view_,      request_,      pod, now_, known_.first_seen, options_, gang_.only_forward(),
          on_version, known_.pending};
}

Effects BindCycle::bind(const BindContext& context) {
  // PostBind is repeated after a crash, so the request must outlive the process.
  if (request_.in_memory && !post_bind(plugins_, context).empty()) return record_that_it_binds();
  if (has(KnownDefect::RetriedFailureReportedBound) && request_.failed_attempts > 0)
    return finish({key_, {}}, context.pod);
  Chain chain{pod_key(request_), before_binding(plugins_, context), true};
  bind_writes_.before_binding = chain.writes.size();
  chain.writes.push_back(
      bind_pod(context.pod->meta, request_.node, request_.group.domain));  // refused after seal_pod()
  for (std::size_t i = 1; i <= bind_writes_.before_binding; ++i) chain.writes[i].on_previous_version = true;
  return finish(std::move(chain), context.pod);
}

Effects BindCycle::record_that_it_binds() {
  api::BindRequest wanted = request_;
  wanted.step = BindStep::Binding;
  return write_status(wanted, IfChanged::Refuse);
}

// Nobody reads a status of it: it stands for the pod until the view shows the pod bound.
Effects BindCycle::finish_in_memory(Chain chain) {
  ends_in_memory_ = chain.writes.empty();
  if (ends_in_memory_) {
    chain.writes.push_back(client::delete_request(request_));
    chain.urgent = true;
  }
  bind_writes_.first_post_bind = chain.writes.size();
  Effects effects;
  effects.chains.push_back(std::move(chain));
  return effects;
}

Effects BindCycle::finish(Chain chain, const api::Pod* pod) {
  binds_ = true;
  if (request_.in_memory) return finish_in_memory(std::move(chain));
  api::BindRequest wanted = request_;
  wanted.phase = BindPhase::Succeeded;
  wanted.step = BindStep::Bound;
  wanted.reason.clear();
  wanted.message.clear();
  wanted.failure = FailureClass::None;
  wanted.next_attempt = {};
  bind_writes_.first_post_bind = chain.writes.size();
  if (known_.post_bind_failures < kPostBindAttemptsMax) {
    for (Write& write : post_bind(plugins_, context_of(pod))) chain.writes.push_back(std::move(write));
  } else {
    set_condition(wanted, {std::string(api::kPostBindCompleted), "False", "PostBindFailed",
                           within_bound(known_.post_bind_failure)});
  }
  bind_writes_.post_bind = chain.writes.size() - bind_writes_.first_post_bind;
  for (Chain& recorded : write_status(wanted, IfChanged::Write).chains)
    for (Write& write : recorded.writes) chain.writes.push_back(std::move(write));
  Effects effects;
  if (!chain.writes.empty()) effects.chains.push_back(std::move(chain));
  return effects;
}

Effects BindCycle::fail(Failed failed, std::int32_t failed_attempts) {
  fails_ = true;
  api::BindRequest wanted = request_;
  wanted.step = BindStep::RollingBack;
  wanted.failure = failed.failure;
  wanted.reason = failed.reason;
  wanted.message =
      "binding of " + pod_text(request_) + " to node " + request_.node + " failed: " + failed.message;
  wanted.failed_attempts = failed_attempts;
  wanted.next_attempt = {};
  Effects effects = left_to_give_back(wanted).empty() ? end(wanted) : write_status(wanted, IfChanged::Refuse);
  if (failed.reason != kSuperseded) {
    effects.events.push_back(event_of_pod(view_, request_, "BindingFailed", "Binding", wanted.message));
    effects.events.back().warning = true;
  }
  return effects;
}

Effects BindCycle::fail_with_gang() {
  if (const api::BindRequest* failed = gang_.first_failed_member())
    return fail({FailureClass::OtherPlacement, std::string(api::kGangMemberFailed),
                 "member " + pod_text(*failed) + " of its gang failed: " + failed->message});
  return fail({FailureClass::OtherPlacement, std::string(api::kGangIncomplete),
               "only " + std::to_string(gang_.members().size()) + " of the " +
                   std::to_string(request_.group.size) + " members of its gang were asked to be bound"});
}

// A binding that was sent may have landed, or may still land. This write names the version that was seen: it
// is refused if the pod was bound since, and gives the pod a new version, which a binding in flight does not
// match. The condition reports the failure, as kube-scheduler's does.
std::optional<Chain> BindCycle::seal_pod(const api::Pod& pod, const api::BindRequest& failed) const {
  if (is_sealed(pod, failed)) return std::nullopt;
  const api::Condition condition{"PodScheduled",          "False", "SchedulerError",
                                 sealing_message(failed), now_,    pod.meta.generation};
  return Chain{pod_key(request_), {client::condition_patch(pod_key(request_), pod.meta, condition)}};
}

Effects BindCycle::end(api::BindRequest wanted) const {
  wanted.phase = BindPhase::Failed;
  wanted.step = BindStep::RolledBack;
  wanted.terminal = true;
  return write_status(wanted, IfChanged::Refuse);
}

Effects BindCycle::roll_back() const {
  Effects effects;
  effects.chains = left_to_give_back(request_);
  return effects.chains.empty() ? end(request_) : effects;
}

// Plugins roll back in reverse order, each only when the later ones have nothing left.
std::vector<Chain> BindCycle::left_to_give_back(const api::BindRequest& failed) const {
  const PodObservation observation = observe_pod(view_, request_);
  // A pod that another client bound uses its claims on that node.
  if (observation.state == State::Elsewhere) return {};
  // These writes come first: their answers show whether the pod was bound meanwhile; then nothing is
  // released.
  if (observation.state == State::Free && options_.nominations && !observation.pod->nominated_node.empty())
    return {{pod_key(request_), {client::nomination_patch(pod_key(request_), observation.pod->meta, "")}}};
  if (observation.state == State::Free && gang_.committed())
    if (auto sealed = seal_pod(*observation.pod, failed)) return {*std::move(sealed)};
  const BindContext context{view_, request_, observation.pod, now_, known_.first_seen, options_};
  for (auto plugin = plugins_.rbegin(); plugin != plugins_.rend(); ++plugin)
    if (std::vector<Chain> chains = (*plugin)->rollback(context); !chains.empty()) return chains;
  return {};
}

Effects BindCycle::after_write_failure() {
  const std::int32_t attempts = request_.failed_attempts + 1;
  const bool only_forward = gang_.only_forward();
  if (known_.write_failure->failure == FailureClass::Permanent &&
      !(only_forward && attempts <= kForwardAttemptsMax))
    return fail({FailureClass::Permanent, "BindingRefused", known_.write_failure->message}, attempts);
  const std::int32_t limit = request_.backoff_limit.value_or(api::kBackoffLimitDefault);
  if (attempts > limit && !only_forward)
    return fail({FailureClass::SamePlacement, "BackoffLimitExceeded",
                 std::to_string(attempts) + " attempts failed, the last: " + known_.write_failure->message},
                attempts);
  api::BindRequest wanted = request_;
  wanted.failure = FailureClass::SamePlacement;
  wanted.reason = "BindingError";
  wanted.message =
      within_bound("attempt " + std::to_string(attempts) + " failed: " + known_.write_failure->message);
  wanted.failed_attempts = has(KnownDefect::AttemptsNotPersisted) ? 1 : attempts;
  wanted.next_attempt = next_second(
      now_ + backoff(options_.retry_base, options_.retry_cap, static_cast<std::uint32_t>(attempts)));
  Effects effects = write_status(wanted, IfChanged::Refuse);
  effects.wake_at = wanted.next_attempt;
  return effects;
}

}  // namespace berth::binding
