// VolumeZone: a pod goes to the zone and region that the labels of its bound volumes name; a label may name
// several, separated by "__". Nodes without any such label are taken to be in all. Source: kube-scheduler's
// plugin.
#include <algorithm>
#include <array>
#include <vector>

#include "placement/plugins/plugins.h"

namespace berth::placement::plugins {
namespace {

struct ZoneLabel {
  std::string_view key;
  std::string_view stable;  // the key that replaced it
};
constexpr auto kZoneLabels = std::to_array<ZoneLabel>({
    {"failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"},
    {"failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"},
    {"topology.kubernetes.io/zone", "topology.kubernetes.io/zone"},
    {"topology.kubernetes.io/region", "topology.kubernetes.io/region"},
});

// One zone label of a volume: the node's value must be one of these.
struct VolumeZones {
  const ZoneLabel* label;
  std::vector<std::string> values;
};

// In PodQuery::slots.
struct PodZones {
  std::vector<VolumeZones> zones;
  void clear() { zones.clear(); }
};

// Empty: the label names no zone, or an empty one, and does not count.
std::vector<std::string> zones_in(std::string_view text) {
  std::vector<std::string> zones;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find("__", begin), text.size());
    const std::string_view zone = text.substr(begin, end - begin);
    if (zone.empty()) return {};
    zones.emplace_back(zone);
    begin = end + 2;
  }
  return zones;
}

void add_zones_of(const api::PersistentVolume& volume, std::vector<VolumeZones>& zones) {
  for (const ZoneLabel& label : kZoneLabels) {
    const auto found = volume.meta.labels.find(label.key);
    if (found == volume.meta.labels.end()) continue;
    if (std::vector<std::string> values = zones_in(found->second); !values.empty())
      zones.push_back({&label, std::move(values)});
  }
}

// Claims of ephemeral volumes are left out, as by kube-scheduler: their volumes are made for the node.
class VolumeZonesOfPod final : public PreFilter {
 public:
  std::string_view name() const override { return kVolumeZone; }
  void prepare(PodQuery& query, Diagnosis& diagnosis) const override {
    const client::View& view = query.context->view;
    for (const api::PodVolume& used : query.pod->volumes) {
      const auto* claim = view.volume_claims.find(query.pod->meta.ns, used.claim_name);
      if (used.ephemeral || !claim || claim->volume_name.empty()) continue;
      const api::PersistentVolume* volume = view.volumes.find("", claim->volume_name);
      if (!volume) return diagnosis.refuse_everywhere(reason_row("VolumeNotFound"), claim->volume_name);
      add_zones_of(*volume, query.slots.write<PodZones>().zones);
    }
  }
};

bool is_in_zones(const api::StringMap& labels, const std::vector<VolumeZones>& zones) {
  const auto has = [&](const ZoneLabel& label) { return labels.contains(label.key); };
  if (std::none_of(kZoneLabels.begin(), kZoneLabels.end(), has)) return true;
  return std::all_of(zones.begin(), zones.end(), [&](const VolumeZones& wanted) {
    auto found = labels.find(wanted.label->key);
    if (found == labels.end()) found = labels.find(wanted.label->stable);
    return found != labels.end() &&
           std::find(wanted.values.begin(), wanted.values.end(), found->second) != wanted.values.end();
  });
}

// Lazy, so that VolumeBinding speaks first, as in kube-scheduler.
class VolumeZone final : public LazyFilter {
 public:
  std::string_view name() const override { return kVolumeZone; }
  QueueingHint events_to_register() const override {
    return {kEventNodeAdded | kEventNodeChanged, [](const api::Pod& pod) { return !pod.volumes.empty(); }};
  }
  // The volumes are those of its own claims.
  void add_interests(const SchedulingContext&, const api::Pod&, PodHints& hints) const override {
    hints.add(kEventNodeAdded | kEventNodeChanged, {{facts::labels_changed()}});
  }
  Signing sign(const PodQuery& query, PodSignature&) const override {
    return query.pod->volumes.empty() ? Signing::Signed : Signing::Unsigned;
  }
  bool wanted(const PodQuery& query) const override { return !query.slots.read<PodZones>().zones.empty(); }
  bool prefers(const PodQuery&) const override { return false; }
  bool explains(const PodQuery&, const Reason&) const override { return false; }
  std::string explain(const PodQuery&, NodeId) const override { return ""; }
  bool accepts(const NodeTrial& trial) const override {
    const api::StringMap& labels = trial.query.context->cluster.node(trial.node).live->meta.labels;
    return is_in_zones(labels, trial.query.slots.read<PodZones>().zones) ||
           trial.refuse(reason_row("NoVolumeZone"));
  }
};

}  // namespace

std::unique_ptr<PreFilter> volume_zones() {
  return std::make_unique<VolumeZonesOfPod>();
}
std::unique_ptr<LazyFilter> volume_zone() {
  return std::make_unique<VolumeZone>();
}

}  // namespace berth::placement::plugins
