// One of several processes leads: a candidate for a Lease, as client-go's leader election behaves.
//
// Pure: time comes in, requests go out; its owner sends them one at a time. Two clocks: wall time is
// only written into the Lease, monotonic time decides. Never compares another machine's clock with ours: a
// holder counts as alive while its record keeps changing. Source: coordination.k8s.io/v1 Lease; client-go
// tools/leaderelection (15 s lease, 10 s to renew, 2 s between tries).
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "client/decider.h"

namespace berth::client {

struct ElectionOptions {
  std::string ns = "kube-system";
  std::string name;
  std::string identity;  // unique among the candidates
  Duration lease = Duration::seconds(15);
  Duration renew_deadline = Duration::seconds(10);  // leads no longer than that after a renewal was sent
  Duration retry = Duration::seconds(2);
};

class LeaderElection {
 public:
  explicit LeaderElection(ElectionOptions options) : options_(std::move(options)) {}

  // The request to send now; nothing while an answer is outstanding or the next try is not due.
  std::optional<ApiRequest> next_request(Time wall, Time monotonic);
  // Takes the answer to the latest request.
  void answered(const ApiReply& reply, Time monotonic);
  bool leads(Time monotonic) const;
  // Until when it leads if no further renewal is accepted; not set when it never led or has released.
  Time deadline() const { return renewed_at_.is_set() ? renewed_at_ + options_.renew_deadline : Time(); }
  // Of the claim that it holds: the Lease, and leaseTransitions plus one; epoch 0 when it holds none. The
  // epoch is larger with each new holder, also when the Lease is deleted while this candidate looks on. A
  // holder whose Lease is gone, or is another one of that name, leads no more: others may lead at once.
  Leadership term() const;
  // The holder as last seen; empty when unknown or none.
  const std::string& holder() const { return holder_; }
  // The request that gives the Lease up, so that others can lead at once; nothing when this candidate does
  // not lead. It does not lead afterwards.
  std::optional<ApiRequest> release(Time wall, Time monotonic);

 private:
  enum class Step { Read, Make, Take };

  ApiRequest request(Verb verb, std::string body) const;
  Json claimed(Time wall) const;
  void observe(const ApiReply& reply, Time monotonic);
  bool held_by_another(Time monotonic) const;
  void read_answered(const ApiReply& reply, Time monotonic);

  const ElectionOptions options_;
  Step step_ = Step::Read;
  bool awaiting_ = false;
  Time next_at_;
  Time sent_at_;
  std::optional<Json> lease_;  // as last seen; absent when there is none
  std::string record_;         // its spec, as text
  std::string holder_;
  Time changed_at_;  // when its present spec was first seen
  Duration held_for_;
  Time renewed_at_;
  std::uint64_t epoch_ = 0;
  std::string uid_;                               // of the Lease that it holds
  std::optional<std::int64_t> transitions_seen_;  // the largest of any claim that was seen
};

}  // namespace berth::client
