// Log lines about writes that the API server refuses for good: a right taken away, an admission rule.
//
// One line for each kind of write and status code in kRefusedWriteQuiet, with the number of those left out.
// Owner: one engine, on one thread. Memory: kRefusedWriteKindsMax entries.
#pragma once

#include "base/lru_map.h"
#include "base/time.h"
#include "client/api_client.h"

namespace berth::engine {

inline constexpr std::size_t kRefusedWriteKindsMax = 64;
inline constexpr Duration kRefusedWriteQuiet = Duration::seconds(30);

class RefusedWriteLog {
 public:
  // `reply` is the answer that ended the write. Races (409, 404, a JSON patch whose test fails) are not worth
  // a line: they are part of the protocol.
  void note(const client::ApiRequest& request, const client::ApiReply& reply, Time now);

 private:
  struct Kind {
    Time told_at;
    std::uint64_t left_out = 0;
  };
  LruMap<Kind> kinds_{kRefusedWriteKindsMax};
};

}  // namespace berth::engine
