// Labels of RFC 1035: names of resources and of versions.
//
// Pure, any thread. Source: IsDNS1035Label of apimachinery 1.37.
#pragma once

#include <string_view>

#include "api/names.h"

namespace berth::crd {

api::NameProblems label_problems(std::string_view text);

}  // namespace berth::crd
