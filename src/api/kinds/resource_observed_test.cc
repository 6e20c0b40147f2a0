// Recorded responses of Kubernetes 1.37 to writes of the DRA and workload kinds, compared with the rules
// alone: no server.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>

#include "api/cel_check.h"
#include "api/decode.h"
#include "api/gates.h"
#include "api/kind_rules.h"
#include "api/kinds/document.h"
#include "api/new_objects.h"
#include "api/patch.h"
#include "base/testing/source_dir.h"

namespace berth::api {
namespace {

constexpr const char* kGatesOn =
    "DRADeviceCompatibilityGroups=true,DRAListTypeAttributes=true,DRADerivedAttributes=true,GenericWorkload="
    "true,"
    "TopologyAwareWorkloadScheduling=true,CompositePodGroup=true,DRAWorkloadResourceClaims=true,"
    "PodGroupPreemptionPolicy=true,DRAResourcePoolStatus=true,WorkloadWithJob=true";

// Parts of a response that the server makes, not the rules: decoding's warnings, routing, conversion.
const std::set<std::string> kNotCovered = {
    // An empty list is the same as none in a canonical document.
    "20-slice stored/empty-lists",
    "20-slice invalid/attr-list-empty",
    // Other versions with another shape are converted by the server.
    "20-slice versions/create-v1beta1",
    "22-claim versions/create",
    "25-kep-5963 as-written/claim-v1beta1",
    // Strict decoding is the server's.
    "25-kep-5963 as-written/claim-strict",
    "07-events-leases-priority lease/fraction",
    // Values of earlier responses, names, times and namespaces are the server's as well.
    "03-crud configmap/replace-fresh",
    "03-crud configmap/replace-system-fields",
    "03-crud create-refused/no-name",
    "03-crud namespace/create-inside",
    "03-crud namespace/finalize",
};

const Json* recorded_now = nullptr;

// Room api has no compiler: this one returns the recorded verdict about the expression.
CelVerdict recorded_verdict(std::string_view expression, CelUse, const Gates&) {
  const std::string prefix = "Invalid value: " + to_string(Json(expression)) + ": ";
  CelVerdict verdict;
  const Json* details = recorded_now->find_path({"body", "details"});
  for (const Json& cause : items(details, "causes")) {
    if (!cause.string_at("field").ends_with("expression")) continue;
    const std::string_view message = cause.string_at("message");
    if (message.starts_with(prefix)) verdict.complaint = message.substr(prefix.size());
    verdict.too_complex = verdict.too_complex || message.starts_with("Forbidden: ");
  }
  return verdict;
}

std::vector<Json> read_lines(const std::string& path) {
  std::ifstream in(source_path("tests/data/observed/" + path));
  std::vector<Json> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(parse_json(line).value());
  return lines;
}

struct Url {
  std::string group, version, ns, plural, name, subresource, query;
};

Url parse_url(std::string path) {
  Url url;
  if (const std::size_t question = path.find('?'); question != std::string::npos) {
    url.query = path.substr(question + 1);
    path.resize(question);
  }
  std::vector<std::string> parts;
  for (std::size_t at = 1; at != 0 && at < path.size();) {
    const std::size_t slash = path.find('/', at);
    parts.push_back(path.substr(at, slash - at));
    at = slash + 1;
  }
  std::size_t next = 1;
  if (parts[0] == "apis") url.group = parts[next++];
  if (parts.size() > next) url.version = parts[next++];
  const bool is_finalize = parts.back() == "finalize";
  if (parts.size() > next + 2 && parts[next] == "namespaces" && !is_finalize) {
    url.ns = parts[next + 1];
    next += 2;
  }
  if (parts.size() > next) url.plural = parts[next++];
  if (parts.size() > next) url.name = parts[next++];
  if (parts.size() > next) url.subresource = parts[next];
  return url;
}

struct ReplayedWrite {
  int status = 0;
  Json document;
  FieldErrors errors;
  std::string message;  // of a rejection or a decoder
  std::vector<std::string> warnings;
};

// The steps of a write in the API server, over a map instead of a store.
class Replay {
 public:
  explicit Replay(const Gates& gates) : gates_(gates) {
    objects_["priorityclasses.scheduling.k8s.io//system-node-critical"] = system_class(2000001000);
    objects_["priorityclasses.scheduling.k8s.io//system-cluster-critical"] = system_class(2000000000);
  }

