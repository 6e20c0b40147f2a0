// The service account of a new pod: its name, the volume with its token, its image pull secrets, and the
// secrets that the pod may read where the account limits them.
//
// Source: the admission plugin ServiceAccount of Kubernetes 1.37.
#include <algorithm>

#include "api/kinds/core_parts.h"
#include "api/kinds/stored_kinds.h"
#include "api/node_names.h"
#include "base/ascii.h"
#include "base/safe_alphabet.h"
#include "base/stable_hash.h"

namespace berth::api {
namespace {

constexpr std::string_view kSecretsLimited = "kubernetes.io/enforce-mountable-secrets";
constexpr std::string_view kDefaultAccount = "default";
constexpr std::string_view kTokenVolume = "kube-api-access-";
constexpr std::size_t kTokenVolumeSuffix = 5;
constexpr std::string_view kTokenFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

// A token of this lifetime is one that a pod got without asking for it.
constexpr const char* kTokenSource = R"({"sources":[
  {"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},
  {"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}},
  {"downwardAPI":{"items":[{"path":"namespace",
                            "fieldRef":{"apiVersion":"v1","fieldPath":"metadata.namespace"}}]}}],
  "defaultMode":420})";

// Where a volume names a secret; of projected volumes each source does.
constexpr std::pair<std::string_view, std::string_view> kSecretsOfVolumes[] = {
    {"azureFile", "secretName"},    {"secret", "secretName"},    {"cephfs", "secretRef"},
    {"cinder", "secretRef"},        {"flexVolume", "secretRef"}, {"iscsi", "secretRef"},
    {"rbd", "secretRef"},           {"scaleIO", "secretRef"},    {"storageos", "secretRef"},
    {"csi", "nodePublishSecretRef"}};

Rejection refuse_pod(std::string message) {
  return Rejection{403, "Forbidden", std::move(message)};
}

// Null: there is none, and the pod needs one.
std::optional<Json> account_of(const Json& pod, const RuleContext& ctx) {
  const std::string_view name = pod.part("spec").string_at("serviceAccountName");
  if (auto found = ctx.read("serviceaccounts", pod.part("metadata").string_at("namespace"), name))
    return found;
  const bool counts = ctx.pod_accounts == PodAccounts::Assumed || name == kDefaultAccount;
  return counts ? std::optional(Json::object()) : std::nullopt;
}

std::optional<Rejection> refuse_without_account(const Json& pod) {
  const std::string name(pod.part("spec").string_at("serviceAccountName"));
  return refuse_pod("error looking up service account " +
                    std::string(pod.part("metadata").string_at("namespace")) + "/" + name +
                    ": serviceaccount \"" + name + "\" not found");
}

bool reads_secret(const Json& container) {
  const JsonArray &variables = items(&container, "env"), &sources = items(&container, "envFrom");
  return std::any_of(variables.begin(), variables.end(),
                     [](const Json& one) { return present_at(one, {"valueFrom", "secretKeyRef"}); }) ||
         std::any_of(sources.begin(), sources.end(),
                     [](const Json& one) { return present(one, "secretRef"); });
}

bool has_projected(const Json& volume, std::string_view source) {
  const JsonArray& sources = items(present(volume, "projected"), "sources");
  return std::any_of(sources.begin(), sources.end(),
                     [source](const Json& one) { return present(one, source); });
}

bool names_secret(const Json& volume) {
  return has_projected(volume, "secret") ||
         std::any_of(std::begin(kSecretsOfVolumes), std::end(kSecretsOfVolumes),
                     [&](const auto& place) { return present_at(volume, {place.first, place.second}); });
}

// A mirror pod is its node's, and stays as the node sent it.
std::optional<Rejection> check_mirror(const Json& spec) {
  if (!spec.string_at("serviceAccountName").empty())
    return refuse_pod("a mirror pod may not reference service accounts");
  bool secrets = !spec.items_at("imagePullSecrets").empty();
  for (std::string_view list : {"initContainers", "containers", "ephemeralContainers"})
    for (const Json& container : items(&spec, list)) secrets |= reads_secret(container);
  for (const Json& volume : items(&spec, "volumes")) secrets |= names_secret(volume);
  if (secrets) return refuse_pod("a mirror pod may not reference secrets");
  for (const Json& volume : items(&spec, "volumes"))
    if (has_projected(volume, "serviceAccountToken"))
      return refuse_pod("a mirror pod may not use ServiceAccountToken volume projections");
  return std::nullopt;
}

bool mounts_token(const Json& spec, const Json& account) {
  for (const Json* chooser : {&spec, &account})
    if (const Json* choice = present(*chooser, "automountServiceAccountToken")) return choice->as_bool();
  return true;
}

// The name follows from the pod's UID, so admission that runs again for one pod finds its own volume.
void mount_token(Json& pod) {
  Json& spec = pod["spec"];
  const Json& read = spec;
  const JsonArray& volumes = read.items_at("volumes");
  const auto own = std::find_if(volumes.begin(), volumes.end(), [](const Json& volume) {
    return volume.string_at("name").starts_with(kTokenVolume);
  });
  const bool is_there = own != volumes.end();
  const std::string name =
      is_there ? std::string(own->string_at("name"))
               : std::string(kTokenVolume) +
                     safe_digits(stable_hash(std::as_const(pod).part("metadata").string_at("uid")),
                                 kTokenVolumeSuffix);
  bool is_needed = false;
  for (std::string_view list : {"initContainers", "containers"})
    for (Json& container : items(spec, list)) {
      const JsonArray& mounts = std::as_const(container).items_at("volumeMounts");
      if (std::any_of(mounts.begin(), mounts.end(),
                      [](const Json& mount) { return mount.string_at("mountPath") == kTokenFolder; }))
        continue;
      put_default(container, core_type("Container"), "volumeMounts", Json::array());
      items(container, "volumeMounts")
          .push_back(Json::object({{"name", name}, {"readOnly", true}, {"mountPath", kTokenFolder}}));
      is_needed = true;
    }
  if (is_there || !is_needed) return;
  static const Json kSource = parse_json(kTokenSource).value();
  put_default(spec, core_type("PodSpec"), "volumes", Json::array());
  items(spec, "volumes").push_back(Json::object({{"name", name}, {"projected", kSource}}));
}

void copy_pull_secrets(Json& spec, const Json& account) {
  if (!std::as_const(spec).items_at("imagePullSecrets").empty()) return;
  JsonArray secrets;
  for (const Json& secret : items(&account, "imagePullSecrets"))
    secrets.push_back(Json::object({{"name", secret.string_at("name")}}));
  if (!secrets.empty()) put(spec, core_type("PodSpec"), "imagePullSecrets", std::move(secrets));
}

bool limits_secrets(const Json& account) {
  const Json* value = present_at(account, {"metadata", "annotations", kSecretsLimited});
  return value && parse_bool(value->as_string()).value_or(false);
}

// The first variable of the containers that is from a secret which the account does not list; `kind`:
// "init container".
std::string unlisted_variable(const JsonArray& containers, const std::string& kind,
                              const NamedItems& listed) {
  const auto text = [](const Json& reference) {
    return " referencing secret.secretName=\"" + std::string(reference.string_at("name")) + "\"";
  };
  const auto is_unlisted = [&listed](const Json* reference) {
    return reference && !listed.find(reference->string_at("name"));
  };
  for (const Json& container : containers) {
    const std::string who = kind + " " + std::string(container.string_at("name"));
    for (const Json& variable : items(&container, "env"))
      if (const Json* key = present_at(variable, {"valueFrom", "secretKeyRef"}); is_unlisted(key))
        return who + " with envVar " + std::string(variable.string_at("name")) + text(*key);
    for (const Json& source : items(&container, "envFrom"))
      if (const Json* secret = present(source, "secretRef"); is_unlisted(secret))
        return who + " with envFrom" + text(*secret);
  }
  return "";
}

Rejection refuse_secret(const std::string& what, const Json& account, const char* kind) {
  return refuse_pod(what + " is not allowed because service account " +
                    std::string(account.part("metadata").string_at("name")) + " does not reference that " +
                    kind);
}

std::optional<Rejection> check_secrets(const Json& spec, const Json& account) {
  if (!limits_secrets(account)) return std::nullopt;
  const NamedItems listed(account.items_at("secrets"), "name");
  for (const Json& volume : items(&spec, "volumes")) {
    const Json* name = present_at(volume, {"secret", "secretName"});
    if (name && !listed.find(name->as_string()))
      return refuse_secret("volume with secret.secretName=\"" + name->as_string() + "\"", account, "secret");
  }
  for (const auto& [list, kind] :
       {std::pair("initContainers", "init container"), std::pair("containers", "container")})
    if (const std::string what = unlisted_variable(items(&spec, list), kind, listed); !what.empty())
      return refuse_secret(what, account, "secret");
  const NamedItems pull_secrets(account.items_at("imagePullSecrets"), "name");
  const JsonArray& asked = items(&spec, "imagePullSecrets");
  for (std::size_t i = 0; i < asked.size(); ++i)
    if (const std::string name(asked[i].string_at("name")); !pull_secrets.find(name))
      return refuse_secret("imagePullSecrets[" + std::to_string(i) + "].name=\"" + name + "\"", account,
                           "imagePullSecret");
  return std::nullopt;
}

}  // namespace

