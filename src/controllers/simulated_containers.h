// What the text of a pod says its containers do: a simulated node has no container runtime.
//
// Pure functions, any thread. docs/workloads.md#containers-that-end is the page for people.
#pragma once

#include <optional>
#include <string_view>

#include "api/types/pod.h"

namespace berth::controllers {

// How the containers of a pod end, after they have run for this long.
struct ContainersEnd {
  Duration after;
  std::int64_t exit_code = 0;
};

// By the annotations; else by the commands of a pod that does not restart its containers for ever. Known are
// words such as `sleep 5`, `exit 3`, `true` and `echo`, alone or in one line of a shell. Nothing: they run
// for ever, as they do after any other word. Cost: a parse where a container has a command.
std::optional<ContainersEnd> end_of_containers(const api::Pod& pod);

// Images of registries below `invalid`, and with a tag that says that there is none, such as `missing`.
bool is_missing_image(std::string_view image);

}  // namespace berth::controllers
