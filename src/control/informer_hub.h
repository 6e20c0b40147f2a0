// One watch and one decoding per resource and process, fanned out to the engines that want it.
//
// Attach everything first, then start. Decoding runs on the API client's threads.
#pragma once

#include <memory>
#include <vector>

#include "client/api_client.h"
#include "control/mailbox.h"

namespace berth::control {

class InformerHub {
 public:
  // `client` outlives the hub.
  explicit InformerHub(client::ApiClient& client);
  ~InformerHub();

  // Adds a receiver of this resource; asking twice for the same pair changes nothing. Before start() only.
  void attach(const api::ResourceRef& resource, std::shared_ptr<Mailbox> mailbox);
  void start();
  // No message is pushed after it returns.
  void stop();

 private:
  class Informer;
  client::ApiClient& client_;
  bool started_ = false;
  std::vector<std::unique_ptr<Informer>> informers_;
};

}  // namespace berth::control