std::optional<Rejection> admit_account(Json& pod, const RuleContext& ctx) {
  if (ctx.pod_accounts == PodAccounts::AsGiven) return std::nullopt;
  static const TypeInfo& type = core_type("PodSpec");
  Json& spec = pod["spec"];
  if (present_at(pod, {"metadata", "annotations", kMirrorAnnotation})) return check_mirror(spec);
  if (std::as_const(spec).string_at("serviceAccountName").empty())
    for (const char* member : {"serviceAccountName", "serviceAccount"})
      put(spec, type, member, kDefaultAccount);
  const std::optional<Json> account = account_of(pod, ctx);
  if (!account) return refuse_without_account(pod);
  if (mounts_token(spec, *account)) mount_token(pod);
  copy_pull_secrets(spec, *account);
  return check_secrets(spec, *account);
}

std::optional<Rejection> admit_ephemeral_secrets(const Json& pod, const RuleContext& ctx) {
  if (ctx.pod_accounts == PodAccounts::AsGiven) return std::nullopt;
  const std::optional<Json> account = account_of(pod, ctx);
  if (!account) return refuse_without_account(pod);
  if (!limits_secrets(*account)) return std::nullopt;
  const std::string what =
      unlisted_variable(items(&pod.part("spec"), "ephemeralContainers"), "ephemeral container",
                        NamedItems(account->items_at("secrets"), "name"));
  return what.empty() ? std::nullopt : std::optional(refuse_secret(what, *account, "secret"));
}

}  // namespace berth::api
