// What a write request asks for beside its body.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace berth::server {

struct WriteOptions {
  bool dry_run = false;
  std::string user;
  std::vector<std::string> empty_lists;  // of the body: api::Decoded::empty_lists
};

struct DeleteOptions {
  std::optional<std::int64_t> grace_s;
  std::string uid;               // precondition
  std::string resource_version;  // precondition
  std::string propagation;       // Background, Foreground, Orphan or empty
  bool dry_run = false;
};

}  // namespace berth::server
