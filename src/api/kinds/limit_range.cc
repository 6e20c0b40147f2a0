// Defaults of core/v1 LimitRange, and what the LimitRanges of a namespace set and refuse of a new pod or
// claim of a volume. Source: plugin/pkg/admission/limitranger of Kubernetes 1.37.
#include <fmt/format.h>

#include <algorithm>

#include "api/kinds/core_parts.h"
#include "api/kinds/stored_kinds.h"
#include "api/types/pod.h"

namespace berth::api {
namespace {

constexpr std::string_view kLimitRanges = "limitranges";
constexpr std::string_view kAnnotation = "kubernetes.io/limit-ranger";

std::vector<Json> ranges_of(const Json& object, const RuleContext& ctx) {
  const std::string_view ns = object.part("metadata").string_at("namespace");
  std::vector<Json> ranges = ctx.list(kLimitRanges, "\"namespace\":\"" + std::string(ns) + "\"");
  std::erase_if(ranges,
                [&](const Json& range) { return range.part("metadata").string_at("namespace") != ns; });
  return ranges;
}

void copy_missing(Json& item, std::string_view into, std::string_view from) {
  static const TypeInfo& type = core_type("LimitRangeItem");
  const JsonObject source = entries(present(std::as_const(item), from));
  if (source.empty()) return;
  put_default(item, type, into, Json::object());
  Json& target = *present(item, into);
  for (const JsonMember& amount : source)
    if (!present(std::as_const(target), amount.key)) target[amount.key] = amount.value;
}

void set_limit_range_defaults(Json& range) {
  for (Json& item : items(range["spec"], "limits")) {
    if (std::as_const(item).string_at("type") != "Container") continue;
    copy_missing(item, "default", "max");
    copy_missing(item, "defaultRequest", "default");
    copy_missing(item, "defaultRequest", "min");
  }
}

// What the containers of a pod get where they say nothing; of several items of a LimitRange the last one
// counts, of several LimitRanges the first one.
struct ContainerDefaults {
  Json requests = Json::object(), limits = Json::object();
};

ContainerDefaults defaults_in(const Json& range) {
  ContainerDefaults defaults;
  for (const Json& item : range.part("spec").items_at("limits")) {
    if (item.string_at("type") != "Container") continue;
    for (const JsonMember& amount : entries(present(item, "defaultRequest")))
      defaults.requests[amount.key] = amount.value;
    for (const JsonMember& amount : entries(present(item, "default")))
      defaults.limits[amount.key] = amount.value;
  }
  return defaults;
}

// "cpu, memory request for container web", of those that were set; empty for none.
std::string add_amounts(Json& container, std::string_view list, std::string_view word, const Json& wanted,
                        std::string_view what) {
  static const TypeInfo& type = core_type("Container");
  static const TypeInfo& resources_type = core_type("ResourceRequirements");
  std::vector<std::string> set;
  for (const JsonMember& amount : wanted.as_object()) {
    if (std::as_const(container).part("resources").part(list).find(amount.key)) continue;
    put_default(container, type, "resources", Json::object());
    put_default(*present(container, "resources"), resources_type, list, Json::object());
    container["resources"][list][amount.key] = amount.value;
    set.push_back(amount.key);
  }
  if (set.empty()) return "";
  std::sort(set.begin(), set.end());
  return fmt::format("{} {} for {} {}", fmt::join(set, ", "), word, what,
                     std::as_const(container).string_at("name"));
}

void add_defaults(Json& pod, const ContainerDefaults& defaults) {
  std::string notes;
  const auto note = [&](const std::string& text) {
    if (!text.empty()) notes.append(notes.empty() ? "" : "; ").append(text);
  };
  for (const auto& [list, what] :
       {std::pair("containers", "container"), std::pair("initContainers", "init container")})
    for (Json& container : items(pod["spec"], list)) {
      note(add_amounts(container, "requests", "request", defaults.requests, what));
      note(add_amounts(container, "limits", "limit", defaults.limits, what));
    }
  if (notes.empty()) return;
  Json& metadata = pod["metadata"];
  put_default(metadata, table_type("meta.k8s.io", "v1", "ObjectMeta"), "annotations", Json::object());
  metadata["annotations"][kAnnotation] = "LimitRanger plugin set: " + notes;
}

// The amounts that an item of a LimitRange is compared with.
struct Asked {
  ResourceMap requests, limits;
  std::string_view type;  // "Container", "Pod", "PersistentVolumeClaim"
};

using Texts = std::vector<std::string>;

void check_min(const std::string& name, Quantity min, const Asked& asked, Texts& errors) {
  const std::string begin = "minimum " + name + " usage per " + std::string(asked.type) + " is " + min.text();
  const auto request = asked.requests.find(name), limit = asked.limits.find(name);
  if (request == asked.requests.end())
    errors.push_back(begin + ".  No request is specified");
  else if (request->second < min)
    errors.push_back(begin + ", but request is " + request->second.text());
  else if (limit != asked.limits.end() && limit->second < min)
    errors.push_back(begin + ", but limit is " + limit->second.text());
}

// Claims of volumes have requests alone.
void check_max(const std::string& name, Quantity max, const Asked& asked, Texts& errors) {
  const std::string begin = "maximum " + name + " usage per " + std::string(asked.type) + " is " + max.text();
  const bool by_request = asked.type == "PersistentVolumeClaim";
  const auto request = asked.requests.find(name), limit = asked.limits.find(name);
  if (by_request && request == asked.requests.end())
    errors.push_back(begin + ".  No request is specified");
  else if (!by_request && limit == asked.limits.end())
    errors.push_back(begin + ".  No limit is specified");
  else if (!by_request && limit->second > max)
    errors.push_back(begin + ", but limit is " + limit->second.text());
  else if (request != asked.requests.end() && request->second > max)
    errors.push_back(begin + ", but request is " + request->second.text());
}

void check_ratio(const std::string& name, Quantity most, const Asked& asked, Texts& errors) {
  const std::string begin =
      name + " max limit to request ratio per " + std::string(asked.type) + " is " + most.text();
  const auto request = asked.requests.find(name), limit = asked.limits.find(name);
  if (request == asked.requests.end() || request->second.is_zero())
    return errors.push_back(begin + ", but no request is specified or request is 0");
  if (limit == asked.limits.end() || limit->second.is_zero())
    return errors.push_back(begin + ", but no limit is specified or limit is 0");
  const double ratio = limit->second.approximate() / request->second.approximate();
  if (ratio > most.approximate())
    errors.push_back(begin + ", but provided ratio is " + std::to_string(ratio));
}

void check_item(const Json& item, const Asked& asked, Texts& errors) {
  if (item.string_at("type") != asked.type) return;
  for (const auto& [name, amount] : decode_resource_map(item.find("min")))
    check_min(name, amount, asked, errors);
  for (const auto& [name, amount] : decode_resource_map(item.find("max")))
    check_max(name, amount, asked, errors);
  for (const auto& [name, amount] : decode_resource_map(item.find("maxLimitRequestRatio")))
    check_ratio(name, amount, asked, errors);
}

std::vector<Asked> asked_by_pod(const Json& object) {
  std::vector<Asked> all;
  const Pod pod = decode_pod(object, nullptr);
  for (const auto* containers : {&pod.containers, &pod.init_containers})
    for (const Container& container : *containers)
      all.push_back({container.requests, container.limits, "Container"});
  all.push_back({container_requests(pod, {}), container_limits(pod), "Pod"});
  if (pod.pod_level_requests)
    for (const auto& [name, amount] : *pod.pod_level_requests) all.back().requests[name] = amount;
  if (pod.pod_level_limits)
    for (const auto& [name, amount] : *pod.pod_level_limits) all.back().limits[name] = amount;
  return all;
}

std::optional<Rejection> refuse_beyond(const std::vector<Json>& ranges, const std::vector<Asked>& all) {
  for (const Json& range : ranges) {
    Texts errors;
    for (const Json& item : range.part("spec").items_at("limits"))
      for (const Asked& asked : all) check_item(item, asked, errors);
    if (errors.empty()) continue;
    const std::string text = fmt::format("{}", fmt::join(errors, ", "));
    return Rejection{403, "Forbidden", errors.size() == 1 ? text : "[" + text + "]"};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Rejection> admit_limits(Json& pod, const RuleContext& ctx) {
  const std::vector<Json> ranges = ranges_of(pod, ctx);
  if (ranges.empty()) return std::nullopt;
  for (const Json& range : ranges) add_defaults(pod, defaults_in(range));
  return refuse_beyond(ranges, asked_by_pod(pod));
}

std::optional<Rejection> admit_claim_limits(const Json& claim, const RuleContext& ctx) {
  const std::vector<Json> ranges = ranges_of(claim, ctx);
  if (ranges.empty()) return std::nullopt;
  const Json& resources = claim.part("spec").part("resources");
  return refuse_beyond(ranges,
                       {{decode_resource_map(resources.find("requests")), {}, "PersistentVolumeClaim"}});
}

void adjust_limit_ranges(KindRules& rules) {
  rules.draws_name = true;
  rules.set_defaults = set_limit_range_defaults;
}

}  // namespace berth::api
