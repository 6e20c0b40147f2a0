#include "sim/stored_volumes.h"

#include <algorithm>

#include "sim/stored_state.h"

namespace berth::sim {
namespace {

constexpr std::string_view kFailsOn = "berth.dev/provision-fails-on";

std::string text_in(const Json& object, std::string_view field) {
  return std::string(object.string_at(field));
}

std::set<std::string> words_of(std::string_view list) {
  std::set<std::string> words;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    words.emplace(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

}  // namespace

StoredVolume read_volume(const Json& object) {
  const Json& spec = object.part("spec");
  StoredVolume volume{text_in(object.part("metadata"), "name"), text_in(spec, "storageClassName"),
                      text_in(object.part("status"), "phase")};
  if (const Json& ref = spec.part("claimRef"); ref.is_object()) {
    volume.claim = local_name(ref.string_at("namespace"), ref.string_at("name"));
    volume.claim_uid = text_in(ref, "uid");
  }
  volume.deleting = object.part("metadata").find("deletionTimestamp") != nullptr;
  volume.affinity = spec.part("nodeAffinity").part("required");
  return volume;
}

StoredVolumeClaim read_volume_claim(const Json& object) {
  const Json& meta = object.part("metadata");
  const Json& spec = object.part("spec");
  StoredVolumeClaim claim{local_name(meta.string_at("namespace"), meta.string_at("name")),
                          text_in(meta, "uid"), text_in(spec, "storageClassName"),
                          text_in(spec, "volumeName")};
  const Json& annotations = meta.part("annotations");
  claim.selected_node = annotations.string_at("volume.kubernetes.io/selected-node");
  claim.completed = annotations.find("pv.kubernetes.io/bind-completed") != nullptr;
  return claim;
}

StoredVolumeClass read_volume_class(const Json& object) {
  return {object.string_at("provisioner") != "kubernetes.io/no-provisioner",
          words_of(object.part("parameters").string_at(kFailsOn))};
}

std::optional<std::vector<std::string>> StoredVolumes::reach(const std::vector<std::string>& of_claims,
                                                             const std::string& node, const Selects& selects,
                                                             const std::set<std::string>& taken) const {
  std::vector<std::string> used;
  for (const std::string& name : of_claims) {
    const auto claim = claims.find(name);
    if (claim == claims.end()) return std::nullopt;
    if (!claim->second.volume.empty()) {
      const auto volume = volumes.find(claim->second.volume);
      if (volume == volumes.end() || !selects(volume->second.affinity, node)) return std::nullopt;
      continue;
    }
    const auto of = classes.find(claim->second.storage_class);
    if (of == classes.end()) return std::nullopt;
    if (of->second.provisions) {
      const auto& fails = of->second.fails_on;
      if (fails.contains(node) || fails.contains("*")) return std::nullopt;
      continue;
    }
    const auto fits = [&](const auto& entry) {
      const StoredVolume& volume = entry.second;
      return volume.storage_class == claim->second.storage_class && volume.claim.empty() &&
             !volume.deleting && !taken.contains(volume.name) && selects(volume.affinity, node) &&
             std::find(used.begin(), used.end(), volume.name) == used.end();
    };
    const auto volume = std::find_if(volumes.begin(), volumes.end(), fits);
    if (volume == volumes.end()) return std::nullopt;
    used.push_back(volume->first);
  }
  return used;
}

std::string StoredVolumes::volume_changed(const StoredVolume* before, const StoredVolume& after) const {
  if (!before || before->claim_uid.empty() || before->claim_uid == after.claim_uid) return "";
  const auto owner = claims.find(before->claim);
  const bool bound =
      owner != claims.end() && owner->second.uid == before->claim_uid && owner->second.volume == after.name;
  return bound
             ? "I1: volume " + after.name + " is taken from claim " + before->claim + ", which is bound to it"
             : "";
}

std::string StoredVolumes::claim_changed(const StoredVolumeClaim& after) const {
  if (after.volume.empty()) return "";
  for (const auto& [name, other] : claims)
    if (name != after.name && other.volume == after.volume)
      return "I1: volume " + after.volume + " is bound to claim " + after.name + " and to claim " + name;
  return "";
}

std::string StoredVolumes::fault_of(const std::vector<std::string>& of_claims, const std::string& node,
                                    const Selects& selects) const {
  for (const std::string& name : of_claims) {
    const auto claim = claims.find(name);
    if (claim == claims.end() || !claim->second.is_bound())
      return "its volume claim " + name + (claim == claims.end() ? " does not exist" : " is not bound");
    const auto volume = volumes.find(claim->second.volume);
    if (volume == volumes.end()) return "its volume " + claim->second.volume + " does not exist";
    if (volume->second.claim_uid != claim->second.uid)
      return "its volume " + volume->first + " is of claim " + volume->second.claim;
    if (!selects(volume->second.affinity, node)) return "its volume " + volume->first + " is elsewhere";
  }
  return "";
}

std::vector<std::string> StoredVolumes::left_over() const {
  std::vector<std::string> sentences;
  for (const auto& [name, volume] : volumes) {
    if (volume.claim.empty()) continue;
    const auto claim = claims.find(volume.claim);
    if (claim == claims.end() || claim->second.volume != name)
      sentences.push_back("I6: volume " + name + " is reserved for claim " + volume.claim +
                          ", which did not get it");
  }
  return sentences;
}

}  // namespace berth::sim
