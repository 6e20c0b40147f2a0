#include "server/continue_token.h"

#include "api/decode_syntax.h"
#include "base/base64.h"
#include "base/json.h"

namespace berth::server {
namespace {

constexpr std::int64_t kNewest = -1;
constexpr std::size_t kBytesPerGroup = 4;  // of base64

bool is_base64url(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

// Where Go's decoder gives up: at a character that does not belong, or at a last group of one character.
std::optional<std::size_t> first_bad_byte(std::string_view token) {
  for (std::size_t i = 0; i < token.size(); ++i)
    if (!is_base64url(token[i])) return i;
  if (token.size() % kBytesPerGroup == 1) return token.size() - 1;
  return std::nullopt;
}

}  // namespace

std::string encode_continue(const ContinuePoint& point) {
  const std::int64_t revision = point.revision ? static_cast<std::int64_t>(*point.revision) : kNewest;
  return base64url_encode(to_string(Json::object(
      {{"v", "meta.k8s.io/v1"}, {"rv", revision}, {"start", point.after.ns + "/" + point.after.name}})));
}

Result<ContinuePoint> decode_continue(std::string_view token, std::string_view resource) {
  constexpr const char* kRefused = "invalid continue token: continue key is not valid";
  const Error refused(ErrorCode::Invalid, kRefused);
  if (const std::optional<std::size_t> at = first_bad_byte(token))
    return Error(ErrorCode::Invalid,
                 kRefused + (": illegal base64 data at input byte " + std::to_string(*at)));
  const std::string text = base64url_decode(token).value_or("");
  const Result<Json> json = parse_json(text);
  if (!json) return Error(ErrorCode::Invalid, kRefused + (": " + api::json_syntax_error(text)));
  if (json->string_at("v") != "meta.k8s.io/v1") return refused;
  const std::int64_t revision = json->int_at("rv");
  if (revision == 0)
    return Error(
        ErrorCode::Invalid,
        kRefused + std::string(": incorrect encoded start resourceVersion (version meta.k8s.io/v1)"));
  const std::string_view start = json->string_at("start");
  if (start.empty())
    return Error(ErrorCode::Invalid,
                 kRefused + std::string(": encoded start key empty (version meta.k8s.io/v1)"));
  const std::size_t slash = start.find('/');
  if (slash == std::string_view::npos) return refused;
  return ContinuePoint{
      revision < 0 ? std::nullopt : std::optional(static_cast<store::Revision>(revision)),
      {std::string(resource), std::string(start.substr(0, slash)), std::string(start.substr(slash + 1))}};
}

}  // namespace berth::server
