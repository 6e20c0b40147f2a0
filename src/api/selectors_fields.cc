// The field selectors of selectors.h, with the field labels of each kind.
#include <fmt/format.h>

#include <algorithm>

#include "api/selectors.h"
#include "api/type_table.h"

namespace berth::api {
namespace {

Error invalid_field_selector(std::string message) {
  return Error(ErrorCode::Invalid, std::move(message));
}

struct FieldLabel {
  std::string_view group;
  std::string_view kind;
  std::string_view label;
  std::string_view path;         // "a|b": the first that is set
  std::string_view absent = {};  // the value of an absent field
};

constexpr std::string_view kEvents = "events.k8s.io";
constexpr std::string_view kDraGroup = "resource.k8s.io";

// Paths are those of the stored shape: events.k8s.io is stored as core events.
// Source: the conversion functions and field sets of kube-apiserver 1.37.
constexpr FieldLabel kLabels[] = {
    {"", "Pod", "spec.nodeName", "spec.nodeName"},
    {"", "Pod", "spec.host", "spec.nodeName"},
    {"", "Pod", "spec.restartPolicy", "spec.restartPolicy"},
    {"", "Pod", "spec.schedulerName", "spec.schedulerName"},
    {"", "Pod", "spec.serviceAccountName", "spec.serviceAccountName"},
    {"", "Pod", "spec.hostNetwork", "spec.hostNetwork", "false"},
    {"", "Pod", "status.phase", "status.phase"},
    {"", "Pod", "status.podIP", "status.podIP"},
    {"", "Pod", "status.podIPs", "status.podIP"},
    {"", "Pod", "status.nominatedNodeName", "status.nominatedNodeName"},
    {"", "Node", "spec.unschedulable", "spec.unschedulable", "false"},
    {"", "Namespace", "status.phase", "status.phase"},
    {"", "Secret", "type", "type"},
    {"", "Service", "spec.clusterIP", "spec.clusterIP"},
    {"", "Service", "spec.type", "spec.type"},
    {"", "ReplicationController", "status.replicas", "status.replicas", "0"},
    {"apps", "ReplicaSet", "status.replicas", "status.replicas", "0"},
    {"batch", "Job", "status.successful", "status.succeeded", "0"},
    {"", "Event", "involvedObject.kind", "involvedObject.kind"},
    {"", "Event", "involvedObject.namespace", "involvedObject.namespace"},
    {"", "Event", "involvedObject.name", "involvedObject.name"},
    {"", "Event", "involvedObject.uid", "involvedObject.uid"},
    {"", "Event", "involvedObject.apiVersion", "involvedObject.apiVersion"},
    {"", "Event", "involvedObject.resourceVersion", "involvedObject.resourceVersion"},
    {"", "Event", "involvedObject.fieldPath", "involvedObject.fieldPath"},
    {"", "Event", "reason", "reason"},
    {"", "Event", "reportingComponent", "reportingComponent"},
    {"", "Event", "source", "source.component|reportingComponent"},
    {"", "Event", "type", "type"},
    {kEvents, "Event", "regarding.kind", "involvedObject.kind"},
    {kEvents, "Event", "regarding.namespace", "involvedObject.namespace"},
    {kEvents, "Event", "regarding.name", "involvedObject.name"},
    {kEvents, "Event", "regarding.uid", "involvedObject.uid"},
    {kEvents, "Event", "regarding.apiVersion", "involvedObject.apiVersion"},
    {kEvents, "Event", "regarding.resourceVersion", "involvedObject.resourceVersion"},
    {kEvents, "Event", "regarding.fieldPath", "involvedObject.fieldPath"},
    {kEvents, "Event", "reason", "reason"},
    {kEvents, "Event", "reportingController", "reportingComponent"},
    {kEvents, "Event", "type", "type"},
    {kDraGroup, "ResourceSlice", "spec.nodeName", "spec.nodeName"},
    {kDraGroup, "ResourceSlice", "spec.driver", "spec.driver"},
    {kDraGroup, "ResourceSlice", "spec.pool.name", "spec.pool.name"},
    {"certificates.k8s.io", "CertificateSigningRequest", "spec.signerName", "spec.signerName"},
    {"certificates.k8s.io", "ClusterTrustBundle", "spec.signerName", "spec.signerName"},
    {"certificates.k8s.io", "PodCertificateRequest", "spec.signerName", "spec.signerName"},
    {"certificates.k8s.io", "PodCertificateRequest", "spec.podName", "spec.podName"},
    {"certificates.k8s.io", "PodCertificateRequest", "spec.nodeName", "spec.nodeName"},
    {kBerthGroup, "BindRequest", "spec.selectedNode", "spec.selectedNode"},
    {kBerthGroup, "BindRequest", "status.phase", "status.phase"},
};

constexpr std::string_view kMetaLabels[] = {"metadata.name", "metadata.namespace"};

struct Label {
  std::string_view path;
  std::string_view absent;
};

Result<Label> label_of(std::string_view group, std::string_view kind, std::string_view label,
                       const std::vector<std::string>& own) {
  for (const std::string_view meta : kMetaLabels)
    if (meta == label) return Label{meta, {}};
  bool has_labels = !own.empty();
  for (const FieldLabel& row : kLabels) {
    if (row.kind != kind || row.group != group) continue;
    if (row.label == label) return Label{row.path, row.absent};
    has_labels = true;
  }
  for (const std::string& path : own)
    if (path == label) return Label{path, {}};
  if (has_labels) return invalid_field_selector(fmt::format("field label not supported: {}", label));
  return invalid_field_selector(fmt::format(
      "\"{}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"", label));
}

const Json* value_at(const Json& object, std::string_view path) {
  const Json* at = &object;
  while (at && !path.empty()) {
    const std::size_t dot = path.find('.');
    at = at->find(path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return at;
}

std::string text_at(const Json& object, std::string_view paths, std::string_view absent) {
  while (!paths.empty()) {
    const std::size_t bar = paths.find('|');
    const Json* value = value_at(object, paths.substr(0, bar));
    paths = bar == std::string_view::npos ? std::string_view() : paths.substr(bar + 1);
    if (!value || value->is_null() || (value->is_string() && value->as_string().empty())) continue;
    return value->is_string() ? value->as_string() : to_string(*value);
  }
  return std::string(absent);
}

// The text up to the next comma that no backslash precedes.
std::string_view next_term(std::string_view& rest) {
  std::size_t end = 0;
  while (end < rest.size() && rest[end] != ',') end += rest[end] == '\\' ? 2 : 1;
  end = std::min(end, rest.size());
  const std::string_view term = rest.substr(0, end);
  rest = end < rest.size() ? rest.substr(end + 1) : std::string_view();
  return term;
}

Result<std::string> unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ',' || c == '=')
      return invalid_field_selector(
          fmt::format("invalid field selector: unescaped character in value: {}", static_cast<int>(c)));
    if (c != '\\') {
      out += c;
      continue;
    }
    const std::string_view sequence = text.substr(i, 2);
    if (sequence != "\\\\" && sequence != "\\," && sequence != "\\=")
      return invalid_field_selector(
          fmt::format("invalid field selector: invalid escape sequence: {}", sequence));
    out += text[++i];
  }
  return out;
}

}  // namespace

Result<std::vector<FieldRequirement>> parse_field_requirements(std::string_view text) {
  if (text.size() > kSelectorBytesMax) return Error(ErrorCode::TooLarge, "the field selector is too long");
  std::vector<std::string_view> terms;
  for (std::string_view rest = text; !rest.empty();)
    if (const std::string_view term = next_term(rest); !term.empty()) terms.push_back(term);
  std::sort(terms.begin(), terms.end());
  std::vector<FieldRequirement> found;
  for (const std::string_view term : terms) {
    const std::size_t sign = std::min(term.find('='), term.find("!="));
    if (sign == std::string_view::npos)
      return invalid_field_selector(fmt::format("invalid selector: '{}'; can't understand '{}'", text, term));
    const bool equal = term[sign] == '=';
    const std::size_t size = !equal || term.substr(sign, 2) == "==" ? 2 : 1;
    found.push_back({std::string(term.substr(0, sign)), TRY(unescaped(term.substr(sign + size))), equal});
  }
  return found;
}

Result<FieldSelector> FieldSelector::parse(std::string_view group, std::string_view kind,
                                           std::string_view text, const std::vector<std::string>& own) {
  FieldSelector selector;
  selector.requirements_ = TRY(parse_field_requirements(text));
  for (const FieldRequirement& requirement : selector.requirements_) {
    const Label label = TRY(label_of(group, kind, requirement.label, own));
    selector.paths_.emplace_back(label.path);
    selector.absent_.push_back(label.absent);
  }
  return selector;
}

bool FieldSelector::matches(const Json& object) const {
  for (std::size_t i = 0; i < requirements_.size(); ++i) {
    const bool same = text_at(object, paths_[i], absent_[i]) == requirements_[i].value;
    if (same != requirements_[i].equal) return false;
  }
  return true;
}

}  // namespace berth::api
