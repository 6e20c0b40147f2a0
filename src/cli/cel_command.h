// `berth cel`: CEL expressions, one JSON line in, one out, in the same order, flushed per line.
#pragma once

namespace berth::cli {

// Standard input to standard output. 1 when a line was no request or an expression failed to compile or run;
// else 0.
int run_cel();

}  // namespace berth::cli
