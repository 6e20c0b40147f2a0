// For tests: a cluster built from objects, and readable selectors.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "dra/allocator.h"
#include "dra/judge/judge.h"

namespace berth::dra {

// Understands "true", "error", `device.driver == "x"` and "has x"; anything else matches nothing.
class PlainSelectors final : public SelectorEvaluator {
 public:
  Result<bool> evaluate(std::string_view text, std::string_view driver, const api::Device& device) override {
    ++evaluations;
    if (text == "error") return Error(ErrorCode::Invalid, "CEL runtime error: made to fail");
    if (text == "true") return true;
    if (text.starts_with(kDriver)) return text == std::string(kDriver) + std::string(driver) + "\"";
    if (text.starts_with(kAttribute))
      return device.attributes.contains(std::string(text.substr(kAttribute.size())));
    return false;
  }
  // "numa" and the like: the attribute of that name; an error when the device has none.
  Result<api::AttributeValue> derive(std::string_view text, std::string_view,
                                     const api::Device& device) override {
    const auto found = device.attributes.find(std::string(text));
    if (found == device.attributes.end()) return Error(ErrorCode::Invalid, "no such key");
    return found->second;
  }
  std::size_t evaluations = 0;

 private:
  static constexpr std::string_view kDriver = "device.driver == \"";
  static constexpr std::string_view kAttribute = "has ";
};

class TestWorld {
 public:
  template <class T>
  void put(api::Kind kind, T object) {
    object.meta.resource_version = ++version_;
    const api::ObjectKey key{kind, object.meta.ns, object.meta.name};
    if (auto delta = view.put(key, std::make_shared<const T>(std::move(object)))) cluster.apply(*delta);
  }
  void put(const Json& object) {
    static const std::map<std::string_view, api::Kind> kKinds = {
        {"Node", api::Kind::Node},
        {"DeviceClass", api::Kind::DeviceClass},
        {"ResourceSlice", api::Kind::ResourceSlice},
        {"ResourceClaim", api::Kind::ResourceClaim},
        {"Pod", api::Kind::Pod},
    };
    const auto kind = kKinds.find(object.string_at("kind"));
    if (kind == kKinds.end()) return;
    const auto typed =
        api::decode_typed(kind->second, std::make_shared<const std::string>(berth::to_string(object)));
    const api::ObjectMeta& meta = api::meta_of(*typed);
    if (auto delta = view.put({kind->second, meta.ns, meta.name}, *typed)) cluster.apply(*delta);
  }
  void erase(api::Kind kind, const std::string& ns, const std::string& name) {
    if (auto delta = view.erase({kind, ns, name}, ~std::uint64_t{0})) cluster.apply(*delta);
  }
  // The pod's claims that are not allocated yet, in the order of the pod.
  std::vector<ClaimPtr> unallocated_claims(const api::Pod& pod) const {
    std::vector<ClaimPtr> claims;
    for (const api::PodClaim& named : pod.claims) {
      ClaimPtr claim = view.claims.find_shared(pod.meta.ns, api::claim_object_name(pod, named));
      if (claim && !claim->allocation) claims.push_back(std::move(claim));
    }
    return claims;
  }

  // The world in the judge's form. This world and `selectors` outlive it.
  judge::JudgedWorld for_judge(const std::string& node, SelectorEvaluator& selectors,
                               const DeviceGates& gates) const {
    judge::JudgedWorld judged;
    judged.node = view.nodes.find("", node);
    for (const auto& [key, slice] : view.slices.all()) judged.slices.push_back(slice.get());
    for (const auto& [key, found] : view.classes.all()) judged.classes.push_back(found.get());
    for (const auto& [key, claim] : view.claims.all())
      if (claim->allocation) judged.allocated.push_back(&*claim->allocation);
    judged.selectors = &selectors;
    judged.gates = gates;
    return judged;
  }

  client::View view;
  model::Cluster cluster;

 private:
  std::uint64_t version_ = 0;
};

}  // namespace berth::dra
