// A gang that asks for nodes and devices, as plain numbers: for tests that compare the scheduler with trying
// every assignment.
//
// A world is drawn from a seed around a hidden solution, so most worlds are tight and feasible. Amounts are
// whole units of cpu and GiB of memory. Source of the rules: KEP-4381, KEP-4671, KEP-4815, KEP-4816,
// KEP-5732.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scheduling/test_bench.h"

namespace berth::scheduling {

struct GangWorld {
  struct Node {
    int cpu = 0, memory = 0;
    int rack = 0;  // -1: no label
  };
  struct Pool {
    std::vector<int> nodes;     // that reach it; one: its own
    std::vector<int> counters;  // units
  };
  struct Device {
    int pool = 0, kind = 0, numa = 0;
    int cpu = 0;             // that it takes of the node
    std::vector<int> draws;  // by the pool's counter
    bool operator==(const Device&) const = default;
  };
  struct Alternative {
    int kind = -1;  // -1: any
    int count = 1;
  };
  // More than one alternative: firstAvailable.
  using Request = std::vector<Alternative>;
  struct Claim {
    std::vector<Request> requests;
    bool same_numa = false;
  };
  struct Member {
    int cpu = 0, memory = 0;
    std::vector<int> claims;
    int port = 0;  // of the host; 0: none
  };

  std::vector<Node> nodes;
  std::vector<Pool> pools;
  std::vector<Device> devices;
  std::vector<Claim> claims;
  std::vector<Member> members;
  int minimum = 1;
  bool racked = false;   // all members in one rack
  bool planted = false;  // certainly feasible
  // Puts every object, the group "g" with pods "p0", "p1" and so on.
  void put(TestBench& bench) const;
  // What is wrong with the places and devices that the scheduler chose; empty: nothing.
  std::string complaint_about(const TestBench& bench) const;
  std::string text() const;
};

// Steps of one judgement; beyond, it is unknown.
inline constexpr std::size_t kGangJudgeStepsMax = 200'000;

// Whether `minimum` of the members fit together, by trying every node and every device for each; none: too
// many to try.
std::optional<bool> fits_by_trying_all(const GangWorld& world);

// Members with claims of their own: whole devices or parts of them, alternatives, two resources, racks.
GangWorld heterogeneous_gang(std::uint64_t seed);
// The same, where several members draw on one claim.
GangWorld sharing_gang(std::uint64_t seed);
// The first, with devices that take cpu of their node, and members with host ports.
GangWorld taking_gang(std::uint64_t seed);

}  // namespace berth::scheduling
