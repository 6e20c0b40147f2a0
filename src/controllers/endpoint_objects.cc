#include "controllers/endpoint_objects.h"

#include <algorithm>
#include <unordered_map>

#include "controllers/service_pods.h"
#include "workloads/pod_names.h"

namespace berth::controllers {
namespace {

using workloads::Parsed;

// A slice that stands, and what it will say.
struct StandingSlice {
  Parsed object;
  JsonArray ports, endpoints;
  bool taken = false;  // it belongs to a group, or is a placeholder

  bool is_of(std::string_view address_type) const {
    return object.document.string_at("addressType") == address_type;
  }
};

std::string identity_of(const Json& endpoint) {
  std::string identity(endpoint.part("targetRef").string_at("uid"));
  for (const Json& address : endpoint.items_at("addresses"))
    identity += "/" + (address.is_string() ? address.as_string() : "");
  return identity;
}

class SlicePlan {
 public:
  SlicePlan(const View& view, const WantedSlices& wanted, Effects& effects)
      : view_(view), wanted_(wanted), effects_(effects), names_(wanted.owner.name + "-", wanted.owner.uid) {
    for (const api::AnyObject* slice :
         workloads::controlled_others(view, endpoint_slices(), wanted.ns, wanted.owner.uid))
      if (auto parsed = workloads::parse_other(
              workloads::key_in(endpoint_slices(), wanted.ns, slice->meta.name), *slice);
          parsed && !slice->meta.deleting())
        standing_.push_back({std::move(*parsed), {}, {}, false});
  }

  void run() {
    for (const EndpointGroup& group : wanted_.groups) distribute(group);
    for (const std::string& type : wanted_.placeholder_types) keep_placeholder(type);
    for (const StandingSlice& slice : standing_) {
      const api::ObjectKey& key = slice.object.key;
      if (slice.taken)
        change(slice);
      else
        effects_.chains.push_back({key, {client::delete_object(key, slice.object.meta.uid)}});
    }
  }

 private:
  void distribute(const EndpointGroup& group) {
    std::unordered_map<std::string, const Json*> missing;
    for (const Json& endpoint : group.endpoints) missing.emplace(identity_of(endpoint), &endpoint);
    std::vector<StandingSlice*> slices;
    for (StandingSlice& slice : standing_) {
      const Json& document = slice.object.document;
      if (!slice.is_of(group.address_type) || document.items_at("ports") != group.ports) continue;
      for (const Json& endpoint : document.items_at("endpoints"))
        if (const auto found = missing.find(identity_of(endpoint)); found != missing.end()) {
          slice.endpoints.push_back(*found->second);
          missing.erase(found);
        }
      slice.ports = group.ports;
      slices.push_back(&slice);
    }
    const auto changes = [](const StandingSlice* slice) {
      return slice->endpoints != slice->object.document.items_at("endpoints");
    };
    std::stable_partition(slices.begin(), slices.end(), changes);
    std::vector<const Json*> rest;
    for (const Json& endpoint : group.endpoints)
      if (missing.erase(identity_of(endpoint)) > 0) rest.push_back(&endpoint);  // once, however often named
    auto next = rest.begin();
    for (StandingSlice* slice : slices) {
      while (next != rest.end() && slice->endpoints.size() < wanted_.endpoints_per_slice_max)
        slice->endpoints.push_back(**next++);
      slice->taken = !slice->endpoints.empty();
      if (slice->taken) types_.push_back(group.address_type);
    }
    while (next != rest.end()) {
      JsonArray endpoints;
      while (next != rest.end() && endpoints.size() < wanted_.endpoints_per_slice_max)
        endpoints.push_back(**next++);
      create(group.address_type, group.ports, std::move(endpoints));
    }
  }

  // A slice that nothing else needs becomes it.
  void keep_placeholder(const std::string& type) {
    if (std::find(types_.begin(), types_.end(), type) != types_.end()) return;
    const auto spare = std::find_if(standing_.begin(), standing_.end(), [&](const StandingSlice& slice) {
      return !slice.taken && slice.is_of(type);
    });
    if (spare == standing_.end()) return create(type, {}, {});
    spare->taken = true;
    spare->ports.clear();
    spare->endpoints.clear();
  }

  void change(const StandingSlice& slice) {
    const Json& before = slice.object.document;
    const api::ObjectMeta& meta = slice.object.meta;
    if (before.items_at("ports") == slice.ports && before.items_at("endpoints") == slice.endpoints &&
        meta.labels == wanted_.labels && meta.annotations == wanted_.annotations)
      return;
    Json next = before;
    next["ports"] = slice.ports;
    next["endpoints"] = slice.endpoints;
    add_notes(next["metadata"]);
    effects_.chains.push_back({slice.object.key, {workloads::replace_other(slice.object.key, next)}});
  }

  void create(const std::string& type, JsonArray ports, JsonArray endpoints) {
    types_.push_back(type);
    std::string name = names_.name(next_name_++);
    while (workloads::find_other(view_, endpoint_slices(), wanted_.ns, name))
      name = names_.name(next_name_++);
    Json metadata = Json::object({{"name", name}, {"namespace", wanted_.ns}});
    metadata["generateName"] = wanted_.owner.name + "-";
    metadata["ownerReferences"] = Json::array({api::to_json(wanted_.owner)});
    add_notes(metadata);
    const Json slice = Json::object({{"apiVersion", "discovery.k8s.io/v1"},
                                     {"kind", "EndpointSlice"},
                                     {"metadata", std::move(metadata)},
                                     {"addressType", type},
                                     {"endpoints", std::move(endpoints)},
                                     {"ports", std::move(ports)}});
    effects_.chains.push_back({workloads::key_in(endpoint_slices(), wanted_.ns, name),
                               {workloads::create_other(endpoint_slices(), slice)}});
  }

  void add_notes(Json& metadata) const {
    metadata["labels"] = api::to_json(wanted_.labels);
    if (!wanted_.annotations.empty() || metadata.find("annotations"))
      metadata["annotations"] = api::to_json(wanted_.annotations);
  }

  const View& view_;
  const WantedSlices& wanted_;
  Effects& effects_;
  const workloads::NumberedNames names_;
  std::uint32_t next_name_ = 0;
  std::vector<StandingSlice> standing_;
  std::vector<std::string> types_;  // address types that have a slice
};

}  // namespace

const api::ResourceRef& endpoint_slices() {
  static const api::ResourceRef kRef{"discovery.k8s.io", "v1", "endpointslices"};
  return kRef;
}

api::StringMap labels_from(const Parsed& service) {
  constexpr std::string_view kHeadlessLabel = "service.kubernetes.io/headless";
  api::StringMap labels = service.meta.labels;
  labels.erase(std::string(kHeadlessLabel));
  if (is_headless(service.spec())) labels[std::string(kHeadlessLabel)] = "";
  return labels;
}

void write_slices(const View& view, const WantedSlices& wanted, Effects& effects) {
  SlicePlan(view, wanted, effects).run();
}

client::Interest slice_wakes(const api::ResourceRef& owners, std::string_view owner_kind) {
  return workloads::wakes_controller(Kind::Other, endpoint_slices(), owners, owner_kind);
}

}  // namespace berth::controllers
