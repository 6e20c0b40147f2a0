#include "store/object_index.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace berth::store {
namespace {

using Name = std::pair<std::string_view, std::string_view>;  // ns, name

// Table states before the newer events, for the names that those events changed; null without an object.
using Undone = std::map<Name, ObjectPtr>;

Name name_of(const Object& object) {
  return {object.key.ns, object.key.name};
}

// The views point into the events.
Undone undo(const std::vector<WatchEventPtr>& newer) {
  Undone undone;
  for (const WatchEventPtr& event : newer) undone.try_emplace(name_of(*event->object), event->previous);
  return undone;
}

// What an event keeps in memory besides the objects there are: the version before it, and a deleted one's
// last.
std::size_t kept_bytes(const WatchEvent& event) {
  constexpr std::size_t kEventBytes = 256;
  std::size_t bytes = kEventBytes;
  if (event.previous) bytes += event.previous->bytes.size();
  if (event.kind == WatchEvent::Kind::Deleted) bytes += event.object->bytes.size();
  return bytes;
}

template <class Events, class RevisionOf>
auto first_behind(const Events& events, Revision from, RevisionOf revision_of) {
  return std::partition_point(events.begin(), events.end(),
                              [&](const auto& entry) { return revision_of(entry) <= from; });
}

// Iterates over a table with some events undone, in order of names, as over one table.
class Walk {
 public:
  Walk(const CowTable& table, const Undone& undone, const ListQuery& query)
      : table_(table), position_(table.first_not_before(query.ns, {})), end_(table.end()) {
    auto from = undone.lower_bound(Name(query.ns, {}));
    until_ = undone.end();
    if (!query.ns.empty()) {
      end_ = table.first_behind_namespace(query.ns);
      until_ =
          std::find_if(from, undone.end(), [&](const auto& entry) { return entry.first.first != query.ns; });
    }
    if (query.after) {
      position_ = std::max(position_, table.first_behind(query.after->ns, query.after->name));
      const auto behind = undone.upper_bound(Name(query.after->ns, query.after->name));
      while (from != until_ && (behind == undone.end() || from->first < behind->first)) ++from;
    }
    undo_ = from;
  }

  // Null at the end.
  ObjectPtr next() {
    for (;;) {
      const bool in_table = position_ < end_;
      if (undo_ == until_) return in_table ? step() : nullptr;
      if (in_table && name_of(*table_.at(position_)) < undo_->first) return step();
      if (in_table && name_of(*table_.at(position_)) == undo_->first) position_ = table_.next(position_);
      const ObjectPtr& before = (undo_++)->second;
      if (before) return before;
    }
  }

  // The number of objects that next() will still return.
  std::size_t remaining() const {
    if (undo_ == until_) return table_.distance(position_, end_);
    Walk rest(*this);
    std::size_t count = 0;
    while (rest.next()) ++count;
    return count;
  }

 private:
  ObjectPtr step() {
    const ObjectPtr& object = table_.at(position_);
    position_ = table_.next(position_);
    return object;
  }

  const CowTable& table_;
  CowTable::Position position_;
  CowTable::Position end_;
  Undone::const_iterator undo_;
  Undone::const_iterator until_;
};

class StateCursor final : public Cursor {
 public:
  StateCursor(std::shared_ptr<const CowTable> table, std::vector<WatchEventPtr> newer, Revision revision,
              const ListQuery& query)
      : table_(std::move(table)),
        newer_(std::move(newer)),
        revision_(revision),
        undone_(undo(newer_)),
        begin_(*table_, undone_, query),
        walk_(begin_) {}
  ObjectPtr next() override { return walk_->next(); }
  std::size_t remaining() override { return walk_->remaining(); }
  void rewind() override { walk_.emplace(begin_); }
  Revision revision() const override { return revision_; }

 private:
  const std::shared_ptr<const CowTable> table_;
  const std::vector<WatchEventPtr> newer_;  // undone_ points into them
  const Revision revision_;
  const Undone undone_;
  const Walk begin_;
  std::optional<Walk> walk_;
};

}  // namespace

Status ObjectIndex::load(std::vector<ObjectPtr> objects, Revision revision) {
  std::sort(objects.begin(), objects.end(), [](const auto& a, const auto& b) { return a->key < b->key; });
  const auto twin = std::adjacent_find(objects.begin(), objects.end(),
                                       [](const auto& a, const auto& b) { return a->key == b->key; });
  if (twin != objects.end())
    return Error(ErrorCode::Internal,
                 "the store is damaged: it holds two objects named " + (*twin)->key.name);
  std::unique_lock lock(mutex_);
  for (ObjectPtr& object : objects) {
    ResourceIndex& resource_index = resource_indexes_[object->key.resource];
    resource_index.table->put(std::move(object), resource_index.epoch);
  }
  oldest_watchable_ = revision;
  revision_.store(revision, std::memory_order_release);
  return {};
}

const ObjectIndex::ResourceIndex* ObjectIndex::resource_index(std::string_view resource) const {
  const auto found = resource_indexes_.find(resource);
  return found == resource_indexes_.end() ? nullptr : &found->second;
}

CowTable& ObjectIndex::own_table(ResourceIndex& resource_index) {
  if (resource_index.lent.exchange(false, std::memory_order_relaxed)) {
    resource_index.table = std::make_shared<CowTable>(*resource_index.table);
    ++resource_index.epoch;
  }
  return *resource_index.table;
}

ObjectPtr ObjectIndex::current(const Key& key) const {
  const ResourceIndex* found = resource_index(key.resource);
  return found == nullptr ? nullptr : found->table->find(key.ns, key.name);
}

