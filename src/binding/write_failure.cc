#include "binding/write_failure.h"

namespace berth::binding {
namespace {

using client::Delivery;

bool is_race(const client::ApiReply& reply) {
  return reply.delivery == Delivery::Lost || reply.reason == "Conflict" || reply.reason == "NotFound" ||
         reply.reason == "AlreadyExists";
}

bool may_pass(const client::ApiReply& reply) {
  constexpr int kNotFound = 404, kThrottled = 429, kServerError = 500, kTimeout = 408;
  const bool unknown_path = reply.code == kNotFound && reply.reason.empty();
  return unknown_path || reply.delivery != Delivery::Answered || reply.code == kThrottled ||
         reply.code == kTimeout || reply.code >= kServerError || is_race(reply);
}

std::string text_of(const client::ApiReply& reply) {
  return reply.message.empty() ? "no answer from the API server" : reply.message;
}

std::optional<WriteFailure> write_failure_of(const client::ChainOutcome& chain, std::size_t before_binding,
                                             const api::ObjectKey& pod) {
  if (chain.ok || chain.key.kind == api::Kind::BindRequest) return std::nullopt;
  const bool binding = chain.key == pod;
  // Only the request's status follows the binding.
  if (binding && chain.writes_accepted > before_binding) return std::nullopt;
  if (!binding && is_race(chain.last)) return std::nullopt;
  // The object has another version than the write names; it was read again.
  if (chain.last.reason == "Conflict") return std::nullopt;
  WriteFailure write_failure;
  if (!may_pass(chain.last)) write_failure.failure = api::FailureClass::Permanent;
  write_failure.message = api::to_text(chain.key) + ": " + text_of(chain.last);
  return write_failure;
}

}  // namespace

std::optional<WriteFailure> write_failure_of(const client::Outcome& outcome, const BindWrites& writes,
                                             const api::ObjectKey& pod) {
  std::optional<WriteFailure> worst;
  for (const client::ChainOutcome& chain : outcome.chains) {
    std::optional<WriteFailure> write_failure = write_failure_of(chain, writes.before_binding, pod);
    if (write_failure && (!worst || write_failure->failure == api::FailureClass::Permanent))
      worst = std::move(write_failure);
  }
  return worst;
}

std::optional<std::string> post_bind_failure_of(const client::Outcome& outcome, const BindWrites& writes) {
  if (outcome.chains.size() != 1) return std::nullopt;
  const client::ChainOutcome& chain = outcome.chains.front();
  const bool in_post_bind = chain.writes_accepted >= writes.first_post_bind &&
                            chain.writes_accepted < writes.first_post_bind + writes.post_bind;
  if (chain.ok || !in_post_bind) return std::nullopt;
  return text_of(chain.last);
}

}  // namespace berth::binding
