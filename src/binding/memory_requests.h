// BindRequests without an object: if one process decides and binds, the BindRequest of a binding that does
// not wait stays in its memory (`bindRequests: WhenWaiting`).
//
// A client between the engines and the API server. It keeps a BindRequest as a value at its create
// (client/request_writes.h). A request becomes an object before its status says that it waits, retries or
// failed, or that writes of plugins follow its binding. It stays one, so it survives the process and others
// see it. Kept requests are marked (BindRequest::in_memory) and are in the lists and watches of BindRequests;
// an object of the same name replaces them. They are lost with the process; only writes in flight may still
// land. A late binding succeeds, or finds the pod bound, as kube-scheduler's; devices are sealed first
// (SchedulerOptions::records_in_memory, docs/reliability.md).
//
// Members of a gang's decision with a barrier get a record first: those of one namespace that are submitted
// close together share one object (api::gang_record_object; kGangRecordInterval). Their creates are answered
// when it is stored, and the next process continues from it. It is deleted with its last member. A request is
// deleted when it has ended, because the bound pod shows the result. Changes reach the receivers at flush(),
// those of one step together. Thread-safe. Cost: about a microsecond a write. Source: docs/reliability.md,
// "Records in memory".
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "base/json.h"
#include "client/api_client.h"
#include "client/decider.h"

namespace berth::binding {

// Bytes of all requests that are kept or wait for a record; beyond, a BindRequest is created as an object.
inline constexpr std::size_t kMemoryRequestBytesMax = 64u << 20;

// Members that wait for a record: those of gangs that are decided under load share it. The next record of a
// namespace is begun so long after the last one, or as soon as so many members wait.
inline constexpr Duration kGangRecordInterval = Duration::millis(100);
inline constexpr std::size_t kGangRecordMembersSoon = 64;

// Of a gang's record: below etcd's limit of 1.5 MiB for a request.
inline constexpr std::size_t kGangRecordBytesMax = 1u << 20;

// Of a gang's record: names of members, with commas, whose own objects were deleted before it.
inline constexpr std::string_view kEndedMembersAnnotation = "scheduling.berth.dev/ended-members";
// Of its value, below Kubernetes' bound for all annotations; names beyond it are not kept.
inline constexpr std::size_t kEndedMembersBytesMax = 128u << 10;

class MemoryRequests final : public client::ApiClient {
 public:
  // `inner` outlives it. Subscriptions end before it; answers of writes in flight may come later.
  explicit MemoryRequests(client::ApiClient& inner);
  ~MemoryRequests() override;

  void submit(client::ApiRequest request, std::function<void(client::ApiReply)> done) override;
  // Creates of BindRequests, while there is room for them.
  bool holds(const client::ApiRequest& request) const override;
  std::optional<Time> flush(Time now) override;
  std::unique_ptr<client::Subscription> list_and_watch(api::ResourceRef resource,
                                                       client::WatchReceiver& receiver) override;

  // Objects are created with this term from now on, also for decisions of earlier terms. Not called
  // when a term ends.
  void lead(client::Leadership leadership);

  std::size_t kept() const;

 private:
  class Table;
  class Watch;
  client::ApiClient& inner_;
  const std::shared_ptr<Table> table_;
};

// Deletes kept BindRequests that failed for good. The binder deletes those whose pod the view shows bound.
std::unique_ptr<client::Reconciler> make_memory_request_collector();

// How often a record of a gang that nobody takes members from is looked at.
inline constexpr Duration kGangRecordLook = Duration::seconds(30);

// Where every BindRequest is an object (`bindRequests: Always`): deletes the records of gangs that an earlier
// process left. The scheduler decides their members again; a record goes once each is bound, gone, or has an
// object.
std::unique_ptr<client::Reconciler> make_gang_record_collector();

}  // namespace berth::binding
