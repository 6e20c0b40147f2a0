// What every plugin has: its name, and what a pod that it refused waits for.
//
// Source: kube-scheduler's EventsToRegister and QueueingHintFn.
#pragma once

#include <string_view>

#include "placement/pod_query.h"
#include "placement/queueing_hints.h"

namespace berth::placement {

struct FitError;

class Plugin {
 public:
  virtual ~Plugin() = default;
  // kube-scheduler's name of the plugin; static lifetime.
  virtual std::string_view name() const = 0;
  // After which events a pod that it refused is tried again.
  virtual QueueingHint events_to_register() const { return {}; }
  // What brings a node closer to taking the pod, whichever plugin refused it. For a pod that may have others
  // evicted, and for members of groups. Named only for a pod that events_to_register() concerns; may name
  // changes more closely.
  virtual void add_interests(const SchedulingContext&, const api::Pod&, PodHints& hints) const;
  // The same for the pod of the query, which it refused on some nodes: often still more closely.
  virtual void add_hints(const PodQuery& query, const FitError& refusal, PodHints& hints) const;
  // The facts of its own that a change brings, of those that it names above. Plugins of one type and name
  // bring the same: one of them is asked, whatever its arguments.
  virtual void add_facts(const ClusterChange&, ChangeFacts&) const {}
};

}  // namespace berth::placement
