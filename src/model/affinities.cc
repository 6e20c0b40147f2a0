#include "model/affinities.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/key_bytes.h"
#include "model/selector_bytes.h"

namespace berth::model {
namespace {

constexpr std::string_view kNamespaceName = "kubernetes.io/metadata.name";

std::string bytes_of(const api::PodAffinityTerm& term) {
  std::string bytes;
  append_key(bytes, term.topology_key);
  append_selector(bytes, term.pods);
  append_key(bytes, term.namespaces.size());
  for (const std::string& one : term.namespaces) append_key(bytes, one);
  append_key(bytes, term.namespace_selector ? 1u : 0u);
  if (term.namespace_selector) append_selector(bytes, *term.namespace_selector);
  return bytes;
}

std::string post(std::string_view key, std::string_view value) {
  return std::string(key).append(1, '\0').append(value);
}

// The places where a pod finds the term: a label with one of its values; none: every pod looks there.
std::vector<std::string> posts_of(const api::PodAffinityTerm& term) {
  std::vector<std::string> posts;
  if (const api::LabelRequirement* one = term.pods.first_in())
    for (const std::string& value : one->values) posts.push_back(post(one->key, value));
  return posts;
}

// In the order of the spec: each term with its kind, and with what it adds to TermUse::weight.
template <class Visit>
void for_each_term(const api::Pod& pod, const Visit& visit) {
  for (const api::PodAffinityTerm& term : pod.required_affinity) visit(term, TermKind::Affinity, 1);
  for (const api::PodAffinityTerm& term : pod.required_anti_affinity) visit(term, TermKind::AntiAffinity, 0);
  for (const api::PodPreference& one : pod.preferred_affinity)
    visit(one.term, TermKind::Preference, static_cast<std::int32_t>(one.weight));
}

// An API server gives every namespace this label; plans and standbys may lack the object.
api::StringMap labels_of(const std::string& name, const api::Namespace* live) {
  return live ? live->meta.labels : api::StringMap{{std::string(kNamespaceName), name}};
}

}  // namespace

std::size_t affinity_terms_of(const api::Pod& pod) {
  return pod.required_affinity.size() + pod.required_anti_affinity.size() + pod.preferred_affinity.size();
}

std::string beyond_affinity_bounds(const api::Pod& pod) {
  const std::size_t terms = affinity_terms_of(pod);
  if (terms <= std::min(kAffinityKeysMax, kAffinityTermsAlikeMax)) return "";
  const std::string in_terms = "terms of spec.affinity between pods";
  if (terms > kAffinityTermsMax) return "more than " + std::to_string(kAffinityTermsMax) + " " + in_terms;
  std::set<std::string_view> keys;
  std::set<std::string> known;
  std::map<std::pair<std::string_view, std::string>, std::size_t> alike;  // by key, and label with value
  bool many_alike = false;
  for_each_term(pod, [&](const api::PodAffinityTerm& term, TermKind, std::int32_t) {
    keys.insert(term.topology_key);
    if (!known.insert(bytes_of(term)).second) return;
    std::vector<std::string> posts = posts_of(term);
    if (posts.empty()) posts.emplace_back();
    for (std::string& one : posts)
      many_alike |= ++alike[{term.topology_key, std::move(one)}] > kAffinityTermsAlikeMax;
  });
  if (keys.size() > kAffinityKeysMax)
    return "more than " + std::to_string(kAffinityKeysMax) + " topology keys in " + in_terms;
  if (many_alike)
    return "more than " + std::to_string(kAffinityTermsAlikeMax) + " different " + in_terms +
           " that ask for the same label and value, or for none,";
  return "";
}

TermUses Affinities::add(const api::Pod& pod) {
  TermUses uses;
  if (!pod.bound() && !beyond_affinity_bounds(pod).empty()) return uses;
  std::map<std::pair<TermKind, TermId>, std::size_t> known;  // places in `uses`
  for_each_term(pod, [&](const api::PodAffinityTerm& term, TermKind kind, std::int32_t weight) {
    const TermId id = id_of(term);
    const auto [at, added] = known.try_emplace({kind, id}, uses.size());
    if (!added) return void(uses[at->second].weight += weight);
    ++terms_[id.index()].carriers[static_cast<std::size_t>(kind)];
    uses.push_back({id, kind, weight});
  });
  return uses;
}

TermId Affinities::id_of(const api::PodAffinityTerm& term) {
  std::string bytes = bytes_of(term);
  TermId id;
  if (const auto known = ids_.find(bytes); known != ids_.end()) {
    id = known->second;
  } else {
    if (free_.empty()) {
      id = TermId(static_cast<std::uint32_t>(terms_.size()));
      terms_.emplace_back();
    } else {
      id = free_.back();
      free_.pop_back();
    }
    ids_.emplace(bytes, id);
    const std::vector<std::string> posts = posts_of(term);
    for (const std::string& one : posts) posts_[one].push_back(id);
    if (posts.empty() && !term.pods.selects_nothing()) for_all_.push_back(id);
    if (term.reads_namespaces()) by_namespace_.push_back(id);
    terms_[id.index()] = {term, std::move(bytes), {}};
  }
  return id;
}

void Affinities::remove(const TermUses& uses) {
  for (const TermUse& use : uses) {
    Row& row = terms_[use.term.index()];
    --row.carriers[static_cast<std::size_t>(use.kind)];
    if (row.carriers != decltype(row.carriers){}) continue;
    for (const std::string& one : posts_of(row.term)) {
      const auto at = posts_.find(one);
      std::erase(at->second, use.term);
      if (at->second.empty()) posts_.erase(at);
    }
    std::erase(for_all_, use.term);
    std::erase(by_namespace_, use.term);
    ids_.erase(row.bytes);
    row = {};
    free_.push_back(use.term);
  }
}

void Affinities::put_namespace(const std::string& name, std::shared_ptr<const api::Namespace> live) {
  const auto known = namespaces_.find(name);
  const api::StringMap before = labels_of(name, known == namespaces_.end() ? nullptr : known->second.get());
  const api::StringMap after = labels_of(name, live.get());
  const auto turns = [&](TermId id) {
    const api::LabelSelector& selector = *terms_[id.index()].term.namespace_selector;
    return selector.matches(before) != selector.matches(after);
  };
  if (before != after && std::any_of(by_namespace_.begin(), by_namespace_.end(), turns)) ++namespaces_stamp_;
  if (live)
    namespaces_[name] = std::move(live);
  else if (known != namespaces_.end())
    namespaces_.erase(known);
}

bool Affinities::means(const api::PodAffinityTerm& term, const api::Pod& pod) const {
  if (!term.reads_namespaces()) return term.means(pod.meta.ns, pod.meta.labels, {});
  const auto known = namespaces_.find(pod.meta.ns);
  if (known != namespaces_.end()) return term.means(pod.meta.ns, pod.meta.labels, known->second->meta.labels);
  return term.means(pod.meta.ns, pod.meta.labels, labels_of(pod.meta.ns, nullptr));
}

std::vector<TermId> Affinities::meaning(const api::Pod& pod) const {
  std::vector<TermId> found;
  const auto look = [&](const std::vector<TermId>& terms) {
    for (const TermId id : terms)
      if (means(term(id), pod)) found.push_back(id);
  };
  look(for_all_);
  if (!posts_.empty())
    for (const auto& [key, value] : pod.meta.labels)
      if (const auto at = posts_.find(post(key, value)); at != posts_.end()) look(at->second);
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace berth::model
