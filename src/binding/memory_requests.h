// BindRequests without an object: where one process decides and binds, the record of a binding that needs no
// waiting stays in its memory (`bindRequests: WhenWaiting`).
//
// Stands between the engines and the API server, so that scheduler and binder know nothing of it. It keeps a
// BindRequest at its create. One whose status says that it waits, tries again or failed becomes an object
// right before that status is written, and stays one: what lasts longer than one write survives the process
// and is seen by others. Kept ones bear kInMemoryAnnotation and appear in the lists and watches of
// BindRequests; an object of the same name takes their place. Who ends the process loses them; what is left
// is a write that may still land. A late binding stands, or meets the pod bound, as kube-scheduler's does;
// about devices the scheduler seals first (SchedulerOptions::records_in_memory, docs/reliability.md).
//
// Members of a gang's decision that wait for each other are written down first, all that are submitted before
// a flush() in one object (api::gang_record_object), those of other gangs of the namespace included: their
// creates are answered when it is stored, and the next process goes on from it. It is deleted with its last
// member. make_memory_request_collector()
// deletes requests that ended.
// Thread-safe. Cost: a few microseconds a write. Source: architecture section 3, INTERFACE.md.
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

inline constexpr std::string_view kInMemoryAnnotation = "scheduling.berth.dev/in-memory";
// Bytes of all that is kept, or waits for its gang's record; beyond, a BindRequest becomes an object.
inline constexpr std::size_t kMemoryRequestBytesMax = 64u << 20;

// Of a gang's record: what etcd takes in one object, with room to spare.
inline constexpr std::size_t kGangRecordBytesMax = 1u << 20;

// How long one that ended stays: the scheduler's view of the pod may be behind the binder's.
inline constexpr Duration kMemoryRequestGrace = Duration::seconds(5);

class MemoryRequests final : public client::ApiClient {
 public:
  // `inner` outlives it. Subscriptions end before it; answers of writes under way may come later.
  explicit MemoryRequests(client::ApiClient& inner);
  ~MemoryRequests() override;

  void submit(client::ApiRequest request, std::function<void(client::ApiReply)> done) override;
  void flush() override;
  std::unique_ptr<client::Subscription> list_and_watch(api::ResourceRef resource,
                                                       client::WatchReceiver& receiver) override;

  // From now on objects are made in this term, whoever decided; not for a term that ends.
  void lead(client::Leadership leadership);

  std::size_t kept() const;

 private:
  class Table;
  class Watch;
  client::ApiClient& inner_;
  const std::shared_ptr<Table> table_;
};

// Deletes kept BindRequests that ended and of which nobody reads any more: the pod is seen on a node, or
// gone.
std::unique_ptr<client::Reconciler> make_memory_request_collector();

// How often a record of a gang that nobody takes members from is looked at.
inline constexpr Duration kGangRecordLook = Duration::seconds(30);

// Where every BindRequest is an object (`bindRequests: Always`): deletes the records of gangs that an earlier
// process left. The scheduler decides their members again; a record goes once each is bound, gone, or has an
// object.
std::unique_ptr<client::Reconciler> make_gang_record_collector();

}  // namespace berth::binding
