// What a binder plugin is: one concern of binding (claims, volumes, …) as a function of what is seen.
//
// Plugins keep no state and do no I/O. pre_bind is run again until it is Ready: each run looks at the live
// objects and asks for the writes that are still missing. The binding process runs plugins in the order of
// the registry table and takes back in reverse. Source: the Binder document's plugin interface, with Rollback
// as later versions have it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "client/decider.h"

namespace berth::binding {

// Watches of different kinds do not keep step: what a request names may be seen this much later than the
// request.
inline constexpr Duration kInformerLagGrace = Duration::seconds(3);

struct BinderOptions {
  Duration binding_timeout =
      Duration::seconds(600);  // from allocationTimestamp to all binding conditions True
  // How long a gang's decision waits for its next BindRequest: nobody writes them any more then.
  Duration gang_timeout = Duration::seconds(15);
  Duration retry_base = Duration::seconds(1);  // before the second attempt, then doubled
  Duration retry_cap = Duration::seconds(60);
  bool binding_conditions = true;  // DRADeviceBindingConditions and DRAResourceClaimDeviceStatus
  bool nominations = true;         // NominatedNodeNameForExpectation
  std::vector<std::string> plugins = {"DynamicResources"};  // in this order
};

// One run's input. `pod` is the request's pod, alive and not bound; null in rollback when it is gone.
struct BindContext {
  const client::View& view;
  const api::BindRequest& request;
  const api::Pod* pod;
  Time now;
  Time first_seen;  // this process met the decision; what is limited in time counts from here
  const BinderOptions& options;
  bool committed = false;  // the gang's decision stands: going forward
  bool on_version =
      false;  // the last addition to a claim was refused: only what stands on a version is written
  const class PendingAllocations* pending = nullptr;  // null: nothing is sent from here
};

struct Ready {};

// Nothing to do before something that is seen changes, or `until`. With `event_reason` the wait is worth a
// line in the request's status and an event about the pod.
struct Waiting {
  Time until;  // not set: no deadline
  std::string why;
  std::string event_reason;
};

struct Failed {
  api::FailureClass failure = api::FailureClass::OtherPlacement;
  std::string reason;   // CamelCase
  std::string message;  // for a person
};

using PreBindResult = std::variant<Ready, Waiting, Failed>;

// `chains` not empty: carry them out, then run again; the verdict is Ready then.
struct PreBindStep {
  std::vector<client::Chain> chains;
  PreBindResult verdict;
};

class Plugin {
 public:
  virtual ~Plugin() = default;
  virtual std::string_view name() const = 0;
  // Whether the pod makes sense to this plugin; asked before the first step.
  virtual Status validate(const api::Pod& pod) const = 0;
  virtual PreBindStep pre_bind(const BindContext& context) const = 0;
  // What the pod says before it is bound: writes to it that go right before the binding, in one chain with
  // it, each on the version of the one before. Rollback takes them back.
  virtual std::vector<client::Write> before_binding(const BindContext&) const { return {}; }
  // Writes after a successful binding; nobody waits for them. Once, by the process that bound.
  virtual std::vector<client::Chain> post_bind(const BindContext&) const { return {}; }
  // What is still to be given back of what this request owns; empty when all is.
  virtual std::vector<client::Chain> rollback(const BindContext& context) const = 0;
};

using Plugins = std::vector<std::unique_ptr<const Plugin>>;

// Refuses a name that is not known or stands twice.
Result<Plugins> make_plugins(std::span<const std::string> names);

// All plugins in order, up to the first that is not Ready.
PreBindStep pre_bind(const Plugins& plugins, const BindContext& context);
// Nothing is left to write or to wait for before the binding.
bool is_prepared(const Plugins& plugins, const BindContext& context);

// All plugins in order; the first that refuses ends it.
Status validate(const Plugins& plugins, const api::Pod& pod);

}  // namespace berth::binding
