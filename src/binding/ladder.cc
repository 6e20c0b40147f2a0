#include "binding/ladder.h"

#include <algorithm>

#include "binding/dynamic_resources.h"

namespace berth::binding {
namespace {

using api::BindPhase;
using api::BindStep;
using api::FailureClass;
using client::Chain;
using client::Effects;
using client::Write;
using State = PodSight::State;

api::ObjectKey pod_key(const api::BindRequest& request) {
  return {api::Kind::Pod, request.meta.ns, request.pod_name, {}};
}

std::string pod_text(const api::BindRequest& request) {
  return "pod " + request.meta.ns + "/" + request.pod_name;
}

// Events take no longer text. Never cut inside a character.
std::string within_bound(std::string message) {
  if (message.size() <= kMessageBytesMax) return message;
  std::size_t end = kMessageBytesMax;
  while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xC0) == 0x80) --end;
  message.resize(end);
  return message;
}

// API times have whole seconds; rounded up, so that a stored time is never early.
Time next_second(Time time) {
  return time.to_second() == time ? time : time.to_second() + Duration::seconds(1);
}

PreBindStep pre_bind(const Plugins& plugins, const BindContext& context) {
  for (const auto& plugin : plugins) {
    PreBindStep step = plugin->pre_bind(context);
    if (!step.chains.empty() || !std::holds_alternative<Ready>(step.verdict)) return step;
  }
  return {{}, Ready{}};
}

Write binding_of(const api::BindRequest& request) {
  Write write;
  write.request.verb = client::Verb::Create;
  write.request.resource = api::ref_of(api::Kind::Pod);
  write.request.ns = request.meta.ns;
  write.request.name = request.pod_name;
  write.request.subresource = "binding";
  write.request.body = to_string(Json::object(
      {{"apiVersion", "v1"},
       {"kind", "Binding"},
       {"metadata",
        Json::object({{"name", request.pod_name}, {"namespace", request.meta.ns}, {"uid", request.pod_uid}})},
       {"target", Json::object({{"apiVersion", "v1"}, {"kind", "Node"}, {"name", request.node}})}}));
  return write;
}

void earlier(std::optional<Time>& at, Time other) {
  if (!at || other < *at) at = other;
}

}  // namespace

