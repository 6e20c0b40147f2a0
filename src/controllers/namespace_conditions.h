// What keeps a namespace from its end, as its conditions say it. Pure.
//
// Source: kube-controller-manager 1.37, namespace controller; people and tools read its words.
#pragma once

#include <map>
#include <string>

#include "api/kinds.h"

namespace berth::controllers {

class NamespaceRemains {
 public:
  void add(const api::ResourceRef& resource, const api::ObjectMeta& meta);
  bool empty() const { return resources_.empty(); }
  // "pods. has 2 resource instances, …", sorted.
  std::string resources_text() const;
  // "example.com/hold in 1 resource instances, …", sorted; empty when nothing has a finalizer.
  std::string finalizers_text() const;

 private:
  std::map<std::string, std::size_t> resources_;   // "configmaps.", "leases.coordination.k8s.io"
  std::map<std::string, std::size_t> finalizers_;  // objects with it
};

// The namespace's five conditions about its deletion, for a strategic merge patch; null when it has them
// already. A condition keeps the time of its last transition while its status does.
Json namespace_conditions(const api::Namespace& ns, const NamespaceRemains& remains, Time now);

}  // namespace berth::controllers
