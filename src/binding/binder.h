// Binds pods: one BindRequest each, through the binding process identity → PreBind of the plugins → gang
// barrier → binding → Succeeded. Decider of the engine; keys are BindRequests.
//
// Where a request stands is read from the live objects and its status, so every step may run again after a
// crash. Nothing blocks: a wait is a deadline plus the changes that end it. A placement that fails is decided
// in status (step RollingBack), given back, then marked Failed and terminal: never a retry of its own, the
// scheduler chooses again. Remembered between runs is only what a crash may forget: the class of a refused
// write, and an event to come. Cost of a run: O(claims of the pod), for the leader of a gang O(claims of all
// members). Source: the Binder document; KEP-5007.
#pragma once

#include <map>
#include <set>

#include "binding/epoch_fence.h"
#include "binding/nominations.h"
#include "binding/pending_allocations.h"
#include "binding/plugin.h"
#include "binding/pre_bind_metrics.h"
#include "binding/write_failure.h"

namespace berth::binding {

inline constexpr std::string_view kSuperseded = "Superseded";  // another pod, or bound by somebody else
// A gang that gets through within this time spends no write on saying that it waits.
inline constexpr Duration kQuietGangWait = Duration::seconds(2);

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

  // A gang is not committed while one of its members gives up or is to be refused, nor does a member give up
  // while the commit is written: these two exclude each other within a process. Between processes the
  // versions do.
  bool gives_up(const api::BindRequest& request) const;
  void begin_deciding(const std::string& decision) { deciding_.insert(decision); }
  void end_deciding(const std::string& decision) { deciding_.erase(decision); }

 private:
  // Of the decision of a request that has not ended.
  struct RequestRecord {
    std::string uid;
    std::string decision;
    Time first_seen;
    bool announce = false;  // the binding was asked for: its success is news
    bool adds = false;      // the last run adds the pod to a claim without standing on its version
    bool failing = false;   // the last run decided that the binding fails
    std::optional<WriteFailure> write_failure = {};
    Time waiting_since = {};  // for binding conditions
    bool measured = false;    // its figures are counted
    std::size_t writes_before_binding = 0;
    NominationRecord nomination = {};
  };

  Binder(BinderOptions options, Plugins plugins)
      : options_(std::move(options)), plugins_(std::move(plugins)) {}
  RequestRecord& remember(const api::BindRequest& request, Time now);
  void measure(const api::BindRequest& request, RequestRecord& record, const class BindCycle& cycle,
               const client::View& view, Time now);
  client::Effects announce(const client::View& view, const api::ObjectKey& key,
                           const api::BindRequest& request, Time now);

  BinderOptions options_;
  Plugins plugins_;
  std::set<std::string> deciding_;                   // decisions whose outcome GangBarrier writes
  std::map<api::ObjectKey, RequestRecord> records_;  // proportional to requests that have not ended
  PendingAllocations pending_;
  Nominations nominations_;
  PreBindMetrics metrics_;
  std::unique_ptr<EpochFence> fence_ = std::make_unique<EpochFence>();
};

}  // namespace berth::binding
