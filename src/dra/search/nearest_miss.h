// Why a search found nothing, for people: the furthest request that was not satisfied, and the first reason
// for which each device was refused there.
//
// Owner: one Search. Cost: nothing while it does not listen; else a text for each device of one request.
// Texts are sorted: the same state gives the same words.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dra/search/search_state.h"

namespace berth::dra {

class NearestMiss {
 public:
  void reset(Explain explain);
  // Keeps what was recorded.
  void stop_listening() { is_listening_ = false; }

  // The search begins with a request: one further than before clears the record.
  void enter(RequestRef at);
  // Whether a refusal for this request is recorded.
  bool wants(RequestRef at) const {
    return is_listening_ && at.claim == furthest_.claim && at.request == furthest_.request;
  }
  // The first reason for a device is kept.
  void note(DeviceRef place, std::string why) { reasons_.emplace(place, std::move(why)); }
  // True once for each alternative: devices that the search can skip are then tried for their reasons.
  bool wants_rest(RequestRef at);

  // "needs 2 devices of class c, 0 are free (a taken); b: its taint t:NoSchedule is not tolerated". After the
  // run that `state` was reset for.
  std::string words(const SearchContext& context, const SearchState& state) const;
  // "; pool p of driver d has 1 of 2 ResourceSlices of generation 2": pools that may have what the request
  // wants, and are not used on this node.
  std::string pool_notes(const SearchContext& context) const;

 private:
  std::vector<std::string> faults(const SearchContext& context) const;
  std::string words_of(const SearchContext& context, const SearchState& state, RequestRef at) const;

  bool is_listening_ = false;
  RequestRef furthest_;
  std::uint64_t rest_noted_ = 0;  // by alternative
  std::map<DeviceRef, std::string> reasons_;
};

// The reason that words() counts as a device in use.
inline constexpr const char* kTaken = "taken";

}  // namespace berth::dra
