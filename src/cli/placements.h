// Prints placements as they happen: one line for each pod that gets its node or starts to run.
#pragma once

#include <memory>

#include "client/api_client.h"

namespace berth::cli {

// Prints on stdout, from the client's thread, until it is destroyed.
class PlacementPrinter {
 public:
  explicit PlacementPrinter(client::ApiClient& client);
  ~PlacementPrinter();

 private:
  class Receiver;
  std::unique_ptr<Receiver> receiver_;
  std::unique_ptr<client::Subscription> subscription_;
};

}  // namespace berth::cli
