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

ApiStatus refused(const api::FieldError& error) {
  return invalid("meta.k8s.io", "ListOptions", "", {error});
}

ApiStatus not_a_number(const std::string& text, const char* parser) {
  return bad_request(std::string("strconv.") + parser + ": parsing \"" + text + "\": invalid syntax");
}

template <class Number>
bool read_number(const std::string& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

ApiResult<void> check_match(const ListOptions& options, const std::string& match, bool has_version) {
  constexpr std::string_view kPath = "resourceVersionMatch";
  if (options.send_initial_events && !options.watch)
    return refused(api::forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
  if (match.empty()) {
    if (!options.send_initial_events) return {};
    return refused(api::forbidden(std::string(kPath),
                                  "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"));
  }
  if (options.watch && !options.send_initial_events)
    return refused(
        api::forbidden(std::string(kPath),
                       "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"));
  if (options.watch && match != "NotOlderThan")
    return invalid("meta.k8s.io", "ListOptions", "",
                   {api::forbidden(std::string(kPath),
                                   "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"),
                    api::not_supported(std::string(kPath), match, {"NotOlderThan"})});
  if (options.watch) return {};
  if (!has_version)
    return refused(api::forbidden(std::string(kPath),
                                  "resourceVersionMatch is forbidden unless resourceVersion is provided"));
  if (!options.continue_token.empty())
    return refused(
        api::forbidden(std::string(kPath), "resourceVersionMatch is forbidden when continue is provided"));
  if (match != "Exact" && match != "NotOlderThan")
    return refused(api::not_supported(std::string(kPath), match, {"Exact", "NotOlderThan", ""}));
  if (match == "Exact" && options.version == std::optional<store::Revision>(0))
    return refused(api::forbidden(std::string(kPath),
                                  "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""));
  return {};
}

}  // namespace

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

  const std::string version = value_or_empty(request, "resourceVersion");
  if (!version.empty()) {
    store::Revision revision = 0;
    if (!read_number(version, revision)) {
      const api::FieldError error = api::invalid(
          "resourceVersion", version, "strconv.ParseUint: parsing \"" + version + "\": invalid syntax");
      if (!options.watch) return bad_request("invalid resource version: " + error.path + ": " + error.body);
      return plain_error(error.path + ": " + error.body);
    }
    options.version = revision;
  }
  if (!options.continue_token.empty() && !version.empty() && version != "0")
    return bad_request("specifying resource version is not allowed when using continue");
  const std::string match = value_or_empty(request, "resourceVersionMatch");
  TRY(check_match(options, match, !version.empty()));
  options.exact = match == "Exact";
  return options;
}

}  // namespace berth::server
