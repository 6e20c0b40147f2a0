// One run of one BindRequest: derives its step from the view and returns the effects of that step.
#pragma once

#include "binding/binder.h"
#include "binding/gang.h"
#include "binding/request_status.h"

namespace berth::binding {

inline constexpr std::size_t kMessageBytesMax = 1024;
// Attempts for a member of a committed gang that the server refuses: the others are already bound.
inline constexpr std::int32_t kForwardAttemptsMax = 8;

// The view's state of a request's pod.
struct PodObservation {
  enum class State { Free, OnOurNode, Elsewhere, Ending, Unknown };
  State state = State::Unknown;
  const api::Pod* pod = nullptr;  // the pod decided for; null if Unknown
  std::string why;                // if neither Free nor OnOurNode
};

PodObservation observe_pod(const client::View& view, const api::BindRequest& request);
// An event about the request's pod, reported in the name of the pod's scheduler.
client::EventNote event_of_pod(const client::View& view, const api::BindRequest& request,
                               std::string_view reason, std::string_view action, std::string message);

// What this process knows about a request besides the view.
struct RequestHistory {
  Time first_seen;                              // when this process first saw the decision
  const WriteFailure* write_failure = nullptr;  // of the last run's writes; null: none
  bool late = false;                            // TermFence::judge
  bool saw_commit = false;                      // of its gang
  const PendingAllocations* pending = nullptr;
  std::uint32_t post_bind_failures = 0;  // attempts of PostBind's writes that were not accepted
  std::string post_bind_failure = {};    // the latest
};

class BindCycle {
 public:
  BindCycle(const client::View& view, const api::BindRequest& request, Time now, const RequestHistory& known,
            const BinderOptions& options, const Plugins& plugins);

  client::Effects step();
  // The effects of step() bind the pod or record that it is bound.
  bool binds() const { return binds_; }
  // The view shows the pod bound; the effects of step() delete the request, which was in memory.
  bool ends_in_memory() const { return ends_in_memory_; }
  // How the steps before the binding ended in this run; none if they did not end.
  std::optional<PreBindStatus> pre_bind_end() const { return pre_bind_end_; }
  // The effects of step() decide that the binding fails.
  bool fails() const { return fails_; }
  bool waits_for_conditions() const { return waits_for_conditions_; }
  // The run only waits, and the request's status says so; the pod exists and may be bound.
  bool waits() const { return waits_; }
  bool sees_commit() const { return gang_.only_forward(); }
  const BindWrites& bind_writes() const { return bind_writes_; }

 private:
  client::Effects write_status(const api::BindRequest& wanted, IfChanged if_changed) const;
  // Replaces the condition of its type.
  void set_condition(api::BindRequest& status, api::Condition condition) const;
  BindContext context_of(const api::Pod* pod) const;
  // PostBind and the success, as writes after those of `chain`.
  client::Effects finish(client::Chain chain, const api::Pod* pod);
  client::Effects finish_in_memory(client::Chain chain);
  client::Effects record_that_it_binds();
  client::Effects fail(Failed failed) { return fail(std::move(failed), request_.failed_attempts); }
  client::Effects fail(Failed failed, std::int32_t failed_attempts);
  client::Effects fail_with_gang();
  client::Effects roll_back() const;
  client::Effects end(api::BindRequest wanted) const;
  client::Effects after_write_failure();
  // The effects that end the run, if pod, node, group or the pod's specification end it.
  std::optional<client::Effects> identify(const PodObservation& observation);
  client::Effects advance(const PodObservation& observation);
  client::Effects wait(const Waiting& waiting);
  client::Effects wait_for_gang();
  client::Effects bind(const BindContext& context);
  // `failed`: the request with its failure in reason and message.
  std::vector<client::Chain> left_to_give_back(const api::BindRequest& failed) const;
  std::optional<client::Chain> seal_pod(const api::Pod& pod, const api::BindRequest& failed) const;
  Duration longest_wait() const;
  client::Effects wake(Time at) const;

  const client::View& view_;
  const api::BindRequest& request_;
  const api::ObjectKey key_;
  const Time now_;
  const RequestHistory known_;
  const BinderOptions& options_;
  const Plugins& plugins_;
  const Gang gang_;
  bool binds_ = false;
  bool ends_in_memory_ = false;
  bool fails_ = false;
  bool waits_for_conditions_ = false;
  bool waits_ = false;
  std::optional<PreBindStatus> pre_bind_end_;
  BindWrites bind_writes_;
};

}  // namespace berth::binding
