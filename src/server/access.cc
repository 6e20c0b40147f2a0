#include "server/access.h"

#include "api/gates.h"
#include "base/ascii.h"
#include "base/time.h"
#include "rbac/escalation.h"
#include "server/admission_notes.h"
#include "server/certificate_signer.h"
#include "server/claim_status_access.h"
#include "server/metadata.h"
#include "server/registry.h"

namespace berth::server {
namespace {

constexpr std::string_view kGranularStatus = "DRAResourceClaimGranularStatusAuthorization";

// Errors may be shown by browsers.
std::string without_markup(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else
      out += c;
  return out;
}

std::string cannot(const User& user, std::string_view verb, std::string_view kind, std::string_view what) {
  std::string text = "User ";
  append_json_string(text, user.name);
  text.append(" cannot ").append(verb).append(" ").append(kind).append(" ");
  append_json_string(text, what);
  return text;
}

std::string sentence(const User& user, const rbac::Attributes& asked) {
  std::string text = cannot(user, asked.verb, "resource", asked.resource) + " in API group ";
  append_json_string(text, asked.group);
  if (asked.ns.empty()) return text + " at the cluster scope";
  text += " in the namespace ";
  append_json_string(text, asked.ns);
  return text;
}

std::string with_reason(std::string text, const std::string& reason) {
  return reason.empty() ? text : text + ": " + reason;
}

bool is_role(const api::ResourceInfo& resource) {
  return resource.plural == "roles" || resource.plural == "clusterroles";
}

bool has_aggregation(const Json& role) {
  return !role.part("aggregationRule").items_at("clusterRoleSelectors").empty();
}

// Whether an update changes only what the garbage collector writes.
bool is_for_collector(Json next, Json before) {
  for (const std::string_view member :
       {"ownerReferences", "finalizers", "managedFields", "resourceVersion", "generation"}) {
    metadata_of(next).as_object().erase(member);
    metadata_of(before).as_object().erase(member);
  }
  return next == before;
}

std::vector<const rbac::PolicyRule*> pointers_to(const std::vector<rbac::PolicyRule>& rules) {
  std::vector<const rbac::PolicyRule*> pointers;
  for (const rbac::PolicyRule& rule : rules) pointers.push_back(&rule);
  return pointers;
}

}  // namespace

ApiResult<void> Access::authorize(const User& user, const rbac::Attributes& asked) {
  if (user.is_administrator()) return {};
  if (policy()->allows(user, asked)) return {};
  const rbac::Decision decision = decide(user, asked);
  if (decision.allowed) return {};
  const std::string_view plural = std::string_view(asked.resource).substr(0, asked.resource.find('/'));
  return forbidden({asked.group, plural}, asked.name,
                   with_reason(without_markup(sentence(user, asked)), decision.reason));
}

ApiResult<void> Access::authorize_path(const User& user, std::string_view method, std::string_view path) {
  if (user.is_administrator()) return {};
  const std::string verb = to_lower(method);
  const rbac::Decision decision =
      decide(user, {.verb = verb, .group = "", .resource = "", .ns = "", .name = "", .path = path});
  if (decision.allowed) return {};
  return ApiStatus{.code = 403,
                   .reason = "Forbidden",
                   .message = "forbidden: " +
                              with_reason(without_markup(cannot(user, verb, "path", path)), decision.reason),
                   .has_details = true};
}

rbac::Decision Access::decide(const User& user, const rbac::Attributes& asked) {
  if (user.is_administrator()) return {true, ""};
  rbac::Decision by_role = policy()->decide(user, asked);
  const std::optional<std::string> node = by_role.allowed ? std::nullopt : node_of(user);
  if (!node) return by_role;
  rbac::Decision by_node = nodes_.decide(*node, asked);
  if (by_node.allowed || by_role.reason.empty()) return by_node;
  return {false, by_node.reason.empty() ? by_role.reason : by_node.reason + "\n" + by_role.reason};
}

void Access::noted(const ObjectTarget& target) {
  if (target.resource->group == rbac::kGroup) ++written_;
}

PolicyPtr Access::policy() {
  if (read_to_ != written_) read_again();
  const std::lock_guard lock(mutex_);
  return policy_;
}

// Who comes while it is read waits for the lock: an acknowledged role holds for every later request.
void Access::read_again() {
  const std::lock_guard lock(mutex_);
  const std::uint64_t written = written_;
  if (read_to_ == written) return;
  const auto of_group = [](std::string_view plural) {
    return std::string(plural).append(".").append(rbac::kGroup);
  };
  std::vector<rbac::RolePtr> roles = cluster_roles_.read(registry_, of_group("clusterroles"));
  for (rbac::RolePtr& role : roles_.read(registry_, of_group("roles"))) roles.push_back(std::move(role));
  std::vector<rbac::BindingPtr> bindings = cluster_bindings_.read(registry_, of_group("clusterrolebindings"));
  for (rbac::BindingPtr& binding : bindings_.read(registry_, of_group("rolebindings")))
    bindings.push_back(std::move(binding));
  policy_ = std::make_shared<const rbac::Policy>(std::move(roles), std::move(bindings));
  read_to_ = written;
}

ApiResult<void> Access::check_write(const ObjectTarget& target, const WriteOptions& options,
                                    const Json* object, const Json* before) {
  // A write without notes is the server's own.
  if (!options.notes) return {};
  const HttpRequest& request = options.notes->request();
  const User& user = request.user;
  const std::string_view group = target.resource->group;
  if (const std::optional<std::string> node = node_of(user))
    TRY(nodes_.check_write(*node, target, object, before));
  if (!object) return {};
  // A PUT, or an apply: so far it was only asked whether the user may change the object.
  if (!before && request.method != "POST")
    TRY(authorize(user, {.verb = "create",
                         .group = group,
                         .resource = std::string(target.resource->plural),
                         .ns = target.ns,
                         .name = target.name}));
  if (group == rbac::kGroup) return check_grant(user, target, *object, before);
  return group == kCertificatesGroup ? check_certificate(user, target, *object, before) : ApiResult<void>();
}

api::FieldErrors Access::status_errors(const ObjectTarget& target, const WriteOptions& options,
                                       const Json& next, const Json& before) {
  const bool of_claim = target.resource->plural == "resourceclaims" && target.subresource == "status";
  if (!of_claim || !options.notes || !registry_.dependencies().gates.enabled(kGranularStatus)) return {};
  const HttpRequest& request = options.notes->request();
  return claim_status_errors(*this, request.user, request.method == "PUT" ? "update" : "patch", target, next,
                             before);
}

ApiResult<void> Access::check_body(const ObjectTarget& target, const WriteOptions& options,
                                   const Json& body) const {
  const std::optional<std::string> node =
      options.notes ? node_of(options.notes->request().user) : std::nullopt;
  return node ? nodes_.check_body(*node, target, body) : ApiResult<void>();
}

ApiResult<void> Access::check_grant(const User& user, const ObjectTarget& target, const Json& object,
                                    const Json* before) {
  if (user.is_administrator() || (before && is_for_collector(object, *before))) return {};
  return is_role(*target.resource) ? check_role(user, target, object, before)
                                   : check_binding(user, target, object);
}

ApiResult<void> Access::check_certificate(const User& user, const ObjectTarget& target, const Json& object,
                                          const Json* before) {
  if (target.resource->plural != "certificatesigningrequests") return {};
  if (!before) {
    const std::string problem = subject_problem(object.part("spec"));
    return problem.empty() ? ApiResult<void>() : forbidden(target.resource_name(), target.name, problem);
  }
  const bool approves = target.subresource == "approval";
  if (user.is_administrator() || (!approves && target.subresource != "status")) return {};
  const Json& now = object.part("status");
  const Json& then = before->part("status");
  if (!approves && now.part("certificate") == then.part("certificate") &&
      now.part("conditions") == then.part("conditions"))
    return {};
  const std::string signer(before->part("spec").string_at("signerName"));
  const std::string all_of_domain = signer.substr(0, signer.find('/')) + "/*";
  const PolicyPtr policy = this->policy();
  for (const std::string& name : {signer, all_of_domain})
    if (policy->allows(user, {approves ? "approve" : "sign", kCertificatesGroup, "signers", "", name}))
      return {};
  return forbidden(target.resource_name(), target.name,
                   std::string("user not permitted to ") + (approves ? "approve" : "sign") +
                       " requests with signerName \"" + signer + "\"");
}

ApiResult<void> Access::check_role(const User& user, const ObjectTarget& target, const Json& object,
                                   const Json* before) {
  const std::string_view name = before ? std::string_view(target.name) : std::string_view();
  if (policy()->allows(user, {.verb = "escalate",
                              .group = rbac::kGroup,
                              .resource = std::string(target.resource->plural),
                              .ns = target.ns,
                              .name = name}))
    return {};
  const rbac::Role role = rbac::Role::read(object);
  TRY(check_held(user, target, pointers_to(role.own.rules)));
  if (!has_aggregation(object) && !(before && has_aggregation(*before))) return {};
  const rbac::PolicyRule everything[] = {{{"*"}, {"*"}, {"*"}, {}, {}}, {{"*"}, {}, {}, {}, {"*"}}};
  if (check_held(user, target, {&everything[0], &everything[1]})) return {};
  return forbidden(target.resource_name(), target.name,
                   "must have cluster-admin privileges to use the aggregationRule");
}

ApiResult<void> Access::check_binding(const User& user, const ObjectTarget& target, const Json& object) {
  const rbac::RoleRef role = rbac::RoleRef::read(object.part("roleRef"));
  const bool is_cluster_role = role.kind == "ClusterRole";
  const std::string_view plural = is_cluster_role ? "clusterroles" : "roles";
  const PolicyPtr policy = this->policy();
  if (policy->allows(user, {.verb = "bind",
                            .group = rbac::kGroup,
                            .resource = std::string(plural),
                            .ns = target.ns,
                            .name = role.name}))
    return {};
  const Result<std::vector<const rbac::PolicyRule*>> rules = policy->rules_of(role, target.ns);
  if (rules) return check_held(user, target, *rules);
  if (is_cluster_role || role.kind == "Role") return not_found({rbac::kGroup, plural}, role.name);
  return plain_error(rules.error().message());
}

ApiResult<void> Access::check_held(const User& user, const ObjectTarget& target,
                                   const std::vector<const rbac::PolicyRule*>& granted) {
  const PolicyPtr policy = this->policy();
  const rbac::UserRules held = policy->rules_for(user, target.ns);
  const Result<std::vector<rbac::PolicyRule>> missing = rbac::missing_rights(held.rules, granted);
  if (!missing) return forbidden(target.resource_name(), target.name, missing.error().message());
  if (missing->empty()) return {};
  return forbidden(target.resource_name(), target.name, rbac::escalation_text(user, *missing, held.error));
}

ApiResult<void> check_timeout(const HttpRequest& request) {
  const std::string* timeout = request.parameter("timeout");
  if (!timeout || timeout->empty() || parse_duration(*timeout)) return {};
  return bad_request("invalid timeout specified in the request URL - time: invalid duration \"" + *timeout +
                     "\"");
}

}  // namespace berth::server
