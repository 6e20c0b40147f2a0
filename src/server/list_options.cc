#include "server/list_options.h"

#include <algorithm>
#include <charconv>

namespace berth::server {
namespace {

bool is_true(const std::string* parameter) {
  return parameter && (parameter->empty() || *parameter == "true" || *parameter == "1");
}

std::string value_or_empty(const HttpRequest& request, std::string_view name) {
  const std::string* found = request.parameter(name);
  return found ? *found : "";
}

ApiStatus not_a_number(const std::string& text, const char* parser) {
  return bad_request(std::string("strconv.") + parser + ": parsing \"" + text + "\": invalid syntax");
}

template <class Number>
bool read_number(const std::string& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

constexpr std::string_view kMatch = "resourceVersionMatch";
constexpr std::string_view kSendEvents = "sendInitialEvents";

api::FieldErrors list_errors(const ListOptions& options, std::string_view match, std::string_view version) {
  api::FieldErrors errors;
  const std::string path(kMatch);
  if (!match.empty()) {
    if (version.empty())
      errors.push_back(api::forbidden(path, path + " is forbidden unless resourceVersion is provided"));
    if (!options.continue_token.empty())
      errors.push_back(api::forbidden(path, path + " is forbidden when continue is provided"));
    if (match != "Exact" && match != "NotOlderThan")
      errors.push_back(api::not_supported(path, match, {"Exact", "NotOlderThan", ""}));
    if (match == "Exact" && version == "0")
      errors.push_back(api::forbidden(path, path + " \"exact\" is forbidden for resourceVersion \"0\""));
  }
  if (options.send_initial_events)
    errors.push_back(api::forbidden(std::string(kSendEvents), "sendInitialEvents is forbidden for list"));
  return errors;
}

api::FieldErrors watch_errors(const ListOptions& options, std::string_view match) {
  api::FieldErrors errors;
  const std::string path(kMatch);
  const bool newest = match == "NotOlderThan";
  if (options.send_initial_events && !newest)
    errors.push_back(api::forbidden(path, "sendInitialEvents requires setting " + path + " to NotOlderThan"));
  if (match.empty()) return errors;
  if (!options.send_initial_events)
    errors.push_back(
        api::forbidden(path, path + " is forbidden for watch unless sendInitialEvents is provided"));
  if (!newest) errors.push_back(api::not_supported(path, match, {"NotOlderThan"}));
  if (!options.continue_token.empty())
    errors.push_back(api::forbidden(path, path + " is forbidden when continue is provided"));
  return errors;
}

}  // namespace

ApiResult<std::optional<store::Revision>> read_version(const HttpRequest& request) {
  const std::string text = value_or_empty(request, "resourceVersion");
  if (text.empty()) return std::optional<store::Revision>();
  store::Revision revision = 0;
  if (read_number(text, revision)) return std::optional(revision);
  const api::FieldError error =
      api::invalid("resourceVersion", text, "strconv.ParseUint: parsing \"" + text + "\": invalid syntax");
  return plain_error(error.path + ": " + error.body);
}

ApiResult<ListOptions> read_list_options(const HttpRequest& request) {
  ListOptions options;
  options.label_selector = value_or_empty(request, "labelSelector");
  options.field_selector = value_or_empty(request, "fieldSelector");
  options.continue_token = value_or_empty(request, "continue");
  const std::string* watch = request.parameter("watch");
  options.watch = watch && *watch != "0" && *watch != "false";
  options.bookmarks = is_true(request.parameter("allowWatchBookmarks"));
  if (const std::string* send = request.parameter("sendInitialEvents"))
    options.send_initial_events = is_true(send);

  std::int64_t limit = 0;
  const std::string limit_text = value_or_empty(request, "limit");
  if (!limit_text.empty() && !read_number(limit_text, limit)) return not_a_number(limit_text, "ParseInt");
  options.limit = limit > 0 ? static_cast<std::size_t>(limit) : 0;
  const std::string timeout = value_or_empty(request, "timeoutSeconds");
  if (!timeout.empty() && !read_number(timeout, options.timeout_s)) return not_a_number(timeout, "ParseInt");
  options.timeout_s = std::min(options.timeout_s, kTimeoutMaxS);

  const std::string match = value_or_empty(request, kMatch);
  const api::FieldErrors errors =
      options.watch ? watch_errors(options, match)
                    : list_errors(options, match, value_or_empty(request, "resourceVersion"));
  if (!errors.empty()) return invalid("meta.k8s.io", "ListOptions", "", errors);

  ApiResult<std::optional<store::Revision>> asked = read_version(request);
  if (!asked && !options.watch) return bad_request("invalid resource version: " + asked.error().message);
  options.version = TRY(std::move(asked));
  // A page of a version is a page of exactly this version.
  const bool pages_version =
      match.empty() && options.limit > 0 && options.version.value_or(0) > 0 && !options.watch;
  options.exact = match == "Exact" || pages_version;
  return options;
}

}  // namespace berth::server
