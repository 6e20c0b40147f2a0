#include "placement/plugins/extended_resources.h"

#include <algorithm>

#include "dra/allocator.h"
#include "placement/plugins/plugins.h"

namespace berth::placement::plugins {
namespace {

constexpr std::string_view kImplicitPrefix = "deviceclass.resource.kubernetes.io/";

struct Request {
  std::string name;
  std::int64_t count = 0;
};

struct ContainerAt {
  const api::Container* container;
  std::size_t index;
  bool short_lived;
};

std::vector<ContainerAt> containers_of(const api::Pod& pod) {
  std::vector<ContainerAt> all;
  for (const api::Container& one : pod.init_containers)
    all.push_back({&one, all.size(), !one.restartable_init});
  for (const api::Container& one : pod.containers) all.push_back({&one, all.size(), false});
  return all;
}

std::int64_t amount_of(const api::Container& container, const std::string& resource) {
  const auto found = container.requests.find(resource);
  return found == container.requests.end() ? 0 : found->second.ceil_units();
}

// The second number is the resource's position among the container's requests by name.
std::string request_name(const ContainerAt& at, const std::string& resource) {
  const auto& requests = at.container->requests;
  const auto place = std::distance(requests.begin(), requests.find(resource));
  return "container-" + std::to_string(at.index) + "-request-" + std::to_string(place);
}

struct Mapping {
  std::string container, request;
};

// The claim's requests for one resource, and the containers that use them.
class OneResource {
 public:
  OneResource(const std::vector<ContainerAt>& containers, const std::string& resource) : resource_(resource) {
    lasting_.resize(containers.size());
    for (const ContainerAt& at : containers)
      if (const std::int64_t amount = amount_of(*at.container, resource); amount > 0 && !at.short_lived) {
        lasting_[at.index] = {request_name(at, resource), amount};
        mappings_.push_back({at.container->name, lasting_[at.index].name});
      }
    std::vector<Mapping> passing;
    for (const ContainerAt& at : containers)
      if (at.short_lived) add_passing(at, passing);
    for (Mapping& one : passing)
      if (passing_names_.contains(one.request)) one.request = largest_.name;
    mappings_.insert(mappings_.end(), passing.begin(), passing.end());
  }

  void write(const std::string& device_class, std::map<std::string, Json>& requests,
             JsonArray& mappings) const {
    const auto put = [&](const Request& one) {
      if (one.count == 0) return;
      const Json exactly = Json::object(
          {{"deviceClassName", device_class}, {"allocationMode", "ExactCount"}, {"count", one.count}});
      requests[one.name] = Json::object({{"name", one.name}, {"exactly", exactly}});
    };
    put(largest_);
    for (const Request& one : lasting_) put(one);
    for (const Mapping& one : mappings_)
      mappings.push_back(Json::object(
          {{"containerName", one.container}, {"resourceName", resource_}, {"requestName", one.request}}));
  }

 private:
  // Reuses devices of later and lasting containers first; of the remainder, the maximum over all such
  // containers counts.
  void add_passing(const ContainerAt& at, std::vector<Mapping>& passing) {
    std::int64_t missing = amount_of(*at.container, resource_);
    for (std::size_t i = at.index; i < lasting_.size() && missing > 0; ++i) {
      if (lasting_[i].count == 0) continue;
      missing -= lasting_[i].count;
      passing.push_back({at.container->name, lasting_[i].name});
    }
    if (missing <= 0) return;
    const Request own{request_name(at, resource_), missing};
    passing_names_.insert(own.name);
    passing.push_back({at.container->name, own.name});
    if (own.count > largest_.count) largest_ = own;
  }

