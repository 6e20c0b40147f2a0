// One watch and one decoding per resource and process, for all engines that attach.
//
// Attach everything first, then start. Decoding runs on the API client's threads. start(), relist() and
// stop() are called on one thread.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "api/decoded_versions.h"
#include "client/api_client.h"
#include "engine/mailbox.h"

namespace berth::engine {

class SharedInformers {
 public:
  // `client` outlives it. `decoded`: shared with others; null: not shared.
  explicit SharedInformers(client::ApiClient& client,
                           std::shared_ptr<api::DecodedVersions> decoded = nullptr);
  ~SharedInformers();

  // Adds a receiver of this resource; a repeated pair changes nothing. Before start() only.
  void attach(const api::ResourceRef& resource, std::shared_ptr<Mailbox> mailbox);
  void start();
  // Lists everything again. `between` runs when no message of an earlier list or watch can arrive any more,
  // and before a new list is requested. Before start(): only `between` runs.
  void relist(const std::function<void()>& between);
  // No message is pushed after it returns.
  void stop();

 private:
  class Informer;
  client::ApiClient& client_;
  const std::shared_ptr<api::DecodedVersions> decoded_;
  bool started_ = false;
  std::vector<std::unique_ptr<Informer>> informers_;
};

}  // namespace berth::engine
