// The interface of binder plugins: one concern of binding (claims, volumes, …) as a function of the view.
//
// Plugins keep no state and do no I/O. pre_bind() runs until it is Ready: each run reads the live objects
// and returns the writes that are still missing. The binding process runs plugins in the order of
// BinderOptions::plugins and rolls back in reverse. Source: the Binder document's plugin interface, with
// Rollback as later versions have it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "client/decider.h"

namespace berth::binding {

// Watches of different kinds are not synchronized: objects that a request names may be seen this much later.
inline constexpr Duration kInformerLagGrace = Duration::seconds(3);

struct BinderOptions {
  Duration binding_timeout =
      Duration::seconds(600);  // from allocationTimestamp to all binding conditions True
  // How long a gang's decision waits for its next BindRequest; then none is expected any more.
  Duration gang_timeout = Duration::seconds(15);
  Duration retry_base = Duration::seconds(1);  // before the second attempt, then doubled
  Duration retry_cap = Duration::seconds(60);
  bool binding_conditions = true;  // DRADeviceBindingConditions and DRAResourceClaimDeviceStatus
  bool nominations = true;         // NominatedNodeNameForExpectation
  // From when this process first saw the decision to all its volumes bound.
  Duration volume_timeout = Duration::seconds(600);
  std::vector<std::string> plugins = {"VolumeBinding", "DynamicResources"};  // in this order
};

// The input of a run. `pod` is the request's pod; in pre_bind() it is alive and not bound, in rollback()
// null if it is gone.
struct BindContext {
  const client::View& view;
  const api::BindRequest& request;
  const api::Pod* pod;
  Time now;
  Time first_seen;  // when this process first saw the decision; limits count from here
  const BinderOptions& options;
  bool committed = false;   // the gang is committed: only forward
  bool on_version = false;  // the last addition to a claim was refused: the next write names the version
  const class PendingAllocations* pending = nullptr;  // null: none are tracked
};

struct Ready {};

// Nothing to do until the view changes or `until` comes. With `event_reason` the wait is recorded in the
// request's status and in an event about the pod.
struct Waiting {
  Time until;  // not set: no deadline
  std::string why;
  std::string event_reason;
  api::BindStep step = api::BindStep::WaitingForDevices;  // that is recorded
};

struct Failed {
  api::FailureClass failure = api::FailureClass::OtherPlacement;
  std::string reason;   // CamelCase
  std::string message;  // for a person
};

using PreBindResult = std::variant<Ready, Waiting, Failed>;

// With `chains`: carry them out, then run again; `verdict` is Ready.
struct PreBindStep {
  std::vector<client::Chain> chains;
  PreBindResult verdict;
};

class Plugin {
 public:
  virtual ~Plugin() = default;
  virtual std::string_view name() const = 0;
  // Whether the plugin accepts the pod; called in each run, before pre_bind().
  virtual Status validate(const api::Pod& pod) const = 0;
  virtual PreBindStep pre_bind(const BindContext& context) const = 0;
  // Writes to the pod immediately before the binding, in one chain with it, each on the version of the one
  // before. rollback() undoes them.
  virtual std::vector<client::Write> before_binding(const BindContext&) const { return {}; }
  // Writes after a successful binding; nothing waits for them. Called once, by the process that bound.
  virtual std::vector<client::Chain> post_bind(const BindContext&) const { return {}; }
  // Writes that release what this request still holds; empty: everything is released.
  virtual std::vector<client::Chain> rollback(const BindContext& context) const = 0;
};

using Plugins = std::vector<std::unique_ptr<const Plugin>>;

// Refuses unknown and repeated names.
Result<Plugins> make_plugins(std::span<const std::string> names);

// Runs all plugins in order, up to the first that is not Ready.
PreBindStep pre_bind(const Plugins& plugins, const BindContext& context);
// Nothing is left to write or to wait for before the binding.
bool is_prepared(const Plugins& plugins, const BindContext& context);

// Calls all plugins in order; the first error ends it.
Status validate(const Plugins& plugins, const api::Pod& pod);

}  // namespace berth::binding
