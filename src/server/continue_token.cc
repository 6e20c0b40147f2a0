#include "server/continue_token.h"

#include "api/decode_syntax.h"
#include "base/json.h"

namespace berth::server {
namespace {

constexpr std::int64_t kNewest = -1;
constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string to_base64(std::string_view bytes) {
  std::string text;
  unsigned buffer = 0;
  int bits = 0;
  for (const char c : bytes) {
    buffer = buffer << 8 | static_cast<unsigned char>(c);
    for (bits += 8; bits >= 6; bits -= 6) text += kAlphabet[buffer >> (bits - 6) & 63];
  }
  if (bits > 0) text += kAlphabet[buffer << (6 - bits) & 63];
  return text;
}

std::string from_base64(std::string_view text) {
  std::string bytes;
  unsigned buffer = 0;
  int bits = 0;
  for (const char c : text) {
    const std::string_view alphabet(kAlphabet, 64);
    const std::size_t value = alphabet.find(c);
    if (value == std::string_view::npos) return "";
    buffer = buffer << 6 | static_cast<unsigned>(value);
    if ((bits += 6) >= 8) bytes += static_cast<char>(buffer >> (bits -= 8) & 255);
  }
  return bytes;
}

}  // namespace

std::string encode_continue(const ContinuePoint& point) {
  const std::int64_t revision = point.revision ? static_cast<std::int64_t>(*point.revision) : kNewest;
  return to_base64(to_string(Json::object(
      {{"v", "meta.k8s.io/v1"}, {"rv", revision}, {"start", point.after.ns + "/" + point.after.name}})));
}

Result<ContinuePoint> decode_continue(std::string_view token, std::string_view resource) {
  constexpr const char* kRefused = "invalid continue token: continue key is not valid";
  const Error refused(ErrorCode::Invalid, kRefused);
  const std::string text = from_base64(token);
  const Result<Json> json = parse_json(text);
  if (!json) return Error(ErrorCode::Invalid, kRefused + (": " + api::json_syntax_error(text)));
  if (json->string_at("v") != "meta.k8s.io/v1") return refused;
  const std::string_view start = json->string_at("start");
  const std::size_t slash = start.find('/');
  if (slash == std::string_view::npos) return refused;
  const std::int64_t revision = json->int_at("rv");
  return ContinuePoint{
      revision < 0 ? std::nullopt : std::optional(static_cast<store::Revision>(revision)),
      {std::string(resource), std::string(start.substr(0, slash)), std::string(start.substr(slash + 1))}};
}

}  // namespace berth::server
