// Whether this process leads: a LeaderElection with a client that sends its requests, and the fence for the
// writes of the others.
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
  Unknown,  // no leader is known
  Follows,
  Leads,
  Lost,  // it has led and never will again
};

// Owner: the main thread, which calls step() periodically. Blocks only in release().
class LeaderElectionRunner {
 public:
  // Both outlive it; `clock` also outlives requests in flight in `client`.
  LeaderElectionRunner(client::ApiClient& client, const Clock& clock, client::ElectionOptions options);
  // Sends the requests that are due.
  LeaderState step();
  client::Leadership leadership() const { return election_.term(); }
  // For everything but the Lease: it writes as long as this process leads.
  client::ApiClient& fenced_client() { return fenced_; }
  // Closes the fence and releases the Lease, waiting at most `limit` for the response. Does nothing while a
  // write is unanswered: it could land among the next leader's writes, so that leader waits until the Lease
  // has expired.
  void release(Duration limit);

 private:
  struct Inbox;
  void send(client::ApiRequest request);
  // The response, if it arrives before the deadline.
  std::optional<client::ApiReply> next_answer(Duration limit);

  client::ApiClient& client_;
  const Clock& clock_;
  const std::string identity_;
  client::LeaderElection election_;
  const std::shared_ptr<client::LeaseFence> fence_;
  client::FencedClient fenced_;
  bool led_ = false;
  std::shared_ptr<Inbox> inbox_;
  bool under_way_ = false;  // a request, until its response was taken
};

// The identity of this process: the machine's name and a random part.
std::string own_identity(Random& random);

}  // namespace berth::cli
