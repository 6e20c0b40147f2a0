#include "placement/signature.h"

#include <algorithm>

#include "base/key_bytes.h"
#include "model/selector_bytes.h"

namespace berth::placement {
namespace {

void put_all(const std::vector<api::Requirement>& requirements, PodSignature& signature) {
  signature.put(requirements.size());
  for (const api::Requirement& one : requirements) {
    signature.put(one.key);
    signature.put(one.op);
    signature.put(one.values.size());
    for (const std::string& value : one.values) signature.put(value);
  }
}

}  // namespace

void PodSignature::clear() {
  bytes_.clear();
  fragments_.clear();
}

bool PodSignature::begin(std::string_view fragment) {
  const auto is_same = [&](std::string_view one) {
    return one.size() == fragment.size() && (one.data() == fragment.data() || one == fragment);
  };
  if (std::ranges::any_of(fragments_, is_same)) return false;
  fragments_.push_back(fragment);
  put(fragment);
  return true;
}

void PodSignature::put(std::uint64_t number) {
  append_key(bytes_, number);
}

void PodSignature::put(std::string_view text) {
  append_key(bytes_, text);
}

void PodSignature::put(const model::ResourceAmounts& amounts) {
  put(amounts.size());
  for (const model::ResourceAmount& one : amounts) {
    put(one.resource.index());
    put(static_cast<std::uint64_t>(one.amount));
  }
}

void PodSignature::put(const api::LabelSelector& selector) {
  model::append_selector(bytes_, selector);
}

void PodSignature::put(const api::NodeSelector& selector) {
  put(selector.terms.size());
  for (const api::NodeSelectorTerm& term : selector.terms) {
    put_all(term.expressions, *this);
    put_all(term.fields, *this);
  }
}

void sign_node_affinity(const api::Pod& pod, PodSignature& signature) {
  if (!signature.begin("NodeAffinity")) return;
  signature.put(pod.node_selector.size());
  for (const auto& [name, value] : pod.node_selector) {
    signature.put(name);
    signature.put(value);
  }
  signature.put(pod.required_node_affinity ? 1u : 0u);
  if (pod.required_node_affinity) signature.put(*pod.required_node_affinity);
}

void sign_tolerations(const api::Pod& pod, PodSignature& signature) {
  if (!signature.begin("Tolerations")) return;
  signature.put(pod.tolerations.size());
  for (const api::Toleration& one : pod.tolerations)
    for (const std::string* text : {&one.key, &one.op, &one.value, &one.effect}) signature.put(*text);
}

void sign_requests(const model::ResourceAmounts& requests, PodSignature& signature) {
  if (signature.begin("Requests")) signature.put(requests);
}

}  // namespace berth::placement
