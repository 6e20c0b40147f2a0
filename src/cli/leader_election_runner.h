// Whether this process leads: a LeaderElection with a client that sends its requests, and the fence that it
// opens for the writes of the others.
#pragma once

#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/random.h"
#include "client/decider.h"
#include "client/leader_election.h"
#include "client/lease_fence.h"

namespace berth::cli {

enum class LeaderState {
  Unknown,  // nobody is known to lead
  Follows,
  Leads,
  Lost,  // it led and does not any more: for good
};

// Owner: the main thread, which calls step() every now and then. Blocks only in release().
class LeaderElectionRunner {
 public:
  // Both outlive it; `clock` also outlives what is under way in `client`.
  LeaderElectionRunner(client::ApiClient& client, const Clock& clock, client::ElectionOptions options);
  // Sends what is due.
  LeaderState step();
  client::Leadership leadership() const { return {election_.epoch()}; }
  // For everything but the Lease: it writes as long as this process leads.
  client::ApiClient& fenced_client() { return fenced_; }
  // Closes the fence and gives leadership back, waiting at most `limit` for the answer. Not while a write is
  // unanswered: it could land beside what the next leader does, which then waits until the Lease has run out.
  void release(Duration limit);

 private:
  struct Inbox;
  void send(client::ApiRequest request);
  // The answer that came, waiting for it at most until then.
  std::optional<client::ApiReply> next_answer(Duration limit);

  client::ApiClient& client_;
  const Clock& clock_;
  const std::string identity_;
  client::LeaderElection election_;
  const std::shared_ptr<client::LeaseFence> fence_;
  client::FencedClient fenced_;
  bool led_ = false;
  std::shared_ptr<Inbox> inbox_;
  bool under_way_ = false;  // a request, until its answer was taken
};

// Of this process: the machine's name and a random part.
std::string own_identity(Random& random);

}  // namespace berth::cli
