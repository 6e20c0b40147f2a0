// The pods that each Service selects, with what endpoints say of them.
//
// Owner: one Reconciler, on the engine's thread. Derived from the view. Cost of a change of a pod: the match
// of each Service with a selector in its namespace, and one parse where one matches. Cost of a new selector:
// O(pods of the namespace). pods_of(): O(1).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/selectors.h"
#include "controllers/controllers.h"

namespace berth::controllers {

// A container's port with a name.
struct NamedPort {
  std::string name, protocol;
  std::int64_t number = 0;
  friend bool operator==(const NamedPort&, const NamedPort&) = default;
};

// A pod with an address that has not ended.
struct EndpointPod {
  std::string name, uid, node, hostname, subdomain;
  std::vector<std::string> addresses;
  std::vector<NamedPort> ports;  // of containers, then of sidecars
  bool ready = false;
  bool terminating = false;
  friend bool operator==(const EndpointPod&, const EndpointPod&) = default;
};
using EndpointPodPtr = std::shared_ptr<const EndpointPod>;

class ServicePods {
 public:
  using ByName = std::map<std::string, EndpointPodPtr, std::less<>>;

  // Of Services and pods: what wakes a Service's key.
  std::vector<client::Interest> interests() const;

  // Those of a Service that has a selector, by name.
  const ByName& pods_of(const api::ObjectKey& service) const;
  // The Services that select a pod of this node.
  void services_on_node(const View& view, std::string_view node, Keys& keys) const;

  // When the next run of a Service with many pods is due; nothing: now. Notes the run. A run visits every
  // pod, so runs keep a distance for each of them.
  std::optional<Time> rests_until(const api::ObjectKey& service, Time now);

 private:
  struct Service {
    api::LabelSelector selector;
    ByName pods;
    Time last_run;
  };
  Service* find(const api::ObjectKey& service) const;  // null without a selector
  void on_service(const View& view, const Delta& delta, Keys& keys) const;
  void on_pod(const Delta& delta, Keys& keys) const;

  // Engines report changes through const interests. By namespace and name; those with a selector.
  mutable std::map<std::string, std::map<std::string, Service>, std::less<>> services_;
};

const api::ResourceRef& services();

// A port of a Service as the pod has it; nothing for a name that none of its containers has.
std::optional<std::int64_t> port_number(const EndpointPod& pod, const Json& service_port);
// The ports of the Service that this pod has: name, port, protocol and appProtocol of each.
JsonArray endpoint_ports(const EndpointPod& pod, const Json& service_spec);
// A Service without an address of its own: clusterIP is None or empty.
bool is_headless(const Json& service_spec);
// "IPv4" or "IPv6".
std::string_view family_of(std::string_view address);
// The pod's name in the domain of this Service; null when it has none.
Json hostname_in(const EndpointPod& pod, std::string_view service_name);
Json pod_reference(const EndpointPod& pod, std::string_view ns);

}  // namespace berth::controllers
