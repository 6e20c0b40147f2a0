#include "sim/faults.h"

namespace berth::sim {
namespace {

client::ApiReply failed(client::Delivery delivery, int code = 0, std::string reason = "") {
  client::ApiReply reply;
  reply.delivery = delivery;
  reply.code = code;
  reply.reason = std::move(reason);
  reply.message = "injected fault";
  return reply;
}

}  // namespace

void FaultyClient::submit(client::ApiRequest request, std::function<void(client::ApiReply)> done) {
  using client::Delivery;
  const bool read = request.verb == client::Verb::Get;
  const bool deadly = deadly_resource_.empty() || deadly_resource_ == request.resource.resource;
  if (!read && deadly && writes_to_live_ > 0 && --writes_to_live_ == 0) dead_ = true;
  if (dead_) return;
  if (read) return inner_.submit(std::move(request), std::move(done));
  if (strikes(rates_.not_sent)) return done(failed(Delivery::NotSent));
  if (strikes(rates_.lost_request)) return done(failed(Delivery::Lost));
  if (strikes(rates_.throttled)) return done(failed(Delivery::Answered, 429, "TooManyRequests"));
  if (strikes(rates_.server_error)) return done(failed(Delivery::Answered, 500, "InternalError"));
  const bool lost = strikes(rates_.lost_answer);
  WriteCounts& counts = counts_[request.resource.resource];
  inner_.submit(std::move(request), [&counts, lost, done = std::move(done)](client::ApiReply reply) {
    ++(reply.ok() ? counts.accepted : reply.code == 409 ? counts.conflicts : counts.refused);
    done(lost ? failed(Delivery::Lost) : std::move(reply));
  });
}

}  // namespace berth::sim
