// ResourceQuotas when objects are created: each create is charged to the quotas of its namespace before it is
// stored, and refused where one would be exceeded.
//
// Creates of one namespace are charged in batches, one after the other, so that many at once cost one write
// of a quota. What was charged for a create that fails afterwards is corrected by the controller that counts
// (controllers/resource_quota.cc). Thread-safe; continues on the registry's executor.
// A quota limits from when its status says what is in use: the objects of a file that `berth up` reads are
// stored before anybody counts.
// Source: the admission plugin ResourceQuota of Kubernetes 1.37.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/quota.h"
#include "server/object_target.h"
#include "server/status.h"

namespace berth::server {

class Registry;

// Creates of one namespace that wait for the batch before them; the next one is refused.
inline constexpr std::size_t kQuotaWaitingMax = 16 * 1024;

class QuotaCharges {
 public:
  explicit QuotaCharges(Registry& registry);
  ~QuotaCharges();

  // Whether the namespace has a quota. Cost: O(1) while none has.
  bool concern(const ObjectTarget& target) const;

  // Calls `then` once `object` is charged, or with the refusal; with 429 where kQuotaWaitingMax wait already.
  // A dry run is judged and not charged.
  void charge(const ObjectTarget& target, const Json& object, bool dry_run,
              std::function<void(ApiResult<void>)> then);

 private:
  struct Waiting;
  struct Quota;
  struct Batch;
  void run(const std::string& ns);
  void judge(const std::shared_ptr<Batch>& batch);
  void write(const std::shared_ptr<Batch>& batch);
  void answer(const std::shared_ptr<Batch>& batch);
  std::vector<Quota> quotas_of(const std::string& ns) const;

  Registry& registry_;
  std::mutex mutex_;
  std::map<std::string, std::deque<Waiting>>
      waiting_;  // by namespace; those with a batch under way have an entry
};

}  // namespace berth::server
