// NodePorts: refuses nodes on which a host port of the pod is in use.
#include <algorithm>

#include "placement/plugins/plugins.h"

namespace berth::placement::plugins {
namespace {

constexpr std::string_view kEveryAddress = "0.0.0.0";

bool conflict(const api::HostPort& a, const api::HostPort& b) {
  return a.port == b.port && a.protocol == b.protocol &&
         (a.ip == b.ip || a.ip == kEveryAddress || b.ip == kEveryAddress);
}

class NodePorts final : public Filter {
 public:
  std::string_view name() const override { return "NodePorts"; }
  QueueingHint events_to_register() const override {
    return {kEventNodeAdded | kEventPodGone, [](const api::Pod& pod) { return !pod.host_ports.empty(); }};
  }
  void add_hints(const PodQuery& query, const FitError&, PodHints& hints) const override {
    hints.add(kEventNodeAdded, {{facts::node_added()}});
    for (const api::HostPort& port : query.pod->host_ports) hints.add(kEventPodGone, {{port_free(port)}});
  }
  void add_facts(const ClusterChange& change, ChangeFacts& facts) const override {
    if (!change.pod_before) return;
    for (const api::HostPort& port : change.pod_before->host_ports) facts.add(port_free(port));
  }
  Signing sign(const PodQuery& query, PodSignature& signature) const override {
    const std::vector<api::HostPort>& ports = query.pod->host_ports;
    if (ports.empty() || !signature.begin("HostPorts")) return Signing::Signed;
    signature.put(ports.size());
    for (const api::HostPort& port : ports) {
      signature.put(static_cast<std::uint64_t>(port.port));
      signature.put(port.protocol);
      signature.put(port.ip);
    }
    return Signing::Signed;
  }
  void filter(const PodQuery& query, NodeVerdicts& verdicts) const override {
    if (query.pod->host_ports.empty()) return;
    const model::Cluster& cluster = query.context->cluster;
    verdicts.keep_if(reason_row("NoFreePorts"), [&](NodeId node) {
      const auto is_in_the_way = [&](PodId pod) {
        return pod != query.pod_id && takes_one_of(query.pod->host_ports, cluster.pod(pod));
      };
      const model::NodeUse& use = cluster.ledger().node(node);
      return std::ranges::none_of(use.pods, is_in_the_way) &&
             std::ranges::none_of(use.expected, is_in_the_way);
    });
  }

 private:
  static FactId port_free(const api::HostPort& port) {
    return fact_id({"port", std::to_string(port.port), port.protocol});
  }
  static bool takes_one_of(const std::vector<api::HostPort>& wanted, const model::PodRow& other) {
    if (!other.live) return false;
    return std::any_of(wanted.begin(), wanted.end(), [&](const api::HostPort& port) {
      const std::vector<api::HostPort>& taken = other.live->host_ports;
      return std::any_of(taken.begin(), taken.end(),
                         [&](const api::HostPort& one) { return conflict(port, one); });
    });
  }
};

}  // namespace

std::unique_ptr<Filter> node_ports() {
  return std::make_unique<NodePorts>();
}

}  // namespace berth::placement::plugins
