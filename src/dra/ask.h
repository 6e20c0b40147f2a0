// One pod's claims, compiled: classes resolved, selectors compiled, names made.
#pragma once

#include <memory>
#include <vector>

#include "dra/allocator.h"
#include "dra/inventory.h"

namespace berth::dra {

struct SubAsk {
  std::string name;  // "request" or "request/alternative"
  std::shared_ptr<const api::DeviceClass> device_class;
  const api::DeviceSubRequest* spec;
  SelectorSetId selectors;
  std::vector<std::uint32_t> constraints;                           // of the claim, those that cover it
  std::vector<std::pair<std::string, Result<SelectorId>>> derived;  // attribute and expression
};

struct RequestAsk {
  const api::DeviceRequest* spec;
  std::vector<SubAsk> alternatives;
};

struct ClaimAsk {
  ClaimPtr claim;
  std::vector<RequestAsk> requests;
};

class Ask {
 public:
  std::vector<ClaimAsk> claims;
};

// "claim ns/name": how errors begin.
std::string text_of(const api::ResourceClaim& claim);

Result<std::shared_ptr<const Ask>> compile_ask(const model::Cluster& cluster, Inventory& inventory,
                                               const Gates& gates, std::span<const ClaimPtr> claims);

}  // namespace berth::dra
