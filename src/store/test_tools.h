// Shared tools of the store's tests: short constructors of writes, a sink that records, a temporary
// directory.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <stdlib.h>

#include <filesystem>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "store/judge.h"
#include "store/store.h"

namespace berth::store {

inline Key pod(std::string name, std::string ns = "default") {
  return {"pods", std::move(ns), std::move(name)};
}

inline WriteRequest create(Key key, std::string content = "x") {
  std::string uid = "uid-of-" + key.name;
  return {.kind = WriteRequest::Kind::Create,
          .key = std::move(key),
          .uid = std::move(uid),
          .draft = {content + "@", ";"}};
}
inline WriteRequest update(Key key, Revision expected = 0, std::string content = "y") {
  return {.kind = WriteRequest::Kind::Update,
          .key = std::move(key),
          .expected = expected,
          .draft = {content + "@", ";"}};
}
inline WriteRequest remove(Key key, Revision expected = 0) {
  return {.kind = WriteRequest::Kind::Delete,
          .key = std::move(key),
          .expected = expected,
          .draft = {"gone@", ";"}};
}

// Records every call; checks that revisions only rise.
class RememberingSink final : public WatchSink {
 public:
  void on_events(std::span<const WatchEventPtr> events, Revision progress) override {
    std::lock_guard lock(mutex_);
    for (const WatchEventPtr& event : events) {
      EXPECT_GT(event->object->revision, newest_) << "an event came twice or late";
      newest_ = event->object->revision;
      events_.push_back(event);
    }
    EXPECT_LE(newest_, progress) << "progress does not cover the events";
    EXPECT_GE(progress, progress_) << "progress moved backwards";
    progress_ = progress;
  }
  std::vector<WatchEventPtr> events() const {
    std::lock_guard lock(mutex_);
    return events_;
  }
  Revision progress() const {
    std::lock_guard lock(mutex_);
    return progress_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<WatchEventPtr> events_;
  Revision newest_ = 0;
  Revision progress_ = 0;
};

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "berth-store-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// On a database that nobody has open.
inline void run_sql(const std::string& path, const char* statements) {
  sqlite3* connection = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &connection), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(connection, statements, nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(connection);
  sqlite3_close(connection);
}

// The first difference between the store's contents and the judge's state at its revision; empty when equal.
inline std::string difference(const Store& store, const Judge& judge,
                              const std::vector<std::string>& resources) {
  std::vector<ObjectPtr> held;
  for (const std::string& resource : resources) {
    const Result<ListPage> page = store.list({.resource = resource});
    if (!page.ok()) return page.error().text();
    held.insert(held.end(), page->objects.begin(), page->objects.end());
  }
  std::sort(held.begin(), held.end(), [](const auto& a, const auto& b) { return a->key < b->key; });
  const std::vector<Object> expected = judge.state(store.revision());
  if (held.size() != expected.size() || store.count("") != expected.size())
    return std::to_string(held.size()) + " objects, not " + std::to_string(expected.size());
  for (std::size_t i = 0; i < held.size(); ++i) {
    if (!same(*held[i], expected[i])) return held[i]->bytes + " instead of " + expected[i].bytes;
  }
  return "";
}

}  // namespace berth::store
