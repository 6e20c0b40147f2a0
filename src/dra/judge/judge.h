// A slow, obvious allocator to judge the fast one by: no cache, no bitmap, no journal. Everything is
// recomputed from the objects for every device that is tried.
//
// Source: resource.k8s.io/v1 and KEP-4381, 4815, 5007, 5075, 5963, literally; the same search order as
// allocator.h.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "dra/allocator.h"

namespace berth::dra::judge {

struct JudgedWorld {
  const api::Node* node = nullptr;
  std::vector<const api::ResourceSlice*> slices;
  std::vector<const api::DeviceClass*> classes;
  std::vector<const api::Allocation*> allocated;
  SelectorEvaluator* selectors = nullptr;
  DeviceGates gates;
};

enum class Answer { Yes, No, Error };

struct Chosen {
  std::size_t claim, request, alternative;
  const api::ResourceSlice* slice;
  const api::Device* device;
};

struct Judgement {
  Answer answer = Answer::No;
  std::vector<Chosen> chosen;
};

// Exponential: for worlds of a few devices.
Judgement allocate(const JudgedWorld& world, std::span<const ClaimPtr> claims);

// The alternative, by claim and request.
using Alternatives = std::vector<std::vector<std::size_t>>;
// All choices of devices with these alternatives, up to `most`; devices with an error are left out.
std::vector<std::vector<Chosen>> every_choice(const JudgedWorld& world, std::span<const ClaimPtr> claims,
                                              const Alternatives& alternatives, std::size_t most);

// One device as one request sees it, before anything is chosen.
struct Looked {
  const api::ResourceSlice* slice = nullptr;
  const api::Device* device = nullptr;
  bool selected = false, free = false, tolerated = false, large_enough = false, fed = false,
       groups_agree = false;
  bool fits() const { return selected && free && tolerated && large_enough && fed && groups_agree; }
};
std::vector<Looked> look(const JudgedWorld& world, std::span<const ClaimPtr> claims, std::size_t claim,
                         const api::DeviceSubRequest& sub);

}  // namespace berth::dra::judge
