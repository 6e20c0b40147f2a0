// Reads the changes of `berth plan --what-if`.
#pragma once

#include <string>
#include <vector>

#include "api/gates.h"
#include "planning/what_if.h"

namespace berth::cli {

struct WhatIfChanges {
  std::vector<planning::Change> changes;
  std::vector<std::string> warnings;  // about the objects that are added
};

// "add=FILE", "remove=KIND/[NS/]NAME", "cordon=NODE", "scale=KIND/NS/NAME:N", "preempt=on|off", in this
// order. Refuses other texts, with what to write instead; reads the files.
Result<WhatIfChanges> what_if_changes(const std::vector<std::string>& texts, const api::Gates& gates,
                                      Time now);

}  // namespace berth::cli
