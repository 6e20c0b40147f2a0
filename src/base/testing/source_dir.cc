#include "base/testing/source_dir.h"

namespace berth {

std::string source_path(std::string_view relative) {
  return std::string(BERTH_SOURCE_DIR "/") + std::string(relative);
}

}  // namespace berth
