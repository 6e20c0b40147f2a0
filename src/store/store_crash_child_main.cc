// Writes to a store under load until it is killed, and prints its acknowledgements: the child of
// crash_test.cc.
//
// Usage: store-crash-child DIRECTORY RUN DESCRIPTOR. One unbuffered line to that open descriptor for each
// fact: "open REVISION", "deleting NAME" before a delete is submitted, "created|updated|deleted NAME
// REVISION" for each acknowledgement.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "store/store.h"

namespace berth::store {
namespace {

constexpr std::int64_t kInFlightMax = 64;
constexpr std::int64_t kUpdateEvery = 3;
constexpr std::int64_t kDeleteEvery = 5;
constexpr std::int64_t kLifeObjects = 40;  // an object is deleted after this many further creates
constexpr std::size_t kContentBytes = 1'500;
constexpr std::size_t kLogBytesMax = 1024 * 1024;
constexpr std::int64_t kObjectsMax = 1'000'000;  // killed long before

// Lines are shorter than a pipe's atomic write.
void say(int descriptor, const std::string& line) {
  if (::write(descriptor, (line + "\n").data(), line.size() + 1) < 0) std::_Exit(1);
}

class Child {
 public:
  Child(Store& store, std::string run, int descriptor)
      : store_(store), run_(std::move(run)), descriptor_(descriptor) {}

  void work() {
    for (std::int64_t i = 0; i < kObjectsMax; ++i) {
      submit(WriteRequest::Kind::Create, i);
      if (i % kUpdateEvery == 0) submit(WriteRequest::Kind::Update, i);
      if (i % kDeleteEvery == 0 && i >= kLifeObjects) submit(WriteRequest::Kind::Delete, i - kLifeObjects);
    }
  }

 private:
  void submit(WriteRequest::Kind kind, std::int64_t number) {
    while (in_flight_.load() >= kInFlightMax) std::this_thread::yield();
    ++in_flight_;
    const std::string name = "r" + run_ + "-" + std::to_string(number);
    if (kind == WriteRequest::Kind::Delete) say(descriptor_, "deleting " + name);
    const char* const fact = kind == WriteRequest::Kind::Create   ? "created "
                             : kind == WriteRequest::Kind::Update ? "updated "
                                                                  : "deleted ";
    WriteRequest write{.kind = kind, .key = {"pods", "crash", name}, .uid = "u"};
    write.draft = {std::string(kContentBytes, 'c') + "@", ""};
    store_.submit(std::move(write), [this, fact, name](const WriteResult& result) {
      if (!result.ok()) std::_Exit(2);
      say(descriptor_, fact + name + " " + std::to_string((*result)->revision));
      --in_flight_;
    });
  }

  Store& store_;
  std::string run_;
  int descriptor_;
  std::atomic<std::int64_t> in_flight_ = 0;
};

int run(const std::string& directory, const std::string& run, int descriptor) {
  auto store =
      open_store({.directory = directory, .watch_window_events = 1'000, .log_bytes_max = kLogBytesMax});
  if (!store.ok()) {
    std::fprintf(stderr, "%s\n", store.error().text().c_str());
    return 3;
  }
  say(descriptor, "open " + std::to_string((*store)->revision()));
  Child(**store, run, descriptor).work();
  return 0;
}

}  // namespace
}  // namespace berth::store

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: store-crash-child DIRECTORY RUN DESCRIPTOR\n");
    return 64;
  }
  return berth::store::run(argv[1], argv[2], std::atoi(argv[3]));
}
