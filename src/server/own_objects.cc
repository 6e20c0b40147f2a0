#include "server/own_objects.h"

#include <algorithm>
#include <future>
#include <set>

#include "server/metadata.h"

namespace berth::server {
namespace {

constexpr const char* kServiceName = "kubernetes";
constexpr const char* kServiceNamespace = "default";
constexpr const char* kServiceIp = "10.96.0.1";
constexpr const char* kServiceRange = "10.96.0.0/16";
constexpr const char* kAutomanaged = "kube-aggregator.kubernetes.io/automanaged";
// Of the first group; each of the next ones has less, those of definitions the least.
constexpr int kCorePriority = 18000, kFirstGroupPriority = 17800, kGroupPriorityStep = 50;
constexpr int kCustomGroupPriority = 1000, kCustomVersionPriority = 100, kFirstVersionPriority = 50;

Json named(std::string_view name) {
  return Json::object({{"name", name}});
}

Json service_object(std::uint16_t port) {
  Json metadata = named(kServiceName);
  metadata["labels"] = Json::object({{"component", "apiserver"}, {"provider", "kubernetes"}});
  Json service_port =
      Json::object({{"name", "https"}, {"protocol", "TCP"}, {"port", 443}, {"targetPort", port}});
  Json spec = Json::object({{"clusterIP", kServiceIp},
                            {"clusterIPs", Json::array({kServiceIp})},
                            {"ipFamilies", Json::array({"IPv4"})},
                            {"ipFamilyPolicy", "SingleStack"},
                            {"ports", Json::array({std::move(service_port)})},
                            {"sessionAffinity", "None"},
                            {"type", "ClusterIP"}});
  return Json::object({{"metadata", std::move(metadata)}, {"spec", std::move(spec)}});
}

Json endpoint_port(std::uint16_t port) {
  return Json::object({{"name", "https"}, {"port", port}, {"protocol", "TCP"}});
}

Json endpoints_object(const ServerAddress& address) {
  Json metadata = named(kServiceName);
  metadata["labels"] = Json::object({{"endpointslice.kubernetes.io/skip-mirror", "true"}});
  Json subset = Json::object({{"addresses", Json::array({Json::object({{"ip", address.ip}})})},
                              {"ports", Json::array({endpoint_port(address.port)})}});
  return Json::object({{"metadata", std::move(metadata)}, {"subsets", Json::array({std::move(subset)})}});
}

Json slice_metadata() {
  Json metadata = named(kServiceName);
  metadata["labels"] = Json::object({{"kubernetes.io/service-name", kServiceName}});
  return metadata;
}

Json slice_object(const ServerAddress& address) {
  Json endpoint = Json::object(
      {{"addresses", Json::array({address.ip})}, {"conditions", Json::object({{"ready", true}})}});
  return Json::object({{"metadata", slice_metadata()},
                       {"addressType", address.ip.find(':') == std::string::npos ? "IPv4" : "IPv6"},
                       {"endpoints", Json::array({std::move(endpoint)})},
                       {"ports", Json::array({endpoint_port(address.port)})}});
}

Json range_object(Time now) {
  Json ready = Json::object({{"type", "Ready"},
                             {"status", "True"},
                             {"lastTransitionTime", format_time(now)},
                             {"reason", ""},
                             {"message", "Kubernetes default Service CIDR is ready"}});
  return Json::object({{"metadata", named(kServiceName)},
                       {"spec", Json::object({{"cidrs", Json::array({kServiceRange})}})},
                       {"status", Json::object({{"conditions", Json::array({std::move(ready)})}})}});
}

Json registration_object(std::string_view group, std::string_view version, bool custom, int group_priority,
                         int version_priority) {
  Json metadata = named(std::string(version) + "." + std::string(group));
  metadata["labels"] = Json::object({{kAutomanaged, custom ? "true" : "onstart"}});
  Json spec = Json::object();
  if (!group.empty()) spec["group"] = group;
  spec["version"] = version;
  spec["groupPriorityMinimum"] = group_priority;
  spec["versionPriority"] = version_priority;
  return Json::object({{"metadata", std::move(metadata)}, {"spec", std::move(spec)}});
}

WriteOptions own_object_write() {
  WriteOptions options;
  options.in_process = true;
  return options;
}

const api::ResourceInfo& row(std::string_view group, std::string_view plural) {
  return *api::find_resource(group, "v1", plural);
}

}  // namespace

void OwnObjects::begin(ServerAddress address) {
  address_ = std::move(address);
  began_ = true;
  // The second run adds the status of what the first one made.
  run(true);
  run(true);
}

void OwnObjects::tick(Time monotonic_now) {
  if (!began_ || monotonic_now < next_run_) return;
  next_run_ = monotonic_now + kOwnObjectsPeriod;
  run(false);
}

std::vector<OwnObjects::Wanted> OwnObjects::wanted() const {
  const Time now = registry_.dependencies().clock.now();
  std::vector<Wanted> all = {
      {&row("", "services"), kServiceNamespace, service_object(address_.port), ""},
      {&row("", "endpoints"), kServiceNamespace, endpoints_object(address_), "subsets"},
      {&row("discovery.k8s.io", "endpointslices"), kServiceNamespace, slice_object(address_), "endpoints"},
      {&row("networking.k8s.io", "servicecidrs"), "", range_object(now), "status", "status"}};
  add_registrations(all);
  return all;
}

void OwnObjects::add_registrations(std::vector<Wanted>& all) const {
  const api::ResourceInfo& registrations = row("apiregistration.k8s.io", "apiservices");
  std::vector<std::string_view> groups;
  std::set<std::pair<std::string_view, std::string_view>> seen;
  const ServedPtr served = served_.now();
  std::string_view last_group = "none";
  int version_priority = 0;
  for (const api::ResourceInfo* resource : served->rows()) {
    if (!seen.insert({resource->group, resource->version}).second) continue;
    const bool custom = resource->custom != nullptr;
    if (std::find(groups.begin(), groups.end(), resource->group) == groups.end())
      groups.push_back(resource->group);
    version_priority = resource->group == std::exchange(last_group, resource->group) ? version_priority - 1
                                                                                     : kFirstVersionPriority;
    const int place = static_cast<int>(groups.size());
    const int priority = custom                    ? kCustomGroupPriority
                         : resource->group.empty() ? kCorePriority
                                                   : kFirstGroupPriority - kGroupPriorityStep * place;
    all.push_back({&registrations, "",
                   registration_object(resource->group, resource->version, custom, priority,
                                       custom ? kCustomVersionPriority : version_priority),
                   ""});
  }
}

void OwnObjects::run(bool waits) {
  const std::vector<Wanted> all = wanted();
  std::vector<std::future<void>> answers;
  for (const Wanted& one : all) {
    auto answered = std::make_shared<std::promise<void>>();
    answers.push_back(answered->get_future());
    const Done done = [answered](const ApiResult<Answer>&) { answered->set_value(); };
    const std::string name(metadata_of(one.object).string_at("name"));
    const store::ObjectPtr standing = registry_.store().get({storage_resource(*one.resource), one.ns, name});
    if (!standing)
      make(one, done);
    else if (!one.kept.empty())
      correct(one, done);
    else
      answered->set_value();
  }
  if (waits)
    for (std::future<void>& answer : answers) answer.wait();
  remove_stale_registrations(all);
}

void OwnObjects::make(const Wanted& wanted, Done done) {
  const ObjectTarget target{wanted.resource, wanted.ns, "", ""};
  Json object = wanted.object;
  object["apiVersion"] = api_version_of(*wanted.resource);
  object["kind"] = wanted.resource->kind;
  const api::KindRules& rules = rules_of(target);
  if (rules.set_defaults) rules.set_defaults(object);
  ApiResult<Json> document = canonical(target, std::move(object), Json());
  if (!document) return done(document.error());
  registry_.create(target, *std::move(document), own_object_write(), std::move(done));
}

// Leaves alone what says the same, whatever time it has.
void OwnObjects::correct(const Wanted& wanted, Done done) {
  const std::string name(metadata_of(wanted.object).string_at("name"));
  ObjectTarget target{wanted.resource, wanted.ns, name, std::string(wanted.subresource)};
  const bool only_if_absent = !wanted.subresource.empty();
  registry_.modify(
      target,
      [kept = wanted.kept, value = wanted.object.part(wanted.kept), only_if_absent,
       target](const Json& current) -> ApiResult<Json> {
        const Json& standing = current.part(kept);
        if (standing == value || (only_if_absent && !standing.items_at("conditions").empty())) return current;
        Json next = current;
        next[kept] = value;
        return canonical(target, std::move(next), current);
      },
      own_object_write(), std::move(done));
}

void OwnObjects::remove_stale_registrations(const std::vector<Wanted>& all) {
  const std::string& fingerprint = served_.now()->fingerprint();
  if (registered_for_ == fingerprint) return;
  registered_for_ = fingerprint;
  const api::ResourceInfo& registrations = row("apiregistration.k8s.io", "apiservices");
  std::set<std::string_view> names;
  for (const Wanted& one : all)
    if (one.resource == &registrations) names.insert(metadata_of(one.object).string_at("name"));
  for (const store::ObjectPtr& object :
       registry_.stored_with(storage_resource(registrations), kAutomanaged)) {
    if (names.contains(object->key.name)) continue;
    DeleteOptions options;
    options.uid = object->uid;
    registry_.remove({&registrations, "", object->key.name, ""}, std::move(options), own_object_write(),
                     [](const ApiResult<Answer>&) {});
  }
}

}  // namespace berth::server
