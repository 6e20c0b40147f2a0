#include "base/heap_growth.h"

#include <cstddef>
#include <cstdlib>

namespace berth {
namespace {

// A larger block would be mapped by itself, and more that is free would be given back: from 128 KiB on.
constexpr std::size_t kHeapGrowthBytes = 96 * 1024;

}  // namespace

void grow_heap() {
  void* volatile block = std::malloc(kHeapGrowthBytes);  // volatile: else it is left out as unused
  std::free(block);
}

}  // namespace berth
