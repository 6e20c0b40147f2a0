// Addresses and node ports of Services: which are taken, also by writes that are under way.
//
// A write that is given some, or asks for some, is judged in a Turn, alone. What it takes is in its Hold from
// the end of the turn until it is stored or has failed. So two writes at once never get the same, and a
// webhook that is asked in between holds up no other Service. Thread-safe. Cost of a turn: a parse of each
// version of a Service since the last one; of all Services in the first, and when the store keeps too few
// events. Source: the allocators of registry/core/service in Kubernetes 1.37.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/kind_rules.h"
#include "base/json.h"
#include "store/object.h"

namespace berth::server {

class Registry;

inline constexpr std::size_t kServiceEventsPerReadMax = 1000;

class ServiceAllocations {
 public:
  explicit ServiceAllocations(const Registry& registry) : registry_(registry) {}

  class Hold;
  class Turn final : public api::ServiceAllocations {
   public:
    explicit Turn(server::ServiceAllocations& all);

    bool has_address(std::string_view address, std::string_view except_uid) const override;
    bool has_node_port(std::int64_t port, std::string_view except_uid) const override;
    // What the Service has is taken from now on, until the hold is destroyed: outside of turns.
    std::shared_ptr<const Hold> hold(const Json& service);

   private:
    server::ServiceAllocations& all_;
    const std::lock_guard<std::mutex> lock_;
  };

 private:
  struct Taken {
    std::string uid;
    std::set<std::string> addresses;
    std::set<std::int64_t> node_ports;
  };

  static Taken taken_by(const Json& service);
  void add(const Taken& taken);
  void remove(const Taken& taken);
  void refresh();
  void read_all();
  void note(const store::Object& object, bool is_deleted);

  const Registry& registry_;
  std::mutex mutex_;
  std::map<store::Key, Taken> stored_;
  std::optional<store::Revision> read_to_;  // the state that `stored_` shows
  // With the UID of who has it: stored, and once more for each hold.
  std::multiset<std::pair<std::string, std::string>> addresses_;
  std::multiset<std::pair<std::int64_t, std::string>> node_ports_;
};

class ServiceAllocations::Hold {
 public:
  Hold(ServiceAllocations& all, Taken taken) : all_(all), taken_(std::move(taken)) { all_.add(taken_); }
  ~Hold();
  Hold(const Hold&) = delete;

 private:
  ServiceAllocations& all_;
  const Taken taken_;
};

}  // namespace berth::server
