#include "server/continue_token.h"

#include "api/decode_syntax.h"
#include "base/base64.h"
#include "base/json.h"

namespace berth::server {
namespace {

constexpr std::int64_t kNewest = -1;

}  // namespace

std::string encode_continue(const ContinuePoint& point) {
  const std::int64_t revision = point.revision ? static_cast<std::int64_t>(*point.revision) : kNewest;
  return base64url_encode(to_string(Json::object(
      {{"v", "meta.k8s.io/v1"}, {"rv", revision}, {"start", point.after.ns + "/" + point.after.name}})));
}

Result<ContinuePoint> decode_continue(std::string_view token, std::string_view resource) {
  constexpr const char* kRefused = "invalid continue token: continue key is not valid";
  const Error refused(ErrorCode::Invalid, kRefused);
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
