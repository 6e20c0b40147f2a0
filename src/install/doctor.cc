#include "install/doctor.h"

#include <algorithm>
#include <charconv>

#include "base/name_list.h"
#include "install/examination.h"

namespace berth::install {
namespace {

constexpr std::string_view kServerName = "the API server";

// The purpose of a resource: the capability that its absence removes.
struct Capability {
  std::string_view group_version;
  std::string_view resource;
  Severity severity;
  std::string_view lost;
  std::string_view advice;
};
constexpr Capability kCapabilities[] = {
    {"resource.k8s.io/v1", "resourceclaims", Severity::Blocks, "pods with resource claims are not placed",
     "start kube-apiserver without --runtime-config=resource.k8s.io/v1=false"},
    {"resource.k8s.io/v1", "devicetaintrules", Severity::Warns,
     "devices are kept off by the taints in their slices alone",
     "start kube-apiserver with --feature-gates=DRADeviceTaintRules=true"},
    {"scheduling.k8s.io/v1beta1", "podgroups", Severity::Warns,
     "there are no gangs: every pod is placed by itself",
     "start kube-apiserver with --feature-gates=GenericWorkload=true and "
     "--runtime-config=scheduling.k8s.io/v1beta1=true"},
};

// "37+" is 37; -1 for a text that does not begin with a digit.
int leading_number(std::string_view text) {
  int number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

struct Greeting {
  client::HttpReply reply;
  Time asked, answered;  // on this machine's clock
};

void check_clock(Examination& exam, const Greeting& greeting) {
  const Time date = greeting.reply.date;
  if (!date.is_set()) return;
  // A Date header has whole seconds, truncated.
  const Duration ahead = date - greeting.answered;
  const Duration behind = greeting.asked - (date + Duration::seconds(1));
  if (std::max(ahead, behind) <= kClockSkewMax) return;
  exam.warns(std::string(kServerName),
             "its clock is " + std::to_string(std::max(ahead, behind).whole_seconds()) + " s " +
                 (ahead > behind ? "ahead of" : "behind") + " this machine's",
             "let both follow one time server; Berth corrects its own deadlines, certificates and tokens do "
             "not");
}

// False when no further check is possible.
bool check_server(Examination& exam, const Greeting& greeting) {
  const client::HttpReply& reply = greeting.reply;
  const std::string server(kServerName);
  if (reply.delivery != client::Delivery::Answered) {
    exam.blocks(server, "does not answer: " + reply.trouble,
                "look whether it runs, and at the address in the kubeconfig");
    return false;
  }
  if (reply.status == 401 || reply.status == 403) {
    exam.blocks(server, "refuses these credentials: it " + trouble_of(reply),
                "renew the token or the certificate of the kubeconfig");
    return false;
  }
  const Result<Json> version = answered_json(reply, "/version");
  const int major = version ? leading_number(version->string_at("major")) : -1;
  const int minor = version ? leading_number(version->string_at("minor")) : -1;
  if (major < 0 || minor < 0) {
    exam.blocks(server, version ? "does not say which Kubernetes it is" : version.error().text(),
                "look whether the address in the kubeconfig is that of a Kubernetes API server");
    return false;
  }
  exam.diagnosis.kubernetes = std::to_string(major) + "." + std::to_string(minor);
  if (major > 1 || minor >= kKubernetesMinorMin) return true;
  exam.blocks(server,
              "is Kubernetes " + exam.diagnosis.kubernetes + "; Berth needs resource.k8s.io/v1 of 1." +
                  std::to_string(kKubernetesMinorMin),
              "upgrade the cluster");
  return false;
}

void check_capabilities(Examination& exam) {
  for (const Capability& row : kCapabilities) {
    const std::optional<Json> served = exam.read("/apis/" + std::string(row.group_version));
    if (!served) continue;
    const JsonArray& resources = served->items_at("resources");
    const bool found = std::any_of(resources.begin(), resources.end(), [&](const Json& resource) {
      return resource.string_at("name") == row.resource;
    });
    if (found) continue;
    const std::string what = "does not serve " + std::string(row.resource) + " of " +
                             std::string(row.group_version) + ": " + std::string(row.lost);
    if (row.severity == Severity::Blocks)
      exam.blocks(std::string(kServerName), what, std::string(row.advice));
    else
      exam.warns(std::string(kServerName), what, std::string(row.advice));
  }
}

}  // namespace

void Examination::blocks(std::string where, std::string what, std::string advice) {
  diagnosis.findings.push_back({Severity::Blocks, std::move(where), std::move(what), std::move(advice)});
}

void Examination::warns(std::string where, std::string what, std::string advice) {
  diagnosis.findings.push_back({Severity::Warns, std::move(where), std::move(what), std::move(advice)});
}

std::optional<Json> Examination::read(const std::string& target) {
  Result<Json> json = get_json(call, target);
  if (json) return std::move(json).value();
  warns(target, "was not examined: " + json.error().message(), "ask with credentials that may read it");
  return std::nullopt;
}

std::optional<JsonArray> Examination::list(const std::string& target) {
  Result<JsonArray> items = list_json(call, target);
  if (items) return std::move(items).value();
  warns(target, "was not examined: " + items.error().message(), "ask with credentials that may read it");
  return std::nullopt;
}

std::string shortened(const std::vector<std::string>& names) {
  return first_names(names, kNamesShownMax);
}

std::string to_line(const Finding& finding) {
  return std::string(finding.severity == Severity::Blocks ? "blocks  " : "warns   ") + finding.where + ": " +
         finding.what + " — " + finding.advice;
}

bool Diagnosis::blocks() const {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.severity == Severity::Blocks; });
}

Diagnosis diagnose(const DoctorOptions& options, const ServerCall& call, const Clock& clock) {
  Diagnosis diagnosis;
  Greeting greeting;
  client::HttpFetch version;
  version.target = "/version";
  greeting.asked = clock.now();
  greeting.reply = call(std::move(version));
  greeting.answered = clock.now();
  const Time date = greeting.reply.date;
  Examination exam{options, call, date.is_set() ? date : greeting.answered, diagnosis};
  if (!check_server(exam, greeting)) return diagnosis;
  check_clock(exam, greeting);
  check_capabilities(exam);
  check_definitions(exam);
  check_rights(exam);
  check_schedulers(exam);
  check_pools(exam);
  check_leftovers(exam);
  check_node_agents(exam);
  return diagnosis;
}

}  // namespace berth::install
