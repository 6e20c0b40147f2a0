#include "store/cow_table.h"

#include <algorithm>

namespace berth::store {
namespace {

constexpr std::size_t kChunkObjectsMax = 64;

// Negative, zero or positive: the position of the object relative to (ns, name).
int order(const Object& object, std::string_view ns, std::string_view name) {
  const int by_namespace = std::string_view(object.key.ns).compare(ns);
  return by_namespace != 0 ? by_namespace : std::string_view(object.key.name).compare(name);
}

}  // namespace

template <class Before>
CowTable::Position CowTable::first_where_not(Before before) const {
  const auto chunk = std::partition_point(chunks_.begin(), chunks_.end(), [&](const auto& candidate) {
    return before(*candidate->objects.back());
  });
  if (chunk == chunks_.end()) return end();
  const auto& objects = (*chunk)->objects;
  const auto object = std::partition_point(objects.begin(), objects.end(),
                                           [&](const ObjectPtr& candidate) { return before(*candidate); });
  return {static_cast<std::size_t>(chunk - chunks_.begin()),
          static_cast<std::size_t>(object - objects.begin())};
}

CowTable::Position CowTable::first_not_before(std::string_view ns, std::string_view name) const {
  return first_where_not([&](const Object& object) { return order(object, ns, name) < 0; });
}

CowTable::Position CowTable::first_behind(std::string_view ns, std::string_view name) const {
  return first_where_not([&](const Object& object) { return order(object, ns, name) <= 0; });
}

CowTable::Position CowTable::first_behind_namespace(std::string_view ns) const {
  return first_where_not([&](const Object& object) { return object.key.ns <= ns; });
}

ObjectPtr CowTable::find(std::string_view ns, std::string_view name) const {
  const Position position = first_not_before(ns, name);
  if (position == end() || order(*at(position), ns, name) != 0) return nullptr;
  return at(position);
}

CowTable::Position CowTable::next(Position position) const {
  if (position.index + 1 < chunks_[position.chunk]->objects.size())
    return {position.chunk, position.index + 1};
  return {position.chunk + 1, 0};
}

std::size_t CowTable::distance(Position from, Position to) const {
  if (to <= from) return 0;
  std::size_t count = to.index;
  for (std::size_t chunk = from.chunk; chunk < to.chunk; ++chunk) count += chunks_[chunk]->objects.size();
  return count - from.index;
}

CowTable::Chunk& CowTable::own_chunk(std::size_t index, std::uint64_t epoch) {
  std::shared_ptr<Chunk>& chunk = chunks_[index];
  if (chunk->epoch < epoch) chunk = std::make_shared<Chunk>(Chunk{epoch, chunk->objects});
  return *chunk;
}

void CowTable::put(ObjectPtr object, std::uint64_t epoch) {
  Position position = first_not_before(object->key.ns, object->key.name);
  if (chunks_.empty()) chunks_.push_back(std::make_shared<Chunk>(Chunk{epoch, {}}));
  if (position.chunk == chunks_.size() || chunks_[position.chunk]->objects.empty())
    position = {chunks_.size() - 1, chunks_.back()->objects.size()};
  std::vector<ObjectPtr>& objects = own_chunk(position.chunk, epoch).objects;
  const auto place = objects.begin() + static_cast<std::ptrdiff_t>(position.index);
  if (place != objects.end() && order(**place, object->key.ns, object->key.name) == 0) {
    *place = std::move(object);
    return;
  }
  const bool appended = place == objects.end();
  objects.insert(place, std::move(object));
  ++size_;
  if (objects.size() <= kChunkObjectsMax) return;
  // Names often arrive in ascending order; then the left chunk stays full.
  const auto keep = static_cast<std::ptrdiff_t>(appended ? kChunkObjectsMax : objects.size() / 2);
  auto right = std::make_shared<Chunk>(Chunk{epoch, {}});
  right->objects.reserve(kChunkObjectsMax + 1);
  right->objects.assign(std::make_move_iterator(objects.begin() + keep),
                        std::make_move_iterator(objects.end()));
  objects.resize(static_cast<std::size_t>(keep));
  chunks_.insert(chunks_.begin() + static_cast<std::ptrdiff_t>(position.chunk) + 1, std::move(right));
}

void CowTable::erase(const Key& key, std::uint64_t epoch) {
  const Position position = first_not_before(key.ns, key.name);
  BERTH_ASSERT(position != end() && order(*at(position), key.ns, key.name) == 0,
               "only present objects are erased");
  std::vector<ObjectPtr>& objects = own_chunk(position.chunk, epoch).objects;
  objects.erase(objects.begin() + static_cast<std::ptrdiff_t>(position.index));
  if (objects.empty()) chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(position.chunk));
  --size_;
}

}  // namespace berth::store
