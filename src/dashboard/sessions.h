// Who may read the dashboard on loopback: those who followed a link that the process gave out.
//
// A link has a code that works once; it is exchanged for a token, which the page sends as a bearer token. No
// cookie, so a page of another site or another port has nothing that a browser would add. Thread-safe.
// Bounded: kCodesMax codes and kTokensMax tokens, of which the oldest end first; both end with the process.
#pragma once

#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/random.h"
#include "base/time.h"

namespace berth::dashboard {

inline constexpr std::size_t kCodesMax = 16;
inline constexpr std::size_t kTokensMax = 64;
inline constexpr Duration kTokenLife = Duration::minutes(12 * 60);

class Sessions {
 public:
  // `random` outlives it.
  explicit Sessions(Random& random) : random_(random) {}

  std::string make_code();
  // A token for a code that was not used yet. `now` is monotonic.
  std::optional<std::string> exchange(std::string_view code, Time now);
  // `authorization`: the header's value, "Bearer TOKEN".
  bool knows(std::string_view authorization, Time now) const;

 private:
  struct Token {
    std::string text;
    Time until;
  };

  Random& random_;
  mutable std::mutex mutex_;
  std::deque<std::string> codes_;
  std::deque<Token> tokens_;
};

}  // namespace berth::dashboard
