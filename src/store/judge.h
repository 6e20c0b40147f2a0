// A store that can be verified by reading: a vector of every version ever written. For tests; slow on
// purpose.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "store/store.h"

namespace berth::store {

class Judge {
 public:
  struct Version {
    WatchEvent::Kind kind = WatchEvent::Kind::Added;
    Object object;
  };

  // The version that a write creates, or the code of its refusal.
  struct Expected {
    std::optional<Object> made;
    ErrorCode refused = ErrorCode::Internal;
  };

  Expected write(const WriteRequest& write) {
    const std::optional<Object> current = at(write.key, revision());
    if (write.draft.head.size() + write.draft.tail.size() > kObjectBytesMax)
      return {.refused = ErrorCode::TooLarge};
    if (write.kind == WriteRequest::Kind::Create && current) return {.refused = ErrorCode::Exists};
    if (write.kind != WriteRequest::Kind::Create && !current) return {.refused = ErrorCode::NotFound};
    if (write.kind != WriteRequest::Kind::Create && write.expected != 0 &&
        write.expected != current->revision)
      return {.refused = ErrorCode::Conflict};
    Object made;
    made.key = write.key;
    made.revision = revision() + 1;
    made.uid = current ? current->uid : write.uid;
    made.created = current ? current->created : made.revision;
    made.bytes = write.draft.head + std::to_string(made.revision) + write.draft.tail;
    const WatchEvent::Kind kind = write.kind == WriteRequest::Kind::Create   ? WatchEvent::Kind::Added
                                  : write.kind == WriteRequest::Kind::Update ? WatchEvent::Kind::Modified
                                                                             : WatchEvent::Kind::Deleted;
    versions_.push_back({kind, made});
    return {.made = made};
  }

  Revision revision() const { return versions_.empty() ? 0 : versions_.back().object.revision; }

  std::optional<Object> at(const Key& key, Revision revision) const {
    std::optional<Object> found;
    for (const Version& version : versions_) {
      if (version.object.revision > revision || version.object.key != key) continue;
      found.reset();
      if (version.kind != WatchEvent::Kind::Deleted) found = version.object;
    }
    return found;
  }

  // Every object at `revision`, by key.
  std::vector<Object> state(Revision revision) const {
    std::map<Key, Object> state;
    for (const Version& version : versions_) {
      if (version.object.revision > revision) break;
      if (version.kind == WatchEvent::Kind::Deleted) {
        state.erase(version.object.key);
      } else {
        state.insert_or_assign(version.object.key, version.object);
      }
    }
    std::vector<Object> objects;
    objects.reserve(state.size());
    for (auto& [key, object] : state) objects.push_back(std::move(object));
    return objects;
  }

  // Like Store::list, without its window.
  ListPage list(const ListQuery& query) const {
    ListPage page;
    page.revision = query.at.value_or(revision());
    for (Object& object : state(page.revision)) {
      const Key& key = object.key;
      if (key.resource != query.resource || (!query.ns.empty() && key.ns != query.ns)) continue;
      if (query.after && std::tie(key.ns, key.name) <= std::tie(query.after->ns, query.after->name)) continue;
      if (query.accept && !query.accept(object)) continue;
      if (query.limit > 0 && page.objects.size() == query.limit) {
        page.more = true;
        if (!query.accept) ++page.remaining;
        continue;
      }
      page.objects.push_back(std::make_shared<const Object>(std::move(object)));
    }
    return page;
  }

  // The events of a watch of `resource` (empty: all) after `from`.
  std::vector<Version> events_behind(const std::string& resource, Revision from) const {
    std::vector<Version> events;
    for (const Version& version : versions_) {
      if (version.object.revision <= from) continue;
      if (resource.empty() || version.object.key.resource == resource) events.push_back(version);
    }
    return events;
  }

  // Removes everything after `revision`.
  void forget_behind(Revision revision) {
    std::erase_if(versions_, [&](const Version& version) { return version.object.revision > revision; });
  }

 private:
  std::vector<Version> versions_;  // by revision
};

inline bool same(const Object& a, const Object& b) {
  return a.key == b.key && a.uid == b.uid && a.created == b.created && a.revision == b.revision &&
         a.bytes == b.bytes;
}

}  // namespace berth::store
