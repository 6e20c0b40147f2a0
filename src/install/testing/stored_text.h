// Files of the tree that this room generates: compared, or with BERTH_WRITE set written.
#pragma once

#include <string>

namespace berth::install {

// Fails the test when the file, named from the root of the tree, differs from `text`.
void expect_stored(const std::string& file, const std::string& text);

}  // namespace berth::install
