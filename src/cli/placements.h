// Prints placements as they happen: a line for each pod that gets a node, starts to run, or waits, with the
// reason.
#pragma once

#include <memory>

#include "client/api_client.h"

namespace berth::cli {

// Prints on stdout, from the client's threads, until its destruction.
class PlacementPrinter {
 public:
  explicit PlacementPrinter(client::ApiClient& client);
  ~PlacementPrinter();

 private:
  class Lines;
  class PodReceiver;
  class EventReceiver;
  std::unique_ptr<Lines> lines_;
  std::unique_ptr<PodReceiver> pods_;
  std::unique_ptr<EventReceiver> events_;
  std::unique_ptr<client::Subscription> pod_subscription_, event_subscription_;
};

}  // namespace berth::cli
