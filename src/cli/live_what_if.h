// Remedies and scores for an explanation, and moves that make domains whole, decided on the objects of a live
// cluster.
#pragma once

#include "cli/server_calls.h"
#include "explain/question.h"
#include "placement/framework.h"

namespace berth::cli {

// Adds what add_what_if() decides, with the configuration that `decisions` serves; where nothing can be
// decided a note says why. Blocks. Cost: every object that a decision reads is read once.
void add_live_what_if(ServerCalls& api, const explain::PageReader& decisions,
                      const explain::Question& question, Time now, const placement::MakePlugins& make,
                      Json& answer);

// What `berth plan --defragment -o json` prints of the cluster, at the configured level, with a "note" where
// the configuration is unknown. {"problem"} where there are no such domains. Blocks. Cost: the same reads,
// and the search.
Result<Json> live_moves(ServerCalls& api, const explain::PageReader& decisions, Time now,
                        const placement::MakePlugins& make);

}  // namespace berth::cli
