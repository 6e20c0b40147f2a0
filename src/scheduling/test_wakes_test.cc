#include "scheduling/test_wakes.h"

namespace berth::scheduling {

WakeWorld::WakeWorld(std::uint64_t seed, const SchedulerOptions& options)
    : bench(options), options_(options), random_(seed) {
  bench.put_class("gpu", "true");
  bench.put_class("fast", "device.driver == 'fast.example.com'");
  for (int i = 0; i < 3; ++i) put_node();
}

void WakeWorld::step() {
  switch (below(14)) {
    case 0:
    case 1:
      return put_node();
    case 2:
      return erase(api::Kind::Node, pick("n", 5), "");
    case 3:
      return bench.put_slice(pick("s", 3), pick("n", 5), static_cast<int>(below(4)),
                             sometimes(2) ? "fast.example.com" : "gpu.example.com");
    case 4:
    case 5:
      return end_pod();
    case 6:
      return resize_pod();
    case 7:
      return relabel_pod();
    case 8:
      return put_volume();
    case 9:
      return label_namespace();
    default:
      return put_pod();
  }
}

void WakeWorld::settle() {
  for (int turn = 0; turn < 20; ++turn) {
    const std::size_t decisions = bench.decisions.records().size();
    bench.run();
    for (const auto& [name, pod] : std::map(bench.view.pods.all()))
      if (!pod->bound() && !bench.node_of(pod->meta.name).empty()) bind(*pod);
    bench.now = bench.now + Duration::seconds(11);
    bench.run();
    if (bench.decisions.records().size() == decisions) return;
  }
}

std::string WakeWorld::placed_afresh() const {
  DecisionList decisions;
  FakeSelectors selectors;
  Scheduler fresh(options_, selectors, &decisions);
  const auto show = [&](api::Kind kind, const auto& indexer) {
    for (const auto& [name, object] : indexer.all())
      fresh.apply(bench.view, {{kind, object->meta.ns, object->meta.name, {}}, std::nullopt, object},
                  bench.now);
  };
  show(api::Kind::Node, bench.view.nodes);
  show(api::Kind::Namespace, bench.view.namespaces);
  show(api::Kind::DeviceClass, bench.view.classes);
  show(api::Kind::ResourceSlice, bench.view.slices);
  show(api::Kind::DeviceTaintRule, bench.view.taint_rules);
  show(api::Kind::PersistentVolume, bench.view.volumes);
  show(api::Kind::PersistentVolumeClaim, bench.view.volume_claims);
  show(api::Kind::ResourceClaim, bench.view.claims);
  show(api::Kind::CompositePodGroup, bench.view.composite_groups);
  show(api::Kind::PodGroup, bench.view.pod_groups);
  show(api::Kind::Pod, bench.view.pods);
  show(api::Kind::BindRequest, bench.view.bind_requests);
  for (int i = 0; i < 1000; ++i) {
    const client::Effects effects = fresh.decide(bench.view, bench.now);
    for (const DecisionRecord& record : decisions.records())
      if (record.result == DecisionResult::Placed) return record.name + " on " + record.placed[0].node;
    if (effects.chains.empty() && effects.events.empty()) return "";
    client::Outcome outcome{effects.decision_id, {}};
    for (const client::Chain& chain : effects.chains)
      outcome.chains.push_back({chain.key, true, chain.writes.size(), {}});
    fresh.on_outcome(bench.view, outcome, bench.now);
  }
  return "the fresh scheduler does not come to rest";
}

void WakeWorld::put(api::Kind kind, const std::string& text) {
  note(text);
  bench.put(kind, text);
}

void WakeWorld::erase(api::Kind kind, const std::string& name, const std::string& ns) {
  note("erase " + name);
  bench.erase(kind, name, ns);
}

void WakeWorld::put_node() {
  NodeSpec node{pick("n", 5), std::to_string(1 + below(4)), "8Gi", std::to_string(2 + below(4))};
  node.labels = {{"zone", pick("z", 2)}};
  if (sometimes(3)) node.labels["disk"] = "ssd";
  if (sometimes(4))
    node.spec = R"({"taints":[{"key":")" + pick("k", 2) + R"(","effect":"NoSchedule"}]})";
  else if (sometimes(5))
    node.spec = R"({"unschedulable":true})";
  if (sometimes(4)) node.allocatable = R"(,"example.com/x":"2")";
  note("node " + node.name + node.spec);
  bench.put_node(node);
}

std::string WakeWorld::zone_affinity() {
  return R"("nodeSelectorTerms":[{"matchExpressions":[{"key":"zone","operator":"In","values":[")" +
         pick("z", 2) + R"("]}]}])";
}

std::string WakeWorld::term() {
  return R"({"labelSelector":{"matchLabels":{"app":")" + pick("a", 2) + R"("}},)" +
         (sometimes(4) ? R"("namespaceSelector":{"matchLabels":{"team":"t0"}},)" : "") +
         R"("topologyKey":")" + (sometimes(2) ? "zone" : "kubernetes.io/hostname") + "\"}";
}

