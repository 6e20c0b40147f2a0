// Stories: data files with the initial state, the steps and the expectations. Anyone can add one.
//
// Dialect: tests/stories/README.md. Runs on a World: the same deciders as everywhere.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "sim/world.h"

namespace berth::sim {

struct StoryResult {
  std::string name;     // the `story:` line
  std::string failure;  // empty: every expectation was met
};

// Creates every document of a file in the world.
Status give(World& world, const std::string& path);

// The message of the event FailedScheduling about the object that was written last; empty without one.
std::string failed_scheduling_event(World& world, const Json& object);

// Refuses (Invalid) a file that is no story, with file and step. `at_end` gets the world of a successful
// story.
Result<StoryResult> run_story(const std::string& file, const std::string& given_directory,
                              const std::function<void(World&)>& at_end = {});

}  // namespace berth::sim