  ReplayedWrite write(const Json& step, const Url& url, const ResourceInfo& resource) {
    const KindRules& rules = rules_of(url.group, url.plural);
    const std::string_view method = step.string_at("method");
    const std::string key = key_of(url);
    Json body = *step.find("body");
    if (method == "POST") return create(body, url, resource, rules, key);
    const auto stored = objects_.find(key + url.name);
    if (stored == objects_.end() && method == "PUT" && rules.create_on_update)
      return create(body, url, resource, rules, key);
    if (stored == objects_.end()) return {404, {}, {}, "", {}};
    const Json old = stored->second;
    if (method == "PUT" && rules.needs_version_on_update &&
        !present_at(body, {"metadata", "resourceVersion"}))
      return {422, {}, {invalid("metadata.resourceVersion", 0, "must be specified for an update")}, "", {}};
    if (method == "PATCH") {
      const Json* type = step.find_path({"headers", "Content-Type"});
      const std::string_view format = type ? std::string_view(type->as_string()) : "";
      if (format.find("strategic") != std::string_view::npos)
        body = strategic_merge_patched(resource.type(), old, body).value();
      else if (format.find("json-patch") != std::string_view::npos)
        body = apply_json_patch(old, to_string(body)).value();
      else
        body = merge_patched(old, body);
    }
    return update(std::move(body), old, url, resource, rules, stored->first);
  }

