// Whether this process leads: a LeaderElection with a client that sends its requests.
#pragma once

#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/random.h"
#include "client/leader_election.h"

namespace berth::cli {

// Owner: the main thread, which calls step() every now and then. Blocks only in release().
class PartLeading {
 public:
  // Both outlive it.
  PartLeading(client::ApiClient& client, const Clock& clock, client::ElectionOptions options);
  // Sends what is due. Whether it leads now.
  bool step();
  // Gives leadership back, waiting at most `limit` for the answer.
  void release(Duration limit);

 private:
  struct Inbox;
  void send(client::ApiRequest request);
  // The answer that came, waiting for it at most until then.
  std::optional<client::ApiReply> next_answer(Duration limit);

  client::ApiClient& client_;
  const Clock& clock_;
  client::LeaderElection election_;
  std::shared_ptr<Inbox> inbox_;
  bool under_way_ = false;  // a request, until its answer was taken
};

// Of this process: the machine's name and a random part.
std::string own_identity(Random& random);

}  // namespace berth::cli
