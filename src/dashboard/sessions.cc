#include "dashboard/sessions.h"

#include <algorithm>

#include "server/http.h"

namespace berth::dashboard {
namespace {

// Takes as long for a wrong text as for the right one.
bool equal_in_constant_time(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char differing = 0;
  for (std::size_t at = 0; at < a.size(); ++at)
    differing = static_cast<unsigned char>(differing | (a[at] ^ b[at]));
  return differing == 0;
}

}  // namespace

std::string Sessions::make_code() {
  const std::lock_guard lock(mutex_);
  if (codes_.size() == kCodesMax) codes_.pop_front();
  return codes_.emplace_back(random_.uuid());
}

std::optional<std::string> Sessions::exchange(std::string_view code, Time now) {
  const std::lock_guard lock(mutex_);
  const auto used = std::find_if(codes_.begin(), codes_.end(), [&](const std::string& known) {
    return equal_in_constant_time(known, code);
  });
  if (used == codes_.end()) return std::nullopt;
  codes_.erase(used);
  if (tokens_.size() == kTokensMax) tokens_.pop_front();
  return tokens_.emplace_back(Token{random_.uuid() + random_.uuid(), now + kTokenLife}).text;
}

bool Sessions::knows(std::string_view authorization, Time now) const {
  const std::string_view text = server::bearer_token(authorization);
  const std::lock_guard lock(mutex_);
  return std::any_of(tokens_.begin(), tokens_.end(), [&](const Token& token) {
    return now < token.until && equal_in_constant_time(token.text, text);
  });
}

}  // namespace berth::dashboard
