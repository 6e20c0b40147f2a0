// The location of the sources, for tests that read recorded data, stories and documents.
#pragma once

#include <string>
#include <string_view>

namespace berth {

// "/…/src/cel/testdata/x.jsonl" of "src/cel/testdata/x.jsonl".
std::string source_path(std::string_view relative);

}  // namespace berth
