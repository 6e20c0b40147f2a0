// What the text of a pod says its containers do: a simulated node has no container runtime.
//
// Pure functions, any thread. docs/workloads.md#containers-that-end is the page for people.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "api/types/pod.h"

namespace berth::controllers {

// How the containers of a pod end, after they have run for this long.
struct ContainersEnd {
  Duration after;
  std::int64_t exit_code = 0;
  bool restarts = false;  // by a restartPolicy or its rules, they begin again
};

// By the annotations, which end the pod whatever its restartPolicy; else by the commands
// (simulated_shell.h), and at once where the image has only a shell. Those of a Job that say nothing succeed
// after `job_duration`, if it is not zero. Nothing: they run for ever. Cost: a parse where a
// container has a command.
std::optional<ContainersEnd> end_of_containers(const api::Pod& pod, Duration job_duration = {});

// Of each init container, by its command; one that does not say how it ends succeeds at once. Sidecars do not
// end, and their places mean nothing. Cost: a parse where any container has a command.
std::vector<ContainersEnd> ends_of_init_containers(const api::Pod& pod);

// Images of registries below `invalid`, of the node itself (`localhost/app`), and with a tag that says that
// there is none, such as `missing`.
bool is_missing_image(std::string_view image);

}  // namespace berth::controllers
