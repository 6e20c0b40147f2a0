// Binds pods: one BindRequest each, through the binding process identity → PreBind of the plugins → gang
// barrier → binding → Succeeded. Decider of the engine; keys are BindRequests.
//
// The step of a request is derived from the live objects and its status, so every step may run again after a
// crash. Nothing blocks: a wait is a deadline plus the changes that end it. If a placement fails, the binder
// records that in status (step RollingBack) and releases its resources; then the request is Failed. Refused
// writes are tried again before that, up to the request's backoffLimit; a Failed request never is: the
// scheduler decides again. Memory between runs holds only what a crash may lose: the class of a refused
// write, and a pending event. Cost of a run: O(claims of the pod), for the leader of a gang O(claims of all
// members). Source: the Binder document; KEP-5007.
#pragma once

#include <map>
#include <set>

#include "binding/nominations.h"
#include "binding/pending_allocations.h"
#include "binding/plugin.h"
#include "binding/pre_bind_metrics.h"
#include "binding/term_fence.h"
#include "binding/write_failure.h"

namespace berth::binding {

// The pod was replaced, or another client bound it.
inline constexpr std::string_view kSuperseded = "Superseded";
// A pod that the view shows unbound for so long after its binding was accepted is bound again.
inline constexpr Duration kBoundViewWait = Duration::seconds(30);
// A gang that commits within this time does not write that it waits.
inline constexpr Duration kQuietGangWait = Duration::seconds(2);

// An ended request without an owner is deleted this long after its end, once its pod is gone. The garbage
// collector deletes the others with their pods.
inline constexpr Duration kOwnerlessRequestTtl = Duration::minutes(10);

// How often a request named a term that its Lease does not have, by TermDoubt, and the latest such request.
struct TermDoubts {
  std::array<std::uint64_t, kTermDoubtNames.size()> counts{};
  std::array<std::string, kTermDoubtNames.size()> latest;  // for a person
  void add(const api::BindRequest& request, TermDoubt doubt);
};

class Binder final : public client::Reconciler {
 public:
  // Refuses unknown plugin names.
  static Result<std::unique_ptr<Binder>> make(BinderOptions options);

  std::string_view name() const override { return "binder"; }
  std::vector<client::Interest> interests() const override;
  client::Effects reconcile(const client::View& view, const api::ObjectKey& key, Time now) override;
  void on_outcome(const client::View& view, const api::ObjectKey& key, const client::Outcome& outcome,
                  Time now) override;

  const Plugins& plugins() const { return plugins_; }
  const PreBindMetrics& metrics() const { return metrics_; }
  const TermDoubts& term_doubts() const { return term_doubts_; }
  // Decisions that were seen committed, and have requests that have not ended.
  std::size_t known_commits() const { return commits_.size(); }

  // Within a process, the commit of a gang and the failure of a member exclude each other. A gang is not
  // committed while a member fails or will be refused. No member fails while the commit is written. Between
  // processes the versions do that in part (docs/reliability.md, "What is not promised").
  bool gives_up(const api::BindRequest& request, Time now) const;
  // Not decided yet, as its Lease is being read.
  bool awaits_lease(const api::BindRequest& request, Time now) const;
  void begin_deciding(const std::string& decision) { deciding_.insert(decision); }
  void end_deciding(const std::string& decision) { deciding_.erase(decision); }

 private:
  // About the present decision of a request that has not ended.
  struct RequestRecord {
    std::string uid;
    std::string decision;
    Time first_seen;
    bool announce = false;   // the binding was sent: its success makes an event
    bool announced = false;  // a request in memory: the event was made
    Time bound_at = {};      // a request in memory: the binding was sent, and no failure is known
    bool adds = false;       // the last run adds the pod to a claim by a patch without a version
    bool failing = false;    // the last run recorded that the binding fails
    std::optional<WriteFailure> write_failure = {};
    Time waiting_since = {};  // for binding conditions
    bool measured = false;    // metrics_ has counted it
    BindWrites bind_writes = {};
    std::uint32_t post_bind_failures = 0;
    std::string post_bind_failure = {};
    NominationRecord nomination = {};
    std::uint64_t lease_reads = 0;                   // that had begun when it was first seen
    std::optional<TermVerdict> term = std::nullopt;  // once it is known
  };

  Binder(BinderOptions options, Plugins plugins)
      : options_(std::move(options)),
        plugins_(std::move(plugins)),
        fence_(std::make_unique<TermFence>(options_.lease_namespace, options_.process)) {}
  std::vector<client::Interest> own_interests() const;
  RequestRecord& remember(const api::BindRequest& request, Time now);
  void forget(const api::ObjectKey& key);
  void close_one(const std::string& decision);
  void measure(const api::BindRequest& request, RequestRecord& record, const class BindCycle& cycle,
               const client::View& view, Time now);
  // `request`: null if it is gone.
  client::Effects after_end(const client::View& view, const api::ObjectKey& key,
                            const api::BindRequest* request, Time now);
  TermVerdict term_of(const api::BindRequest& request, Time now) const;
  // None once the request's term is known.
  std::optional<client::Effects> learn_term(const api::BindRequest& request, RequestRecord& record, Time now);
  // When the ended request is to be deleted; none while its pod or its owner is responsible.
  static std::optional<Time> expiry_of(const client::View& view, const api::BindRequest& request);
  client::Effects announce(const client::View& view, const api::ObjectKey& key,
                           const api::BindRequest& request);
  // The pod is bound, and the view does not show it yet.
  static bool awaits_view(const client::View& view, const api::BindRequest& request,
                          const RequestRecord& record, Time now);

  BinderOptions options_;
  Plugins plugins_;
  std::set<std::string> deciding_;                   // decisions whose outcome GangBarrier is writing
  std::map<api::ObjectKey, RequestRecord> records_;  // proportional to requests that have not ended
  std::map<std::string, std::size_t> open_;          // by decision: its records
  std::set<std::string> commits_;                    // of these decisions: seen committed
  PendingAllocations pending_;
  Nominations nominations_;
  PreBindMetrics metrics_;
  std::unique_ptr<TermFence> fence_;
  TermDoubts term_doubts_;
};

}  // namespace berth::binding
