// What benchmarks of decisions share: a cluster from objects, and the core that decides about it.
#pragma once

#include <functional>
#include <string>

#include "dra/cel_selectors.h"
#include "placement/decision_core.h"
#include "placement/groups/group_members.h"
#include "watched_objects.h"

namespace berth::placement {

class DecisionBench {
 protected:
  // As put_object() reads it.
  void put(api::Kind kind, const std::string& meta, const std::string& rest) {
    cluster_.apply(put_object(view_, version_, kind, meta, rest));
  }
  SchedulingContext context() { return {view_, cluster_, core_.allocator()}; }
  // No decision is being written.
  static GroupQuestions questions(std::function<bool(const api::Pod&)> ours) {
    return {std::move(ours), [](const std::string&) { return false; },
            [](const std::string&) { return false; }};
  }
  static bool every_pod(const api::Pod&) { return true; }
  GroupInput group(const std::string& ns, const std::string& name,
                   const std::function<bool(const api::Pod&)>& ours = every_pod) const {
    return group_input(*view_.pod_groups.find(ns, name),
                       group_members(view_, cluster_, questions(ours), ns, name),
                       [](const api::Pod&) { return AvoidSet{}; });
  }

  client::View view_;
  dra::CelSelectors selectors_;
  model::Cluster cluster_;
  DecisionCore core_{cluster_, selectors_, {}};

 private:
  int version_ = 0;
};

}  // namespace berth::placement
