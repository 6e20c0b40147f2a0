// A cluster made from documents: the contents of the scheduler's view and model after a first list.
//
// Owner: one plan. Source: the API server and the claim controller, as far as they run before a scheduler
// sees an object.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "client/view.h"
#include "dra/taint_rules.h"
#include "model/cluster.h"
#include "placement/framework.h"
#include "placement/wishes/policy_wishes.h"
#include "planning/plan.h"

namespace berth::planning {

// The time of a plan: the given one, else the newest timestamp of the documents.
Time now_of(const std::vector<Document>& documents, const PlanOptions& options);

class OfflineCluster {
 public:
  explicit OfflineCluster(model::NodeAllocatable counting) : cluster_(counting) {}
  // Sorts, completes (namespace, uid, version, priority), creates the claims of templates, decodes. The error
  // names an object that occurs twice.
  static Result<std::unique_ptr<OfflineCluster>> make(std::vector<Document> documents,
                                                      const PlanOptions& options);

  const client::View& view() const { return view_; }
  model::Cluster& cluster() { return cluster_; }
  Time now() const { return now_; }
  // The owners of the documents, whatever their kinds.
  placement::OwnersOf owners() const;
  // Binds the pod to the node; its claims get these allocations and the pod as a consumer, its volume claims
  // these volumes, and the pod this share of GPUs. For a volume to be provisioned the claim names the node.
  void bind(const api::Pod& pod, const std::string& node, const model::Reservation& reservation);
  // An object in another form, or one more. The newest call wins, whatever the object's version.
  template <class T>
  void replace(api::Kind kind, T object) {
    object.meta.resource_version = ++replaced_;
    const api::ObjectKey key{kind, object.meta.ns, object.meta.name, {}};
    if (auto delta = view_.put(key, std::make_shared<const T>(std::move(object))))
      taint_rules_.apply(*delta, cluster_);
  }
  void erase(api::Kind kind, const std::string& ns, const std::string& name);
  enum class Evicted : std::uint8_t { Gone, WaitsAgain };
  // The pod is gone, and no consumer of its claims any more. One with a decision that is not carried out
  // loses that instead, and waits again.
  Evicted evict(const client::NamedKey& pod);
  // A pod with a node has ended: it is gone, and what nobody else uses of its claims and of its group's is
  // free.
  void end(const client::NamedKey& pod);
  // Of a group of which no pod runs: claims that are reserved for it alone give their devices back.
  void release_group_claims(const client::NamedKey& group);
  // What unbind() changed, as it was.
  struct Unbound {
    api::Pod pod;
    std::vector<api::ResourceClaim> claims;
    std::vector<api::BindRequest> requests;
  };
  // The pod waits again: it has no node, and claims that nobody else uses give their devices back.
  Unbound unbind(const client::NamedKey& pod);
  void bind_again(const Unbound& unbound);
  // The claim gives its devices back; one that was made for a pod that is gone goes too.
  void release_claim(const client::NamedKey& claim);
  // Why a pod cannot be decided at all ("no PriorityClass with name x was found"); empty otherwise.
  const std::string& trouble_of(const client::NamedKey& pod) const;

 private:
  using Key = std::pair<api::Kind, client::NamedKey>;

  static api::Kind kind_of(std::string_view resource);
  Status gather(std::vector<Document> documents);
  void note_owners(const Json& object);
  Status note_replicas(const Json& object);
  void admit(const PlanOptions& options);
  void make_claims();
  void make_claim(Json& pod, const Json& entry, std::string_view from);
  void make_volume_claims();
  void bind_volume(const std::string& ns, const std::string& node, const api::VolumeBinding& binding);
  template <class T>
  void put(api::Kind kind, T object);
  api::ResourceClaim extended_claim(const api::Pod& pod, const model::ClaimChoice& choice) const;
  Status decode(const dra::DeviceGates& gates);

  std::map<Key, Json> documents_;
  std::map<std::string, Json, std::less<>> runtime_classes_;
  std::map<client::NamedKey, std::string> troubles_;
  std::map<std::pair<std::string, api::PlacementTarget>, std::vector<api::OwnerReference>> owners_;
  client::View view_;
  model::Cluster cluster_;
  dra::TaintRules taint_rules_;
  Time now_;
  std::uint64_t replaced_ = std::uint64_t{1} << 62;  // above the versions of a cluster
};

}  // namespace berth::planning