  const std::string& resource_;
  std::vector<Request> lasting_;  // by container
  Request largest_;
  std::set<std::string> passing_names_;
  std::vector<Mapping> mappings_;
};

api::ResourceClaim claim_for(const PodQuery& query, const api::ExtendedClaim& extended) {
  api::ResourceClaim claim;
  claim.meta.ns = query.pod->meta.ns;
  claim.meta.name = claims_of(query).extended->claim_name;
  for (const Json& request : extended.requests.as_array()) {
    const Json& exactly = request.part("exactly");
    api::DeviceSubRequest one;
    one.name = request.string_at("name");
    one.device_class = exactly.string_at("deviceClassName");
    one.count = exactly.int_at("count");
    claim.requests.push_back({one.name, false, {one}});
  }
  return claim;
}

// By resource, the classes of those in `delegated_bits`.
std::map<std::string, std::string> classes_of(const PodQuery& query, std::uint64_t delegated_bits) {
  const model::Cluster& cluster = query.context->cluster;
  const std::vector<model::ResourceId>& resources = claims_of(query).extended->resources;
  std::map<std::string, std::string> classes;
  for (std::size_t i = 0; i < resources.size(); ++i)
    if (delegated_bits >> i & 1)
      classes.emplace(cluster.resources().text(resources[i]), class_of(cluster, resources[i])->meta.name);
  return classes;
}

Result<ExtendedVariant> make_variant(const PodQuery& query, std::uint64_t delegated_bits) {
  const model::Cluster& cluster = query.context->cluster;
  ExtendedVariant variant;
  variant.claim = std::make_shared<const api::ExtendedClaim>(
      extended_claim(*query.pod, classes_of(query, delegated_bits)));
  std::vector<dra::ClaimPtr> claims;
  for (const ClaimChoice& choice : claims_of(query).claims)
    if (!choice.allocation) claims.push_back(cluster.claim(choice.claim).live);
  claims.push_back(std::make_shared<const api::ResourceClaim>(claim_for(query, *variant.claim)));
  variant.allocation_request = TRY(query.context->allocator.prepare(claims));
  return variant;
}

// Made once an attempt.
Result<const ExtendedVariant*> variant_of(const PodQuery& query, std::uint64_t delegated_bits) {
  auto& variants = claims_of(query).extended->variants;
  auto known = variants.find(delegated_bits);
  if (known == variants.end())
    known = variants.emplace(delegated_bits, TRY(make_variant(query, delegated_bits))).first;
  return &known->second;
}

class ExtendedResourceClaims final : public PreFilter {
 public:
  std::string_view name() const override { return kDynamicResources; }
  void prepare(PodQuery& query, Diagnosis& diagnosis) const override {
    const model::Cluster& cluster = query.context->cluster;
    auto extended = std::make_shared<ExtendedResources>();
    for (const model::ResourceAmount& one : cluster.pod(query.pod_id).requests)
      if (class_of(cluster, one.resource)) extended->resources.push_back(one.resource);
    if (extended->resources.empty()) return;
    const api::ObjectMeta& pod = query.pod->meta;
    if (extended->resources.size() > kDelegableMax)
      return diagnosis.refuse_everywhere(reason_row("TooManyExtendedResources"),
                                         std::to_string(kDelegableMax));
    extended->claim_name = api::extended_claim_name(pod.name, pod.uid);
    if (query.context->view.claims.find(pod.ns, extended->claim_name))
      return diagnosis.refuse_everywhere(reason_row("EarlierExtendedClaim"),
                                         pod.ns + "/" + extended->claim_name);
    query.slots.write<PodClaims>().extended = std::move(extended);
  }
};

}  // namespace

std::string implicit_resource(std::string_view device_class) {
  return std::string(kImplicitPrefix).append(device_class);
}

std::shared_ptr<const api::DeviceClass> class_of(const model::Cluster& cluster, model::ResourceId resource) {
  return class_of(cluster, cluster.resources().text(resource));
}

std::shared_ptr<const api::DeviceClass> class_of(const model::Cluster& cluster, const std::string& name) {
  if (name.find('/') == std::string::npos) return nullptr;
  const auto& classes = cluster.classes();
  if (name.starts_with(kImplicitPrefix)) {
    const auto found = classes.find(name.substr(kImplicitPrefix.size()));
    return found == classes.end() ? nullptr : found->second;
  }
  std::shared_ptr<const api::DeviceClass> best;
  for (const auto& [key, one] : classes)
    if (one->extended_resource == name && (!best || one->meta.created > best->meta.created)) best = one;
  return best;
}

bool delegated(const PodQuery& query, model::ResourceId resource, const model::NodeRow& node) {
  const PodClaims& pod = claims_of(query);
  if (!pod.extended || model::amount_in(node.allocatable, resource) > 0) return false;
  const auto& all = pod.extended->resources;
  return std::find(all.begin(), all.end(), resource) != all.end();
}

Result<NodeRequest> allocation_request_for(const PodQuery& query, NodeId node) {
  const PodClaims& pod = claims_of(query);
  const NodeRequest own{pod.allocation_request.get(), nullptr};
  if (!pod.extended) return own;
  const ExtendedResources& extended = *pod.extended;
  const model::NodeRow& row = query.context->cluster.node(node);
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < extended.resources.size(); ++i)
    if (delegated(query, extended.resources[i], row)) bits |= std::uint64_t{1} << i;
  if (bits == 0) return own;
  const ExtendedVariant* variant = TRY(variant_of(query, bits));
  return NodeRequest{variant->allocation_request.get(), variant->claim};
}

void sign_extended_resources(const PodQuery& query, PodSignature& signature) {
  if (!signature.begin("ExtendedResources")) return;
  const std::vector<model::ResourceId>& resources = claims_of(query).extended->resources;
  signature.put(resources.size());
  for (const auto& [resource, device_class] : classes_of(query, ~std::uint64_t{0})) {
    signature.put(resource);
    signature.put(device_class);
  }
}

// The claim of a set has the requests of each of its resources, whatever else is in the set.
Signing sign_extended_claim(const PodQuery& query, PodSignature& signature) {
  const std::size_t count = claims_of(query).extended->resources.size();
  const auto everything = variant_of(query, ~std::uint64_t{0} >> (kDelegableMax - count));
  if (!everything) return Signing::Unsigned;
  signature.put((*everything)->allocation_request->signature());
  for (const auto& one : classes_of(query, ~std::uint64_t{0}))
    signature.put(to_string(extended_claim(*query.pod, {one}).requests));
  return Signing::Signed;
}

api::ExtendedClaim extended_claim(const api::Pod& pod,
                                  const std::map<std::string, std::string>& class_by_name) {
  const std::vector<ContainerAt> containers = containers_of(pod);
  std::map<std::string, Json> requests;
  JsonArray mappings, sorted;
  for (const auto& [resource, device_class] : class_by_name)
    OneResource(containers, resource).write(device_class, requests, mappings);
  for (auto& [name, request] : requests) sorted.push_back(std::move(request));
  return {Json(std::move(sorted)), Json(std::move(mappings))};
}

std::unique_ptr<PreFilter> extended_resource_claims() {
  return std::make_unique<ExtendedResourceClaims>();
}

}  // namespace berth::placement::plugins
