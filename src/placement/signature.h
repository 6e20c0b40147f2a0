// The pod signature: fragments in which each plugin writes what it reads of a pod. Pods with equal
// signatures share cached verdicts.
//
// A fragment has a name; one that several plugins use is written once. Owner: one SignatureCache or
// GroupCycle, on one thread. Cost: one buffer, reused; no allocation once it has grown. Source:
// kube-scheduler's SignPlugin (KEP-5598).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/types/pod.h"
#include "model/resources.h"

namespace berth::placement {

class PodSignature {
 public:
  void clear();
  // Starts the fragment of this name (static lifetime). False if it is already written.
  bool begin(std::string_view fragment);
  // Append to the fragment that was started last. Texts have a length prefix, so that adjacent parts stay
  // distinct; a list starts with its size.
  void put(std::uint64_t number);
  void put(std::string_view text);
  void put(const model::ResourceAmounts& amounts);
  void put(const api::LabelSelector& selector);
  void put(const api::NodeSelector& selector);

  // Equal for equal fragments in the same order.
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
  std::vector<std::string_view> fragments_;
};

// Fragments that more than one plugin writes.
void sign_node_affinity(const api::Pod& pod, PodSignature& signature);
void sign_tolerations(const api::Pod& pod, PodSignature& signature);
void sign_requests(const model::ResourceAmounts& requests, PodSignature& signature);

}  // namespace berth::placement
