#include "server/write_options.h"

#include <charconv>

#include "api/type_table.h"
#include "base/utf8.h"
#include "server/apply.h"
#include "server/request_body.h"

namespace berth::server {
namespace {

constexpr std::size_t kFieldManagerBytesMax = 128;

// The options of a client that sends no body.
ApiResult<Json> delete_options_of_query(const HttpRequest& request) {
  Json body = Json::object();
  JsonArray dry_runs;
  for (const auto& [key, value] : request.query) {
    if (key == "dryRun") dry_runs.emplace_back(value);
    if (key == "propagationPolicy") body["propagationPolicy"] = value;
    if (key == "orphanDependents") body["orphanDependents"] = value != "false" && value != "0";
    if (key != "gracePeriodSeconds" || value.empty()) continue;
    std::int64_t grace_s = 0;
    const char* end = value.data() + value.size();
    if (std::from_chars(value.data(), end, grace_s).ptr != end)
      return bad_request("strconv.ParseInt: parsing \"" + value + "\": invalid syntax");
    body["gracePeriodSeconds"] = grace_s;
  }
  if (!dry_runs.empty()) body["dryRun"] = Json(std::move(dry_runs));
  return body;
}

ApiResult<Json> delete_options_of_body(const HttpRequest& request) {
  Json body = TRY(read_options(request, *api::find_type("meta.k8s.io", "v1", "DeleteOptions")));
  if (!body.is_object()) body = Json::object();
  const std::string_view kind = body.string_at("kind");
  if (!kind.empty() && kind != "DeleteOptions")
    return bad_request("no kind \"" + std::string(kind) + "\" is registered for version \"" +
                       std::string(body.string_at("apiVersion")) +
                       "\" in scheme \"pkg/runtime/scheme.go:111\"");
  return body;
}

// "kubectl" of "kubectl/v1.37.0 (linux/amd64)": printable characters in front of the first slash.
std::string manager_of_agent(std::string_view agent) {
  agent = agent.substr(0, agent.find('/'));
  std::string manager;
  for (const std::uint32_t character : code_points(agent)) {
    if (character < ' ' || character == 0x7f) continue;
    const std::string bytes = encode_utf8(&character, &character + 1);
    if (manager.size() + bytes.size() > kFieldManagerBytesMax) break;
    manager += bytes;
  }
  return manager;
}

ApiResult<void> check_delete_options(const Json& body) {
  api::FieldErrors errors;
  const std::string_view policy = body.string_at("propagationPolicy");
  const Json* orphan = body.find("orphanDependents");
  if (orphan && !policy.empty())
    errors.push_back(api::invalid("propagationPolicy", policy,
                                  "orphanDependents and deletionPropagation cannot be both set"));
  const bool known = policy.empty() || policy == "Foreground" || policy == "Background" || policy == "Orphan";
  if (!known)
    errors.push_back(
        api::not_supported("propagationPolicy", policy, {"Foreground", "Background", "Orphan", "nil"}));
  for (const Json& value : body.items_at("dryRun"))
    if (value != Json("All"))
      errors.push_back(api::not_supported("dryRun", body.items_at("dryRun"), {"All"}));
  if (errors.empty()) return {};
  return invalid("meta.k8s.io", "DeleteOptions", "", errors);
}

}  // namespace

ApiResult<FieldValidation> field_validation_of(const HttpRequest& request, std::string_view options_kind) {
  const std::string* asked = request.parameter("fieldValidation");
  if (!asked || asked->empty() || *asked == "Warn") return FieldValidation::Warn;
  if (*asked == "Strict") return FieldValidation::Strict;
  if (*asked == "Ignore") return FieldValidation::Ignore;
  return invalid("meta.k8s.io", options_kind, "",
                 {api::not_supported("fieldValidation", *asked, {"", "Ignore", "Strict", "Warn"})});
}

ApiResult<WriteOptions> write_options_of(const HttpRequest& request, std::string_view options_kind) {
  WriteOptions options;
  options.user = request.user;
  JsonArray asked;
  for (const auto& [key, value] : request.query)
    if (key == "dryRun") asked.emplace_back(value);
  for (const Json& value : asked)
    if (value != Json("All"))
      return invalid("meta.k8s.io", options_kind, "", {api::not_supported("dryRun", asked, {"All"})});
  options.dry_run = !asked.empty();
  const std::string* manager = request.parameter("fieldManager");
  if (manager && manager->size() > kFieldManagerBytesMax)
    return invalid("meta.k8s.io", options_kind, "", {api::too_long("fieldManager", kFieldManagerBytesMax)});
  options.manager = manager && !manager->empty() ? *manager : manager_of_agent(request.header("User-Agent"));
  options.in_process = request.in_process;
  options.is_apply = request.method == "PATCH" && is_apply(request);
  if (request.method == "PATCH" && !options.is_apply && request.parameter("force"))
    return invalid("meta.k8s.io", options_kind, "",
                   {api::forbidden("force", "may not be specified for non-apply patch")});
  return options;
}

DeleteOptions delete_options_of(const Json& body) {
  DeleteOptions options;
  if (const Json* grace = body.find("gracePeriodSeconds"); grace && grace->is_int())
    options.grace_s = grace->as_int();
  if (const Json* preconditions = body.find("preconditions")) {
    options.uid = preconditions->string_at("uid");
    options.resource_version = preconditions->string_at("resourceVersion");
  }
  options.propagation = body.string_at("propagationPolicy");
  options.unsafe = body.bool_at("ignoreStoreReadErrorWithClusterBreakingPotential");
  const Json* orphan = body.find("orphanDependents");
  if (orphan && orphan->is_bool()) options.propagation = orphan->as_bool() ? "Orphan" : "Background";
  options.dry_run = !body.items_at("dryRun").empty();
  return options;
}

ApiResult<DeleteOptions> read_delete_options(const HttpRequest& request) {
  const Json body =
      request.body.empty() ? TRY(delete_options_of_query(request)) : TRY(delete_options_of_body(request));
  TRY(check_delete_options(body));
  return delete_options_of(body);
}

}  // namespace berth::server
