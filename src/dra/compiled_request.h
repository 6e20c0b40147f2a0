// One pod's claims, compiled: classes resolved, selectors compiled, names made. Claims with equal specs share
// what was compiled.
//
// Owner: one Allocator. Cost of a claim whose shape is known: its key, some 0.2 µs for a plain request.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "dra/allocator.h"
#include "dra/inventory.h"

namespace berth::dra {

// Which constraint of the claim covers a request, and which of a device's values counts there.
struct Covering {
  std::uint32_t constraint = 0;  // of ClaimShape::constraints
  std::uint32_t variant = 0;     // of the value table
};

struct SubAsk {
  std::string name;  // "request" or "request/alternative"
  std::shared_ptr<const api::DeviceClass> device_class;
  const api::DeviceSubRequest* spec;
  SelectorSetId selectors;
  SelectorSetHold selectors_hold;
  // Sub-asks of equal kind accept the same devices: equal selectors, tolerations, capacity, admin access.
  std::uint32_t kind = 0;
  std::vector<Covering> constraints;
};

struct RequestAsk {
  const api::DeviceRequest* spec;
  std::vector<SubAsk> alternatives;
};

struct ConstraintAsk {
  bool is_match = false;
  std::string attribute;
  std::vector<std::string> derived;  // expressions for that name: variants 1 and on
  std::string table_key;             // equal keys, equal value tables
};

// What all claims with one spec have in common. `like` keeps the specs alive that the requests point into.
struct ClaimShape {
  std::uint32_t id = 0;
  ClaimPtr like;
  std::vector<RequestAsk> requests;
  std::vector<ConstraintAsk> constraints;  // as in the claim
  std::uint64_t classes_stamp = 0;         // when the classes were last found to be those of `requests`
};
using ClaimShapePtr = std::shared_ptr<const ClaimShape>;

struct ClaimAsk {
  ClaimPtr claim;
  ClaimShapePtr shape;
  std::span<const RequestAsk> requests;  // of the shape
};

struct CompiledAsk final : Ask {
  CompiledAsk(std::uint64_t shape, std::vector<ClaimAsk> list) : Ask(shape), claims(std::move(list)) {}
  std::vector<ClaimAsk> claims;
};

// Shapes that are remembered; beyond it all are forgotten, and known specs get new numbers.
inline constexpr std::size_t kShapesMax = 4096;

// Kinds of sub-asks that are told apart; beyond it all shapes are forgotten and kinds are counted anew.
inline constexpr std::size_t kKindsMax = 16 * kShapesMax;

// Compiled claims by what they ask for.
class Shapes {
 public:
  Result<ClaimShapePtr> of(const model::Cluster& cluster, Inventory& inventory, const Gates& gates,
                           const ClaimPtr& claim);
  // One number for a list of claims; never 0.
  std::uint64_t number_of(const std::vector<ClaimAsk>& claims);
  std::size_t size() const { return shapes_.size(); }

 private:
  bool classes_hold(const model::Cluster& cluster, ClaimShape& shape) const;
  void number_kinds(const Selections& selections, ClaimShape& shape);

  std::string key_;  // reused
  std::uint32_t last_shape_ = 0;
  std::uint64_t last_number_ = 0;
  std::unordered_map<std::string, std::shared_ptr<ClaimShape>> shapes_;
  std::map<std::vector<std::uint32_t>, std::uint64_t> numbers_;
  std::unordered_map<std::string, std::uint32_t> kinds_;
  std::uint32_t last_kind_ = 0;
};

// "claim ns/name": how errors begin.
std::string text_of(const api::ResourceClaim& claim);

}  // namespace berth::dra
