// Changes of BindRequests in order, for the receivers that follow them.
//
// Each receiver has read up to a position; what all have read is dropped. Nothing is lost: a full log is
// delivered at once. Owner: the table of MemoryRequests, under its lock. Cost: a pointer a change, one call a
// receiver and delivery.
#pragma once

#include <cstdint>
#include <vector>

#include "client/api_client.h"

namespace berth::binding {

// Of the changes that wait for the next delivery.
inline constexpr std::size_t kRequestLogBytesMax = 1u << 20;

class RequestLog {
 public:
  // Reads what is appended from now on.
  void follow(client::WatchReceiver& receiver);
  void leave(const client::WatchReceiver& receiver);
  bool is_followed_by(const client::WatchReceiver& receiver) const;

  // These changes are seen together.
  void append(std::vector<client::RawChange> changes);
  // Every receiver reads to the end, in one batch.
  void deliver();

 private:
  struct Reader {
    client::WatchReceiver* receiver = nullptr;
    std::uint64_t position = 0;  // of the next change that it reads
  };
  std::vector<Reader> readers_;  // in the order of their beginning
  std::vector<client::RawChange> changes_;
  std::uint64_t first_ = 0;  // the position of the first of them
  std::size_t bytes_ = 0;
};

}  // namespace berth::binding
