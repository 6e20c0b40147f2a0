// Reads the manifests of a command, and reports on standard error what was left out or looks wrong.
#pragma once

#include <string>
#include <vector>

#include "cli/plan_input.h"

namespace berth::cli {

// Files and folders as of manifest_files(). `now` is the time for the rules. Cost: reading the files.
Result<std::vector<planning::Document>> told_documents(const std::vector<std::string>& files,
                                                       FolderDepth depth, const api::Gates& gates, Time now);

}  // namespace berth::cli
