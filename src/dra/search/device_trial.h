// Tries one device for one request: the rules in Kubernetes' order (in use, capacity, features, groups,
// counters, taints, constraints). A device that passes is picked.
//
// Owner: one Search, on one thread. Cost: the rules that apply to the device; the text of a refusal only when
// it is recorded. Source: KEP-4381, KEP-4815, KEP-5055, KEP-5075, KEP-5963.
#pragma once

#include "dra/search/nearest_miss.h"
#include "dra/search/search_state.h"

namespace berth::dra {

enum class TrialResult : std::uint8_t {
  Passed,
  Refused,
  Fatal,  // Kubernetes ends the attempt: SearchContext::error says why
};

class DeviceTrial {
 public:
  DeviceTrial(SearchContext& context, SearchState& state, NearestMiss& nearest_miss)
      : context_(context), state_(state), nearest_miss_(nearest_miss) {}

  // Passed: the state has one pick more. Otherwise the state is unchanged, and the reason is recorded.
  TrialResult take(RequestRef at, DeviceRef place);

 private:
  TrialResult check_capacity(RequestRef at, DeviceRef place, Pick& pick);
  TrialResult check_share(RequestRef at, DeviceRef place, Pick& pick);
  TrialResult check_draws(RequestRef at, DeviceRef place);
  TrialResult check_constraints(RequestRef at, DeviceRef place);
  template <class MakeText>
  TrialResult refuse(RequestRef at, DeviceRef place, const MakeText& why) {
    if (nearest_miss_.wants(at)) nearest_miss_.note(place, why());
    return TrialResult::Refused;
  }
  TrialResult fail(std::string error, std::string hint = {}) {
    context_.fail(std::move(error), std::move(hint));
    return TrialResult::Fatal;
  }

  SearchContext& context_;
  SearchState& state_;
  NearestMiss& nearest_miss_;
};

}  // namespace berth::dra