void ObjectIndex::publish(std::span<const WatchEventPtr> events) {
  if (events.empty()) return;
  std::vector<WatchEventPtr> dropped;
  std::unique_lock lock(mutex_);
  for (const WatchEventPtr& event : events) {
    const Object& object = *event->object;
    auto found = resource_indexes_.find(object.key.resource);
    if (found == resource_indexes_.end()) found = resource_indexes_.try_emplace(object.key.resource).first;
    ResourceIndex& resource_index = found->second;
    if (event->kind == WatchEvent::Kind::Deleted) {
      own_table(resource_index).erase(object.key, resource_index.epoch);
    } else {
      CowTable& table = own_table(resource_index);  // before the epoch is read: it may start a new one
      table.put(event->object, resource_index.epoch);
    }
    resource_index.events.push_back(event);
    window_.push_back({event, &resource_index});
    window_bytes_ += kept_bytes(*event);
  }
  dropped = shorten_window(events.front()->object->revision);
  revision_.store(events.back()->object->revision, std::memory_order_release);
}

std::vector<WatchEventPtr> ObjectIndex::shorten_window(Revision newest_commit) {
  std::vector<WatchEventPtr> dropped;
  const auto too_large = [&] {
    if (window_.size() > window_events_max_) return true;
    return window_bytes_ > window_bytes_max_ && window_.front().event->object->revision < newest_commit;
  };
  while (!window_.empty() && too_large()) {
    WindowEvent& oldest = window_.front();
    oldest_watchable_ = oldest.event->object->revision;
    window_bytes_ -= kept_bytes(*oldest.event);
    oldest.resource_index->events.pop_front();
    dropped.push_back(std::move(oldest.event));
    window_.pop_front();
  }
  return dropped;
}

ObjectPtr ObjectIndex::get(const Key& key) const {
  std::shared_lock lock(mutex_);
  return current(key);
}

Revision ObjectIndex::oldest_watchable() const {
  std::shared_lock lock(mutex_);
  return oldest_watchable_;
}

std::size_t ObjectIndex::count(std::string_view resource) const {
  std::shared_lock lock(mutex_);
  if (!resource.empty()) {
    const ResourceIndex* found = resource_index(resource);
    return found == nullptr ? 0 : found->table->size();
  }
  std::size_t total = 0;
  for (const auto& [name, resource_index] : resource_indexes_) total += resource_index.table->size();
  return total;
}

Status ObjectIndex::check_kept(Revision from) const {
  if (from >= oldest_watchable_) return {};
  return Error(ErrorCode::Gone, "too old resource version: " + std::to_string(from) + " (" +
                                    std::to_string(oldest_watchable_) + ")");
}

Result<ObjectIndex::Snapshot> ObjectIndex::snapshot(const ListQuery& query) const {
  std::shared_lock lock(mutex_);
  Snapshot taken;
  taken.revision = query.at.value_or(revision());
  if (taken.revision > revision())
    return Error(ErrorCode::Invalid, "resource version " + std::to_string(taken.revision) +
                                         " lies in the future: the newest is " + std::to_string(revision()));
  TRY(check_kept(taken.revision));
  const ResourceIndex* found = resource_index(query.resource);
  if (found == nullptr) {
    taken.table = std::make_shared<CowTable>();
    return taken;
  }
  found->lent.store(true, std::memory_order_relaxed);
  taken.table = found->table;
  const auto newer = first_behind(found->events, taken.revision,
                                  [](const WatchEventPtr& event) { return event->object->revision; });
  taken.newer.assign(newer, found->events.end());
  return taken;
}

Result<ListPage> ObjectIndex::list(const ListQuery& query) const {
  const Snapshot taken = TRY(snapshot(query));
  const Undone undone = undo(taken.newer);
  Walk walk(*taken.table, undone, query);
  ListPage page;
  page.revision = taken.revision;
  for (ObjectPtr object = walk.next(); object != nullptr; object = walk.next()) {
    if (query.accept && !query.accept(*object)) continue;
    if (query.limit > 0 && page.objects.size() == query.limit) {
      page.more = true;
      page.remaining = query.accept ? 0 : 1 + walk.remaining();
      break;
    }
    page.objects.push_back(std::move(object));
  }
  return page;
}

Result<std::unique_ptr<Cursor>> ObjectIndex::open_cursor(const ListQuery& query) const {
  Snapshot taken = TRY(snapshot(query));
  return std::unique_ptr<Cursor>(
      std::make_unique<StateCursor>(std::move(taken.table), std::move(taken.newer), taken.revision, query));
}

Result<EventPage> ObjectIndex::events_behind(std::string_view resource, Revision from,
                                             std::size_t limit) const {
  std::shared_lock lock(mutex_);
  TRY(check_kept(from));
  EventPage page;
  const auto take = [&](auto kept, auto end, auto event_of) {
    for (; kept != end && page.events.size() < limit; ++kept) page.events.push_back(event_of(*kept));
    page.more = kept != end;
  };
  if (resource.empty()) {
    const auto event_of = [](const WindowEvent& kept) { return kept.event; };
    take(first_behind(window_, from, [](const WindowEvent& kept) { return kept.event->object->revision; }),
         window_.end(), event_of);
  } else if (const ResourceIndex* found = resource_index(resource)) {
    const auto event_of = [](const WatchEventPtr& event) { return event; };
    take(
        first_behind(found->events, from, [](const WatchEventPtr& event) { return event->object->revision; }),
        found->events.end(), event_of);
  }
  page.through = page.more ? page.events.back()->object->revision : revision();
  return page;
}

}  // namespace berth::store
