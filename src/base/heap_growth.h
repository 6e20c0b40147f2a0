// Memory for many small objects that a thread is about to make and keep.
#pragma once

namespace berth {

// The heap of the calling thread has 96 KiB in one piece afterwards. In glibc the heap of a thread that is
// not the first one otherwise grows by one page and one mprotect at a time: one for each decoded pod. Nothing
// is reserved where allocators differ. Cost: an allocation that is freed at once.
void grow_heap();

}  // namespace berth
