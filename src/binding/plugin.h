// The interface of binder plugins: one concern of binding (claims, volumes, …) as a function of the view.
//
// Plugins keep no state and do no I/O; validate() and mutate() may be called on several threads at once, the
// others are called on the binder's. pre_bind() runs until it is Ready: each run reads the live objects
// and returns the writes that are still missing. The binding process runs plugins in the order of
// BinderOptions::plugins and rolls back in reverse. A program adds plugins of its own to a PluginRegistry
// (docs/writing-binder-plugins.md). Source: the Binder document's plugin interface, with Rollback as later
// versions have it.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/field_error.h"
#include "api/serialized.h"  // View::others have bytes
#include "client/decider.h"

namespace berth::binding {

class Plugin;
using Plugins = std::vector<std::unique_ptr<const Plugin>>;

inline constexpr std::size_t kPluginsMax = 64;  // of one registry

// The plugins that a program can run, by name, in the order of their registration.
class PluginRegistry {
 public:
  using Make = std::function<std::unique_ptr<const Plugin>()>;

  // Berth's own: VolumeBinding, DynamicResources, GpuRequests, GpuSharing.
  static PluginRegistry in_tree();

  // `make` returns a plugin of that name. Refuses (Invalid) an empty or known name, and more than
  // kPluginsMax.
  Status add(std::string name, Make make);
  // The plugins of these names, in this order; all of them for no names. Refuses (Invalid) unknown and
  // repeated names.
  Result<Plugins> make(std::span<const std::string> names) const;

 private:
  struct Row {
    std::string name;
    Make make;
  };
  const Row* find(std::string_view name) const;
  std::vector<Row> rows_;
};

// Watches of different kinds are not synchronized: objects that a request names may be seen this much later.
inline constexpr Duration kInformerLagGrace = Duration::seconds(3);

// Attempts of PostBind's writes, one process; then the request is Succeeded with the condition
// PostBindCompleted False.
inline constexpr std::uint32_t kPostBindAttemptsMax = 8;

// Who keeps a shared GPU from others. Ledger: the scheduler's account alone, where no kubelet gives devices
// out. Pods: a reservation pod for each GPU group (gpu_reservation.h).
enum class GpuReservations : std::uint8_t { Ledger, Pods };

struct BinderOptions {
  Duration binding_timeout =
      Duration::seconds(600);  // from allocationTimestamp to all binding conditions True
  // How long a gang's decision waits for its next BindRequest; then none is expected any more.
  Duration gang_timeout = Duration::seconds(15);
  Duration retry_base = Duration::seconds(1);  // before the second attempt, then doubled
  Duration retry_cap = Duration::seconds(60);
  // Types of failure conditions with which a driver asks for another decision: no device is avoided for them.
  std::vector<std::string> benign_failure_conditions = {};
  bool binding_conditions = true;  // DRADeviceBindingConditions and DRAResourceClaimDeviceStatus
  bool nominations = true;         // NominatedNodeNameForExpectation
  bool composite_groups = false;   // CompositePodGroup: decisions about trees of groups
  // From when this process first saw the decision to all its volumes bound.
  Duration volume_timeout = Duration::seconds(600);
  // Of the Leases of schedulers whose terms are fenced (term_fence.h).
  std::string lease_namespace = "kube-system";
  // Of the scheduler in this process, which holds no Lease (term_fence.h); empty: there is none, or it does.
  std::string process = {};
  bool gpu_sharing = false;  // pods may ask for fractions of GPUs (gpu_requests.h)
  GpuReservations gpu_reservations = GpuReservations::Ledger;
  std::string gpu_reservation_image = "registry.k8s.io/pause:3.10";
  // From when this process first saw the decision until the reservation pod reports its device.
  Duration gpu_reservation_timeout = Duration::seconds(40);
  PluginRegistry registry = PluginRegistry::in_tree();
  std::vector<std::string> plugins = {};  // of `registry`, in this order; empty: all
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
  // Everything that the plugin refuses about the pod, at once; empty: nothing. Called when a pod is created
  // or updated (pod_admission.h). Also called in each run before pre_bind(), because annotations change and
  // admission may be off. Keep it cheap for pods that do not concern the plugin.
  virtual api::FieldErrors validate(const api::Pod&, const BinderOptions&) const { return {}; }
  // The document of a pod that is being created, with the plugin's changes; validate() sees the result. Pure,
  // and without effect on its own result: the API server may call a webhook again.
  virtual Json mutate(Json pod, const BinderOptions&) const { return pod; }
  // Objects besides nodes, pods, PodGroups, claims and BindRequests that pre_bind() and rollback() read.
  // `keys` of each names the BindRequests that a change wakes (View::bind_requests_of_pod).
  virtual std::vector<client::Interest> interests() const { return {}; }
  virtual PreBindStep pre_bind(const BindContext&) const { return {{}, Ready{}}; }
  // Writes to the pod immediately before the binding, in one chain with it, each on the version of the one
  // before. rollback() undoes them.
  virtual std::vector<client::Write> before_binding(const BindContext&) const { return {}; }
  // Writes after a successful binding, before the request is Succeeded: in one chain with the binding, or
  // later if that chain broke. They are carried out at least once, by another process after a crash, and
  // never after the request is Succeeded. They repeat only if a process ends or a later write of the chain is
  // not accepted. So a repetition must do no harm, and they name no version of the pod. Not called for a pod
  // that is deleted before they are carried out. Refused writes are given up after kPostBindAttemptsMax.
  virtual std::vector<client::Write> post_bind(const BindContext&) const { return {}; }
  // Writes that release what this request still holds; empty: everything is released.
  virtual std::vector<client::Chain> rollback(const BindContext&) const { return {}; }
};

// The writes of all plugins, in their order.
std::vector<client::Write> before_binding(const Plugins& plugins, const BindContext& context);
std::vector<client::Write> post_bind(const Plugins& plugins, const BindContext& context);

// Runs all plugins in order, up to the first that is not Ready.
PreBindStep pre_bind(const Plugins& plugins, const BindContext& context);
// Nothing is left to write or to wait for before the binding.
bool is_prepared(const Plugins& plugins, const BindContext& context);

// The errors of all plugins, in their order.
api::FieldErrors validate(const Plugins& plugins, const api::Pod& pod, const BinderOptions& options);

}  // namespace berth::binding