PodSight look_for_pod(const client::View& view, const api::BindRequest& request) {
  const api::Pod* pod = view.pods.find(request.meta.ns, request.pod_name);
  const std::string name = pod_text(request);
  if (!pod) return {State::Unknown, nullptr, name + " does not exist any more"};
  if (pod->meta.uid != request.pod_uid)
    return {State::Unknown, nullptr,
            name + " is another one by now: UID " + pod->meta.uid + ", decided for " + request.pod_uid};
  if (pod->node_name == request.node) return {State::OnOurNode, pod, ""};
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

Ladder::Ladder(const client::View& view, const api::BindRequest& request, Time now,
               const BinderOptions& options, const Plugins& plugins, const Refusal* refusal)
    : view_(view),
      request_(request),
      key_(client::key_of(api::Kind::BindRequest, request.meta)),
      now_(now),
      options_(options),
      plugins_(plugins),
      refusal_(refusal),
      gang_(view, request) {}

Effects Ladder::climb() {
  const PodSight sight = look_for_pod(view_, request_);
  // Before anything else: a binding whose answer was lost may have been carried out.
  if (sight.state == State::OnOurNode) return record_success();
  if (request_.step == BindStep::RollingBack) return roll_back();
  if (gang_.aborted()) return fail_with_gang();
  if (auto ended = identify(sight)) return *std::move(ended);
  if (refusal_ && !refusal_->of_addition) return after_refusal();
  if (request_.next_attempt.is_set() && now_ < request_.next_attempt) return wake(request_.next_attempt);
  return advance(sight);
}

std::optional<Effects> Ladder::identify(const PodSight& sight) const {
  const bool late = may_be_late(request_, now_);
  if (sight.state == State::Unknown && late) return wake(request_.meta.created + kSightGrace);
  if (sight.state != State::Free) return fail({FailureClass::Permanent, std::string(kSuperseded), sight.why});
  if (!view_.nodes.find("", request_.node)) {
    if (late) return wake(request_.meta.created + kSightGrace);
    return fail(
        {FailureClass::OtherPlacement, "NodeNotFound", "node " + request_.node + " does not exist any more"});
  }
  if (const Status valid = validate(plugins_, *sight.pod); !valid)
    return fail({FailureClass::Permanent, "InvalidPod", valid.error().text()});
  return std::nullopt;
}

Effects Ladder::advance(const PodSight& sight) {
  const bool committed = !gang_.alone() && gang_.committed();
  const bool on_version = refusal_ && refusal_->of_addition;
  const BindContext context{view_, request_, sight.pod, now_, options_, committed, on_version};
  PreBindStep step = pre_bind(plugins_, context);
  if (auto* failed = std::get_if<Failed>(&step.verdict)) {
    pre_bind_end_ = failed->reason == kBindingTimeout ? PreBindStatus::Timeout : PreBindStatus::Failure;
    return fail(std::move(*failed));
  }
  if (!step.chains.empty()) {
    Effects effects;
    effects.chains = std::move(step.chains);
    return effects;
  }
  if (const auto* waiting = std::get_if<Waiting>(&step.verdict)) {
    waits_for_conditions_ = !waiting->event_reason.empty();
    return wait(*waiting);
  }
  pre_bind_end_ = PreBindStatus::Success;
  return gang_.committed() ? bind(*sight.pod) : pass_barrier();
}

Effects Ladder::wake(Time at) const {
  Effects effects;
  effects.wake_at = at;
  return effects;
}

Effects Ladder::write_status(const api::BindRequest& wanted, IfChanged if_changed) const {
  api::BindRequest status = wanted;
  // Every member's word keeps the gang's: the leader's object may go first.
  status.committed = wanted.committed || (!gang_.alone() && gang_.committed());
  std::optional<Write> write = status_write(request_, status, if_changed);
  return write ? Effects::write(key_, *std::move(write)) : Effects::nothing();
}

Effects Ladder::wait(const Waiting& waiting) const {
  Effects effects;
  if (!waiting.event_reason.empty() && request_.step != BindStep::WaitingForDevices) {
    api::BindRequest wanted = request_;
    wanted.step = BindStep::WaitingForDevices;
    wanted.message = waiting.why;
    effects = write_status(wanted, IfChanged::Refuse);
    effects.events.push_back(event_of_pod(view_, request_, waiting.event_reason, "Scheduling", waiting.why));
  }
  if (waiting.until.is_set()) effects.wake_at = waiting.until;
  return effects;
}

Effects Ladder::pass_barrier() const {
  if (!gang_.leads() || !gang_.complete()) return wait_for_gang();
  for (const api::BindRequest* member : gang_.members()) {
    if (member == &request_) continue;
    const PodSight sight = look_for_pod(view_, *member);
    if (sight.state == State::OnOurNode) continue;
    if (sight.state != State::Free || !view_.nodes.find("", member->node)) return wait_for_gang();
    const PreBindStep step = pre_bind(plugins_, {view_, *member, sight.pod, now_, options_, false});
    if (!step.chains.empty() || !std::holds_alternative<Ready>(step.verdict)) return wait_for_gang();
  }
  api::BindRequest wanted = request_;
  wanted.step = BindStep::Binding;
  wanted.committed = true;
  return write_status(wanted, IfChanged::Refuse);
}

Effects Ladder::wait_for_gang() const {
  const bool dated = request_.meta.created.is_set();
  std::optional<Time> at;
  if (!gang_.complete()) {
    if (request_.deadline.is_set()) earlier(at, request_.deadline);
    if (dated) earlier(at, request_.meta.created + options_.gang_timeout);
    if (at && now_ >= *at)
      return fail({FailureClass::OtherPlacement, std::string(api::kGangIncomplete),
                   "only " + std::to_string(gang_.size()) + " of the " + std::to_string(request_.group.size) +
                       " members of its gang were asked to be bound in time"});
  }
  Effects effects;
  const Time quiet_until = dated ? request_.meta.created + kQuietGangWait : now_;
  if (now_ < quiet_until) {
    earlier(at, quiet_until);
  } else if (request_.step != BindStep::WaitingForGang) {
    api::BindRequest wanted = request_;
    wanted.step = BindStep::WaitingForGang;
    wanted.message = "waiting for the other members of its gang";
    effects = write_status(wanted, IfChanged::Refuse);
  }
  effects.wake_at = at;
  return effects;
}

Effects Ladder::bind(const api::Pod& pod) {
  binds_ = true;
  Effects success = record_success();
  Chain chain{pod_key(request_), {}, {}};
  if (auto told = tell_node_allocatable(pod, request_.node_allocatable))
    chain.writes.push_back(*std::move(told));
  writes_before_binding_ = chain.writes.size();
  chain.writes.push_back(binding_of(request_));
  for (Chain& recorded : success.chains)
    for (Write& write : recorded.writes) chain.writes.push_back(std::move(write));
  Effects effects;
  effects.chains.push_back(std::move(chain));
  return effects;
}

Effects Ladder::record_success() {
  binds_ = true;
  api::BindRequest wanted = request_;
  wanted.phase = BindPhase::Succeeded;
  wanted.step = BindStep::Bound;
  wanted.reason.clear();
  wanted.message.clear();
  wanted.failure = FailureClass::None;
  wanted.next_attempt = {};
  return write_status(wanted, IfChanged::Write);
}

Effects Ladder::fail(Failed failed, std::int32_t failed_attempts) const {
  api::BindRequest wanted = request_;
  wanted.step = BindStep::RollingBack;
  wanted.failure = failed.failure;
  wanted.reason = failed.reason;
  wanted.message =
      "binding of " + pod_text(request_) + " to node " + request_.node + " failed: " + failed.message;
  wanted.failed_attempts = failed_attempts;
  wanted.next_attempt = {};
  Effects effects =
      gang_.may_end() && left_to_give_back().empty() ? end(wanted) : write_status(wanted, IfChanged::Refuse);
  if (failed.reason != kSuperseded) {
    effects.events.push_back(event_of_pod(view_, request_, "BindingFailed", "Binding", wanted.message));
    effects.events.back().warning = true;
  }
  return effects;
}

Effects Ladder::fail_with_gang() const {
  std::string message = "a member of its gang failed";
  if (const api::BindRequest* culprit = gang_.culprit())
    message = "member " + pod_text(*culprit) + " of its gang failed: " + culprit->message;
  return fail({FailureClass::OtherPlacement, std::string(kGangMemberFailed), std::move(message)});
}

Effects Ladder::end(api::BindRequest wanted) const {
  wanted.phase = BindPhase::Failed;
  wanted.step = BindStep::RolledBack;
  wanted.terminal = true;
  return write_status(wanted, IfChanged::Refuse);
}

Effects Ladder::roll_back() const {
  Effects effects;
  effects.chains = left_to_give_back();
  if (!effects.chains.empty() || !gang_.may_end()) return effects;
  return end(request_);
}

// Later plugins give back first; the next in line only when nothing of theirs is left.
std::vector<Chain> Ladder::left_to_give_back() const {
  const PodSight sight = look_for_pod(view_, request_);
  // A living pod that somebody else bound uses its claims there.
  if (sight.state == State::Elsewhere) return {};
  const BindContext context{view_, request_, sight.pod, now_, options_, false};
  for (auto plugin = plugins_.rbegin(); plugin != plugins_.rend(); ++plugin)
    if (std::vector<Chain> chains = (*plugin)->rollback(context); !chains.empty()) return chains;
  return {};
}

Effects Ladder::after_refusal() const {
  const std::int32_t attempts = request_.failed_attempts + 1;
  if (refusal_->failure == FailureClass::Permanent)
    return fail({FailureClass::Permanent, "BindingRefused", refusal_->message}, attempts);
  const std::int32_t limit = request_.backoff_limit.value_or(api::kBackoffLimitDefault);
  // Once a gang is committed there is no way back for the others: go forward.
  const bool only_forward = !gang_.alone() && gang_.committed();
  if (attempts > limit && !only_forward)
    return fail({FailureClass::SamePlacement, "BackoffLimitExceeded",
                 std::to_string(attempts) + " attempts failed, the last: " + refusal_->message},
                attempts);
  api::BindRequest wanted = request_;
  wanted.failure = FailureClass::SamePlacement;
  wanted.reason = "BindingError";
  wanted.message = within_bound("attempt " + std::to_string(attempts) + " failed: " + refusal_->message);
  wanted.failed_attempts = attempts;
  wanted.next_attempt = next_second(now_ + retry_delay(options_, request_.failed_attempts));
  Effects effects = write_status(wanted, IfChanged::Refuse);
  effects.wake_at = wanted.next_attempt;
  return effects;
}

}  // namespace berth::binding
