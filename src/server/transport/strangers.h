// The connections without credentials, and which of them goes when there are too many.
//
// The one goes that has sent nothing for longest. So a peer that fills the slots with silent connections
// loses them, and a peer that shows a certificate or asks something gets in. A peer that has sent something
// counts as heard kHeardCredit later, so that a storm of silent connections does not overtake a handshake.
// One that is being answered stays. Times are monotonic.
// Not thread-safe. Cost: O(log connections).
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/time.h"

namespace berth::server {

inline constexpr Duration kHeardCredit = Duration::seconds(2);

class Strangers {
 public:
  using Id = const void*;

  explicit Strangers(std::size_t per_address_max = 0) : per_address_max_(per_address_max) {}

  struct Admission {
    bool admitted = false;  // false: all of this address are being answered
    Id evicted = nullptr;   // who goes for it; null: there was room
  };
  Admission admit(Id id, const std::string& address, Time now);
  // It has sent something.
  void heard(Id id, Time now);
  // It is being answered, until it is heard or rests.
  void answering(Id id);
  void rests(Id id, Time now) { heard(id, now); }
  // It has shown credentials, or is gone.
  void remove(Id id);
  // Takes the one out, other than this, that has been silent for longest; null: all are being answered.
  Id evict_but(Id id);

  std::size_t size() const { return entries_.size(); }

 private:
  using Order = std::set<std::pair<Time, Id>>;
  struct Entry {
    std::string address;
    Time since;
    bool is_answered = false;
  };
  struct OfAddress {
    std::size_t count = 0;
    Order order;
  };

  void place(Id id, Entry& entry, Time since);
  void unplace(Id id, Entry& entry);

  std::size_t per_address_max_;
  std::unordered_map<Id, Entry> entries_;
  std::map<std::string, OfAddress> addresses_;
  Order order_;  // those that are not being answered, the longest silent first
};

}  // namespace berth::server
