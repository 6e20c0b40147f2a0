// What a command says about objects of kinds that Berth does not serve.
#pragma once

#include <vector>

#include "cli/manifests.h"

namespace berth::cli {

// One warning a kind on standard error. Kinds whose definition is in the input are known to be custom: they
// are only counted.
void tell_unserved(const std::vector<UnservedKind>& unserved);

}  // namespace berth::cli