  void remove(const Url& url) {
    const auto stored = objects_.find(key_of(url) + url.name);
    if (stored == objects_.end()) return;
    if (items(stored->second.find("metadata"), "finalizers").empty())
      objects_.erase(stored);
    else
      stored->second["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  }

 private:
  static std::string key_of(const Url& url) {
    return url.plural + (url.group.empty() ? "" : "." + url.group) + "/" + url.ns + "/";
  }
  static Json system_class(std::int64_t value) {
    return Json::object(
        {{"metadata",
          Json::object({{"name", value > 2000000000 ? "system-node-critical" : "system-cluster-critical"}})},
         {"value", value},
         {"preemptionPolicy", "PreemptLowerPriority"}});
  }

  RuleContext context(const Url& url) {
    RuleContext ctx{gates_, recorded_verdict, parse_time("2026-11-21T00:00:00Z").value(), "someone", {}, {}};
    ctx.subresource = url.subresource;
    ctx.request_group = url.group;
    ctx.read = [this](std::string_view resource, std::string_view ns,
                      std::string_view name) -> std::optional<Json> {
      const auto found =
          objects_.find(std::string(resource) + "/" + std::string(ns) + "/" + std::string(name));
      return found == objects_.end() ? std::nullopt : std::optional(found->second);
    };
    ctx.list = [this](std::string_view resource, std::string_view) {
      std::vector<Json> found;
      for (const auto& [key, object] : objects_)
        if (key.starts_with(std::string(resource) + "/")) found.push_back(object);
      return found;
    };
    return ctx;
  }

  ReplayedWrite create(const Json& body, const Url& url, const ResourceInfo& resource, const KindRules& rules,
                       const std::string& key) {
    Result<Decoded> decoded = decode_document(resource.type(), body);
    if (!decoded) return {400, {}, {}, decoded.error().message(), {}};
    Json object = std::move(decoded->document);
    if (rules.set_defaults) rules.set_defaults(object);
    Json& metadata = object["metadata"];
    if (!url.ns.empty()) metadata["namespace"] = url.ns;
    if (metadata.string_at("name").empty()) metadata["name"] = "generated";
    metadata["uid"] = "uid-1";
    if (rules.has_generation) metadata["generation"] = 1;
    const RuleContext ctx = context(url);
    if (rules.admit_create)
      if (const auto rejection = rules.admit_create(object, ctx))
        return {rejection->code, {}, {}, rejection->message, {}};
    if (rules.prepare_create) rules.prepare_create(object, ctx);
    FieldErrors errors = validate_new(object, resource.namespaced, rules, ctx);
    if (!errors.empty()) return {422, {}, std::move(errors), "", {}};
    ReplayedWrite outcome{201, object, {}, "", {}};
    if (rules.warnings) outcome.warnings = rules.warnings(object, nullptr, ctx);
    objects_[key + std::string(object["metadata"].string_at("name"))] = std::move(object);
    return outcome;
  }

  ReplayedWrite update(Json body, const Json& old, const Url& url, const ResourceInfo& resource,
                       const KindRules& rules, const std::string& key) {
    Result<Decoded> decoded = decode_document(resource.type(), std::move(body));
    if (!decoded) return {400, {}, {}, decoded.error().message(), {}};
    Json next = std::move(decoded->document);
    if (rules.set_defaults) rules.set_defaults(next);
    for (std::string_view name : {"namespace", "generation", "deletionTimestamp"})
      if (const Json* kept = old.find_path({"metadata", name})) next["metadata"][name] = *kept;
    next["metadata"].as_object().erase("resourceVersion");
    const RuleContext ctx = context(url);
    const bool status_only = url.subresource == "status";
    if (status_only && !rules.prepare_status_update) {
      Json kept = old;
      kept["status"] = value_or_null(next.find("status"));
      next = std::move(kept);
    } else if (status_only) {
      rules.prepare_status_update(next, old, ctx);
    } else {
      if (resource.has_subresource("status") && old.find("status")) next["status"] = *old.find("status");
      if (rules.admit_update)
        if (const auto rejection = rules.admit_update(next, old, ctx))
          return {rejection->code, {}, {}, rejection->message, {}};
      if (rules.prepare_update) rules.prepare_update(next, old, ctx);
    }
    if (rules.has_generation && value_or_null(next.find("spec")) != value_or_null(old.find("spec")))
      next["metadata"]["generation"] = old.find("metadata")->int_at("generation") + 1;
    FieldErrors errors;
    if (!status_only) errors = validate_change(next, old, rules, ctx);
    if (status_only) errors = validate_meta_update(next, old, rules);
    if (status_only && rules.validate_status_update)
      append(errors, rules.validate_status_update(next, old, ctx));
    if (!errors.empty()) return {422, {}, std::move(errors), "", {}};
    objects_[key] = next;
    return {200, next, {}, "", {}};
  }

  const Gates& gates_;
  std::map<std::string, Json> objects_;
};

enum class Extra { Allowed, Refused };

// Empty when `got` equals the recording; else the first difference.
std::string difference(const Json& want, const Json& got, Extra extra, const std::string& path) {
  if (want.is_string() && want.as_string().starts_with("<")) return got.is_string() ? "" : path + ": missing";
  if (want.is_object() && got.is_object()) {
    for (const JsonMember& member : want.as_object()) {
      const Json* found = got.find(member.key);
      if (!found) return path + "." + member.key + ": missing";
      const std::string inner = difference(member.value, *found, extra, path + "." + member.key);
      if (!inner.empty()) return inner;
    }
    for (const JsonMember& member : got.as_object())
      if (extra == Extra::Refused && !want.find(member.key))
        return path + "." + member.key + ": not recorded";
    return "";
  }
  if (want.is_array() && got.is_array() && want.as_array().size() == got.as_array().size()) {
    for (std::size_t i = 0; i < want.as_array().size(); ++i) {
      const std::string inner =
          difference(want.as_array()[i], got.as_array()[i], extra, path + "[" + std::to_string(i) + "]");
      if (!inner.empty()) return inner;
    }
    return "";
  }
  return want == got ? "" : path + ": want " + to_string(want) + " got " + to_string(got);
}

std::string document_difference(const Json& step, const Json& want, const Json& got) {
  if (step.find("pick")) {
    Json rest = want;
    if (Json* metadata = rest.find("metadata"))
      for (std::string_view key : {"uid", "resourceVersion", "creationTimestamp"})
        metadata->as_object().erase(key);
    for (std::string_view key : {"kind", "apiVersion"}) rest.as_object().erase(key);
    if (const Json* metadata = rest.find("metadata");
        metadata && metadata->string_at("name").starts_with("node-1-"))
      rest.as_object().erase("metadata");
    return difference(rest, got, Extra::Allowed, "");
  }
  for (std::string_view part : {"spec", "status", "value", "preemptionPolicy"}) {
    const std::string found = difference(value_or_null(want.find(part)), value_or_null(got.find(part)),
                                         Extra::Refused, std::string(part));
    if (!found.empty()) return found;
  }
  for (std::string_view part : {"labels", "annotations", "finalizers", "generation"}) {
    const std::string found = difference(value_or_null(want.find_path({"metadata", part})),
                                         value_or_null(got.find_path({"metadata", part})), Extra::Refused,
                                         "metadata." + std::string(part));
    if (!found.empty()) return found;
  }
  return "";
}

// The text after a line break is a dump of Go structs, which is not compared.
std::string_view without_diff(std::string_view message) {
  return message.substr(0, message.find('\n'));
}

std::string causes_difference(const Json& want, const FieldErrors& errors) {
  const JsonArray& causes = items(want.find("details"), "causes");
  std::string got;
  bool equal = causes.size() == errors.size();
  for (std::size_t i = 0; i < errors.size(); ++i) {
    got += "\n  got  " + errors[i].path + ": " + errors[i].body;
    equal = equal && i < causes.size() && causes[i].string_at("field") == errors[i].path &&
            without_diff(causes[i].string_at("message")) == without_diff(errors[i].body) &&
            causes[i].string_at("reason") == cause_reason(errors[i].type);
  }
  return equal ? "" : "want " + std::string(want.string_at("message")) + got;
}

std::string judge(const Json& step, const Json& recorded, const ReplayedWrite& outcome) {
  const Json* body = recorded.find("body");
  if (recorded.int_at("status") != outcome.status) {
    std::string text = "status: want " + std::to_string(recorded.int_at("status")) + " " +
                       std::string(body->string_at("message")) + " got " + std::to_string(outcome.status);
    for (const FieldError& error : outcome.errors) text += "\n  got  " + error.path + ": " + error.body;
    return text + " " + outcome.message;
  }
  if (outcome.status == 422) return causes_difference(*body, outcome.errors);
  if (outcome.status == 403 || outcome.status == 400)
    return body->string_at("message").ends_with(": " + outcome.message) ? "" : "message: " + outcome.message;
  if (outcome.status == 404) return "";
  const Json* warning = recorded.find_path({"headers", "Warning"});
  for (const std::string& text : outcome.warnings)
    if (!warning || to_string(*warning) != to_string(Json("299 - " + to_string(Json(text)))))
      return "warning: " + text;
  return document_difference(step, *body, outcome.document);
}

struct Theme {
  const char* folder;
  const char* file;
  const char* gates;
};

class Observed : public testing::TestWithParam<Theme> {};

// The server's work around the rules: binding, deletion with a grace period, eviction, dry runs.
const std::set<std::string> kServerCases = {"06-pods binding", "06-pods delete", "06-pods eviction",
                                            "03-crud dry-run", "03-crud generate-name"};

bool is_ours(const Url& url) {
  static const std::set<std::string> kGroups = {"",      "resource.k8s.io", "scheduling.k8s.io",
                                                "batch", "policy",          "coordination.k8s.io"};
  static const std::set<std::string> kSubresources = {"", "status", "resize", "ephemeralcontainers",
                                                      "finalize"};
  return kGroups.contains(url.group) && kSubresources.contains(url.subresource);
}

// Conflicts, routing and bodies that are no JSON: detected before or after the rules.
bool is_of_server(const Json& step, const Json* answer) {
  const std::int64_t status = answer ? answer->int_at("status") : 0;
  return !step.find("body") || status == 409 || status == 500 || status == 404 ||
         (status == 400 &&
          answer->find_path({"body", "message"})->as_string().find("does not match") != std::string::npos);
}

TEST_P(Observed, RulesAnswerAsRecorded) {
  const Theme& theme = GetParam();
  const Gates gates = Gates::parse(GateDefaults::Release, theme.gates).value();
  Replay replay(gates);
  std::map<std::string, Json> recorded;
  const auto name_of = [](const Json& line) {
    return std::string(line.string_at("case")) + "/" + std::string(line.string_at("step"));
  };
  const std::string folder = theme.folder;
  for (const Json& line : read_lines(folder + "observed/" + theme.file + ".jsonl"))
    recorded[name_of(line)] = line;
  const std::vector<Json> steps = read_lines(folder + "cases/" + theme.file + ".jsonl");
  ASSERT_FALSE(steps.empty());
  int agreed = 0;
  for (const Json& step : steps) {
    const std::string_view method = step.string_at("method");
    if (method == "SLEEP" || method == "GET" || method == "WATCH") continue;
    const Url url = parse_url(std::string(step.string_at("path")));
    if (!is_ours(url)) continue;
    if (kServerCases.contains(std::string(theme.file) + " " + std::string(step.string_at("case")))) continue;
    if (method == "DELETE") {
      replay.remove(url);
      continue;
    }
    const ResourceInfo* resource = find_resource(url.group, url.version, url.plural);
    ASSERT_NE(resource, nullptr) << url.plural;
    const std::string name = name_of(step);
    const auto answer = recorded.find(name);
    static const Json kNothing = Json::object();
    recorded_now = answer == recorded.end() ? &kNothing : &answer->second;
    if (is_of_server(step, answer == recorded.end() ? nullptr : &answer->second)) continue;
    const bool other_shape = url.version == "v1beta1" && url.group == "resource.k8s.io";
    const bool strict = url.query.find("Strict") != std::string::npos && name.ends_with("claim-strict");
    const bool listed = kNotCovered.contains(std::string(theme.file) + " " + name);
    if (other_shape || strict) {
      EXPECT_TRUE(listed) << name;
      continue;
    }
    const ReplayedWrite outcome = replay.write(step, url, *resource);
    if (answer == recorded.end()) {
      EXPECT_LT(outcome.status, 300) << name << " prepares what follows";
      continue;
    }
    const std::string wrong = judge(step, answer->second, outcome);
    if (listed) {
      EXPECT_NE(wrong, "") << name << " agrees now: take it off the list";
      continue;
    }
    EXPECT_EQ(wrong, "") << theme.file << " " << name;
    if (wrong.empty()) ++agreed;
  }
  RecordProperty("agreed", agreed);
  std::printf("%s: %d writes answered as recorded\n", theme.file, agreed);
}

INSTANTIATE_TEST_SUITE_P(
    Kubernetes, Observed,
    testing::Values(Theme{"", "20-slice", kGatesOn}, Theme{"", "21-class", kGatesOn},
                    Theme{"", "22-claim", kGatesOn}, Theme{"", "23-claim-status", kGatesOn},
                    Theme{"", "24-taintrule-poolstatus", kGatesOn}, Theme{"", "25-kep-5963", kGatesOn},
                    Theme{"", "30-workload", kGatesOn}, Theme{"", "31-podgroup", kGatesOn},
                    Theme{"", "32-compositepodgroup", kGatesOn},
                    Theme{"", "07-events-leases-priority", kGatesOn}, Theme{"", "03-crud", kGatesOn},
                    Theme{"", "05-nodes", kGatesOn}, Theme{"", "06-pods", kGatesOn},
                    Theme{"", "15-jobs", kGatesOn}, Theme{"default-gates/", "40-default-gates", ""},
                    Theme{"generic-workload-only/", "41-generic-workload-only", "GenericWorkload=true"}));

}  // namespace
}  // namespace berth::api
