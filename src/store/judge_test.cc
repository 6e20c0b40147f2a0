// The store equals its judge on random histories: writes, pages, old lists, watches from anywhere, reopening.
#include <gtest/gtest.h>
// gtest must come first: rapidcheck's macros need it.
#include <rapidcheck/gtest.h>

#include "store/simulated_disk.h"
#include "store/test_tools.h"

namespace berth::store {
namespace {

constexpr std::size_t kJudgedWindowEvents = 40;
constexpr int kStepsMax = 120;
const std::vector<std::string> kJudgedResources = {"pods", "nodes", "resourceclaims.resource.k8s.io"};

int any(int below) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, below));
}

Key random_key() {
  return {kJudgedResources[static_cast<std::size_t>(any(3))], std::string(1, static_cast<char>('m' + any(3))),
          "n" + std::to_string(any(150))};
}

WriteRequest random_write(const Judge& judge) {
  Key key = random_key();
  const std::optional<Object> current = judge.at(key, judge.revision());
  Revision expected = any(3) == 0 ? 0 : static_cast<Revision>(any(60));
  if (current && any(4) != 0) expected = current->revision;
  std::string content = "c" + std::to_string(any(1'000));
  if (!current && any(8) != 0) return create(std::move(key), std::move(content));
  if (any(3) == 0) return remove(std::move(key), expected);
  if (any(10) == 0) return create(std::move(key), std::move(content));
  return update(std::move(key), expected, std::move(content));
}

void check_write(Store& store, Judge& judge) {
  WriteRequest write = random_write(judge);
  const Judge::Expected verdict = judge.write(write);
  const WriteResult result = store.write(std::move(write));
  RC_ASSERT(result.ok() == verdict.made.has_value());
  if (result.ok()) {
    RC_ASSERT(same(**result, *verdict.made));
  } else {
    RC_ASSERT(result.error().code() == verdict.refused);
  }
}

void check_list(const Store& store, const Judge& judge) {
  ListQuery query{.resource = kJudgedResources[static_cast<std::size_t>(any(3))]};
  if (any(2) == 0) query.ns = std::string(1, static_cast<char>('l' + any(5)));
  if (any(2) == 0) query.at = static_cast<Revision>(any(static_cast<int>(store.revision()) + 3));
  if (any(3) == 0) query.after = random_key();
  if (any(2) == 0) query.limit = static_cast<std::size_t>(any(9));
  if (any(4) == 0) query.accept = [](const Object& object) { return object.revision % 3 != 0; };
  const Result<ListPage> page = store.list(query);
  const Revision at = query.at.value_or(store.revision());
  if (at > store.revision()) {
    RC_ASSERT(!page.ok() && page.error().code() == ErrorCode::Invalid);
    return;
  }
  if (at < store.oldest_watchable()) {
    RC_ASSERT(!page.ok() && page.error().code() == ErrorCode::Gone);
    return;
  }
  const ListPage expected = judge.list(query);
  RC_ASSERT(page.ok());
  RC_ASSERT(page->revision == expected.revision);
  RC_ASSERT(page->more == expected.more);
  RC_ASSERT(page->remaining == expected.remaining);
  RC_ASSERT(page->objects.size() == expected.objects.size());
  for (std::size_t i = 0; i < expected.objects.size(); ++i)
    RC_ASSERT(same(*page->objects[i], *expected.objects[i]));
}

// Watches from `from` and compares the past events with the judge.
void check_watch(Store& store, const Judge& judge) {
  const std::string resource = any(4) == 0 ? "" : kJudgedResources[static_cast<std::size_t>(any(3))];
  const Revision from = static_cast<Revision>(any(static_cast<int>(store.revision()) + 1));
  RememberingSink sink;
  const auto handle = store.watch(resource, from, sink);
  if (from < store.oldest_watchable()) {
    RC_ASSERT(!handle.ok() && handle.error().code() == ErrorCode::Gone);
    return;
  }
  RC_ASSERT(handle.ok());
  const std::vector<Judge::Version> expected = judge.events_behind(resource, from);
  const std::vector<WatchEventPtr> events = sink.events();
  RC_ASSERT(events.size() == expected.size());
  RC_ASSERT(sink.progress() == store.revision());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    RC_ASSERT(events[i]->kind == expected[i].kind);
    RC_ASSERT(same(*events[i]->object, expected[i].object));
    const std::optional<Object> before = judge.at(events[i]->object->key, events[i]->object->revision - 1);
    RC_ASSERT((events[i]->previous != nullptr) == before.has_value());
    if (before) RC_ASSERT(same(*events[i]->previous, *before));
  }
}

RC_GTEST_PROP(StoreJudge, EqualsTheStore, ()) {
  SimulatedDisk disk(static_cast<std::uint64_t>(any(1'000'000)));
  const StoreOptions options{.directory = any(4) == 0 ? "store" : "",
                             .watch_window_events = kJudgedWindowEvents,
                             .synchronous = true};
  std::unique_ptr<Store> store = open_store(options, &disk).value();
  Judge judge;
  RememberingSink follower;  // of everything, across all reopenings
  auto following = store->watch("", 0, follower).value();
  for (int step = any(kStepsMax); step > 0; --step) {
    const int what = any(12);
    if (what < 8) {
      // Chunks split only with many objects: some histories need many.
      for (int writes = 1 + any(8); writes > 0; --writes) check_write(*store, judge);
    } else if (what < 10) {
      check_list(*store, judge);
    } else if (what < 11 || options.directory.empty()) {
      check_watch(*store, judge);
    } else {
      following.reset();
      store.reset();
      store = open_store(options, &disk).value();
      RC_ASSERT(store->oldest_watchable() == store->revision());
      following = store->watch("", store->revision(), follower).value();
    }
    RC_ASSERT(store->revision() == judge.revision());
    RC_ASSERT(difference(*store, judge, kJudgedResources) == "");
  }
  RC_ASSERT(follower.events().size() == judge.revision());
}

}  // namespace
}  // namespace berth::store
