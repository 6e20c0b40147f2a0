// The certificate of a "no": first one request that is blocked by itself, then several that counting blocks.
//
// Owner: none; reads what a search has built. Cost: a pass over the devices for each kind of request.
#pragma once

#include <optional>

#include "dra/certificate.h"
#include "dra/proof/relaxation.h"

namespace berth::dra {

class Prover {
 public:
  Prover(const CompiledAllocationRequest& compiled, const Problem& problem, const ConstraintValues& values,
         const Collected& collected)
      : compiled_(compiled), problem_(problem), values_(values), collected_(collected) {}

  // Nothing when only a search can prove the "no".
  std::optional<Certificate> by_numbers();
  // Device names: bare where the node has one pool.
  std::string name_of(DeviceRef place) const;

 private:
  using Counts = std::vector<std::vector<DeviceRef>>;  // by Eligibility: devices refused there
  std::optional<Certificate> of_request(const CompiledClaim& claim, const CompiledRequest& request) const;
  std::optional<Certificate> of_sub(const CompiledClaim& claim, const CompiledSubRequest& sub) const;
  Certificate of_eligibility(const CompiledSubRequest& sub, Eligibility eligibility, const Counts& refused,
                             std::size_t need, std::size_t have) const;
  bool capacity_numbers(const CompiledSubRequest& sub, const Counts& refused, std::size_t need,
                        std::size_t have, Certificate& out) const;
  std::vector<DeviceRef> of_class(const CompiledSubRequest& sub, const std::vector<DeviceRef>& places) const;
  void counter_numbers(const Counts& refused, Certificate& out) const;
  void overdrawn_numbers(const std::vector<DeviceRef>& here, Certificate& out) const;
  void group_members(const Counts& refused, Certificate& out) const;
  Certificate of(const Refutation& no) const;
  void name_slots(const Refutation& no, Certificate& out) const;
  std::string attributes_of(const std::vector<std::uint32_t>& places, const std::string& attribute) const;
  std::string value_text(const Refutation& no, std::uint32_t value) const;
  void add_item(Certificate& out, std::string item) const;

  const CompiledAllocationRequest& compiled_;
  const Problem& problem_;
  const ConstraintValues& values_;
  const Collected& collected_;
};

}  // namespace berth::dra
