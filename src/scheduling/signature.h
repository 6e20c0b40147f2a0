// What makes pods alike for kept verdicts: the fragments in which each plugin signs what it reads of a pod.
//
// A fragment has a name; one that several plugins read is written once. Owner: one reader, on one thread.
// Cost: one buffer, reused; no allocation once it has grown. Source: kube-scheduler's SignPlugin (KEP-5598).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/types/pod.h"
#include "model/resources.h"

namespace berth::scheduling {

class PodSignature {
 public:
  void clear();
  // Starts the fragment of this name (static lifetime). False when it is written already.
  bool begin(std::string_view fragment);
  // Into the fragment that was started last. Texts bear their length, so that parts never run into each
  // other; a list starts with its size.
  void put(std::uint64_t number);
  void put(std::string_view text);
  void put(const model::ResourceAmounts& amounts);

  // Equal for equal fragments in the same order.
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
  std::vector<std::string_view> fragments_;
};

// Fragments of fields that more than one plugin reads.
void sign_node_affinity(const api::Pod& pod, PodSignature& signature);
void sign_tolerations(const api::Pod& pod, PodSignature& signature);
void sign_requests(const model::ResourceAmounts& requests, PodSignature& signature);

}  // namespace berth::scheduling
