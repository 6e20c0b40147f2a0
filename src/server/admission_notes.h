// What one request is to admission webhooks besides its objects, and what they said of it.
//
// Owner: the request (ResourceCall). Thread-safe: webhooks answer side by side. Source: audit annotations and
// warnings of k8s.io/apiserver 1.37.
#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "server/http.h"

namespace berth::server {

// Of one request; further ones are dropped.
inline constexpr std::size_t kRequestWarningsMax = 256;
inline constexpr std::size_t kRequestAnnotationsMax = 256;

// What webhooks leave behind.
struct AdmissionRecord {
  std::vector<std::string> warnings;
  std::vector<std::pair<std::string, std::string>> annotations;  // of the audit record
  std::string refused_by;                                        // the webhook's name; empty: none did
};

class AdmissionNotes {
 public:
  // `request` outlives the notes.
  explicit AdmissionNotes(const HttpRequest& request) : request_(request) {}

  const HttpRequest& request() const { return request_; }

  void warn(std::string text) {
    const std::lock_guard lock(mutex_);
    if (record_.warnings.size() < kRequestWarningsMax) record_.warnings.push_back(std::move(text));
  }
  void annotate(std::string key, std::string value) {
    const std::lock_guard lock(mutex_);
    if (record_.annotations.size() < kRequestAnnotationsMax)
      record_.annotations.emplace_back(std::move(key), std::move(value));
  }
  void refuse(std::string webhook) {
    const std::lock_guard lock(mutex_);
    record_.refused_by = std::move(webhook);
  }
  AdmissionRecord record() const {
    const std::lock_guard lock(mutex_);
    return record_;
  }

 private:
  const HttpRequest& request_;
  mutable std::mutex mutex_;
  AdmissionRecord record_;
};

}  // namespace berth::server