std::string WakeWorld::asks(const std::string& pod) {
  std::string spec;
  if (sometimes(5)) spec += R"(,"nodeSelector":{"disk":"ssd"})";
  if (sometimes(4))
    spec += R"(,"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[)" + term() +
            "]}}";
  else if (sometimes(4))
    spec +=
        R"(,"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[)" + term() + "]}}";
  if (sometimes(5))
    spec += R"(,"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"zone",)" +
            std::string(R"("whenUnsatisfiable":"DoNotSchedule","labelSelector":{"matchLabels":{"app":")") +
            pick("a", 2) + "\"}}}]";
  if (sometimes(6)) {
    bench.put_claim(pod, sometimes(2) ? "gpu" : "fast", 1 + static_cast<int>(below(2)));
    spec += R"(,"resourceClaims":[{"name":"d","resourceClaimName":")" + pod + R"("}])";
  } else if (sometimes(5)) {
    spec += R"(,"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":")" + pick("v", 2) + R"("}}])";
  }
  return spec;
}

void WakeWorld::put_pod() {
  const std::string name = "p" + std::to_string(++pods_);
  std::string spec = asks(name);
  if (sometimes(4)) spec += R"(,"tolerations":[{"key":"k0","operator":"Exists"}])";
  if (sometimes(6)) spec += R"(,"priority":)" + std::to_string(below(3));
  if (!sometimes(4)) spec += R"(,"preemptionPolicy":"Never")";
  const std::string resources = R"({"requests":{"cpu":")" + std::to_string(1 + below(3)) + "\"" +
                                (sometimes(6) ? R"(,"example.com/x":"1")" : "") + "}}";
  const std::string ports = sometimes(5) ? R"(,"ports":[{"hostPort":)" + pick("8", 2) + "}]" : "";
  put(api::Kind::Pod, R"({"metadata":{"name":")" + name + R"(","namespace":"default","uid":"uid-)" + name +
                          R"(","generation":1,"labels":{"app":")" + pick("a", 2) +
                          R"("}},"spec":{"schedulerName":"berth","containers":[{"name":"c","resources":)" +
                          resources + ports + "}]" + spec + R"(},"status":{"phase":"Pending"}})");
}

const api::Pod* WakeWorld::bound_pod() {
  std::vector<const api::Pod*> bound;
  for (const auto& [name, pod] : bench.view.pods.all())
    if (pod->bound()) bound.push_back(pod.get());
  return bound.empty() ? nullptr : bound[below(bound.size())];
}

void WakeWorld::end_pod() {
  const api::Pod* pod = bound_pod();
  if (!pod) return;
  const api::Pod gone = *pod;
  erase(api::Kind::Pod, gone.meta.name);
  ended(gone);
}

void WakeWorld::ended(const api::Pod& pod) {
  if (bench.view.claims.find("default", pod.meta.name)) erase(api::Kind::ResourceClaim, pod.meta.name);
}

void WakeWorld::resize_pod() {
  const api::Pod* pod = bound_pod();
  if (!pod) return;
  note("resize " + pod->meta.name);
  change(api::Kind::Pod, pod->raw, [](Json& object) {
    object["metadata"]["generation"] = 2;
    object["spec"]["containers"].as_array()[0]["resources"]["requests"]["cpu"] = "100m";
  });
}

void WakeWorld::relabel_pod() {
  const api::Pod* pod = bound_pod();
  if (!pod) return;
  note("relabel " + pod->meta.name);
  change(api::Kind::Pod, pod->raw, [&](Json& object) {
    if (sometimes(3))
      object["metadata"]["deletionTimestamp"] = "2027-01-15T08:00:00Z";
    else
      object["metadata"]["labels"]["app"] = pick("a", 2);
  });
}

void WakeWorld::put_volume() {
  const std::string n = pick("v", 2);
  put(api::Kind::PersistentVolume,
      R"({"metadata":{"name":")" + n + R"(","labels":{"topology.kubernetes.io/zone":"z"}},"spec":)" +
          R"({"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"},"nodeAffinity":{"required":{)" +
          zone_affinity() + "}}}}");
  put(api::Kind::PersistentVolumeClaim,
      R"({"metadata":{"name":")" + n +
          R"(","namespace":"default","annotations":{"pv.kubernetes.io/bind-completed":"yes"}},"spec":)" +
          R"({"accessModes":[")" + (sometimes(2) ? "ReadWriteOncePod" : "ReadWriteOnce") +
          R"("],"volumeName":")" + n + R"("},"status":{"phase":"Bound"}})");
}

void WakeWorld::label_namespace() {
  put(api::Kind::Namespace, R"({"metadata":{"name":"default","labels":{"team":")" + pick("t", 2) + R"("}}})");
}

void WakeWorld::bind(const api::Pod& pod) {
  const std::string name = pod.meta.name;
  const auto requests = bench.view.bind_requests_of_pod("default", name);
  const auto decided = std::make_shared<const api::Pod>(pod);
  for (const auto& request : std::vector(requests.begin(), requests.end())) bound(*decided, *request);
  bench.bind(name);
  const auto left = bench.view.bind_requests_of_pod("default", name);
  for (const auto& request : std::vector(left.begin(), left.end()))
    bench.erase(api::Kind::BindRequest, request->meta.name);
}

void WakeWorld::bound(const api::Pod& pod, const api::BindRequest& request) {
  const std::string entry =
      R"({"resource":"pods","name":")" + pod.meta.name + R"(","uid":"uid-)" + pod.meta.name + "\"}";
  for (const api::ClaimAllocation& one : request.claims) {
    const auto* claim = bench.view.claims.find("default", one.claim_name);
    if (!claim) continue;
    change(api::Kind::ResourceClaim, claim->raw, [&](Json& object) {
      object["status"]["allocation"] = api::to_json(one.allocation);
      Json& users = object["status"]["reservedFor"];
      if (!users.is_array()) users = Json(JsonArray());
      users.as_array().push_back(*parse_json(entry));
    });
  }
}

}  // namespace berth::scheduling
