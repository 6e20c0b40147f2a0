#include "store/commit_builder.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <charconv>
#include <utility>

namespace berth::store {
namespace {

constexpr std::size_t kRevisionDigitsMax = 20;

struct KeyHash {
  std::size_t operator()(const Key* key) const {
    const std::hash<std::string_view> hash;
    return (hash(key->name) * 31 + hash(key->ns)) * 31 + hash(key->resource);
  }
};
struct KeyEqual {
  bool operator()(const Key* a, const Key* b) const { return *a == *b; }
};

std::string text_of(const Key& key) {
  return key.resource + " " + (key.ns.empty() ? key.name : key.ns + "/" + key.name);
}

Error refusal(ErrorCode code, const Key& key, const std::string& reason) {
  return Error(code, text_of(key) + " " + reason);
}

Status check(const WriteRequest& write, const Object* current) {
  if (const std::size_t bytes = write.draft.head.size() + write.draft.tail.size(); bytes > kObjectBytesMax)
    return refusal(ErrorCode::TooLarge, write.key,
                   "has " + std::to_string(bytes) + " bytes; the most is " + std::to_string(kObjectBytesMax));
  if (write.kind == WriteRequest::Kind::Create)
    return current == nullptr ? Status() : refusal(ErrorCode::Exists, write.key, "exists already");
  if (current == nullptr) return refusal(ErrorCode::NotFound, write.key, "does not exist");
  if (write.expected != 0 && write.expected != current->revision)
    return refusal(ErrorCode::Conflict, write.key,
                   "has changed: revision " + std::to_string(write.expected) + " was read, " +
                       std::to_string(current->revision) + " is stored");
  return {};
}

std::string bytes_of(Draft draft, Revision revision) {
  char digits[kRevisionDigitsMax];
  const auto end = std::to_chars(digits, digits + kRevisionDigitsMax, revision).ptr;
  std::string bytes = std::move(draft.head);
  bytes.reserve(bytes.size() + static_cast<std::size_t>(end - digits) + draft.tail.size());
  return bytes.append(digits, end).append(draft.tail);
}

constexpr WatchEvent::Kind event_of(WriteRequest::Kind kind) {
  return kind == WriteRequest::Kind::Create   ? WatchEvent::Kind::Added
         : kind == WriteRequest::Kind::Update ? WatchEvent::Kind::Modified
                                              : WatchEvent::Kind::Deleted;
}

}  // namespace

// The keys changed since begin(); null means deleted. The keys are those of the events.
struct CommitBuilder::Overlay {
  boost::unordered_flat_map<const Key*, ObjectPtr, KeyHash, KeyEqual> changed;
};

CommitBuilder::CommitBuilder(const ObjectIndex& index)
    : index_(index), overlay_(std::make_unique<Overlay>()) {}
CommitBuilder::~CommitBuilder() = default;

void CommitBuilder::begin() {
  overlay_->changed.clear();
  events_.clear();
  next_ = index_.revision() + 1;
}

ObjectPtr CommitBuilder::current(const Key& key) const {
  if (!overlay_->changed.empty()) {
    const auto found = overlay_->changed.find(&key);
    if (found != overlay_->changed.end()) return found->second;
  }
  return index_.current(key);
}

WriteResult CommitBuilder::add(WriteRequest write) {
  ObjectPtr previous = current(write.key);
  TRY(check(write, previous.get()));
  auto object = std::make_shared<Object>();
  object->revision = next_;
  object->created = next_;
  object->uid = std::move(write.uid);
  if (previous) {
    object->created = previous->created;
    object->uid = previous->uid;
  }
  object->key = std::move(write.key);
  object->bytes = bytes_of(std::move(write.draft), next_);
  ++next_;
  const WatchEvent::Kind kind = event_of(write.kind);
  overlay_->changed.insert_or_assign(&object->key, kind == WatchEvent::Kind::Deleted ? nullptr : object);
  events_.push_back(std::make_shared<const WatchEvent>(WatchEvent{kind, object, std::move(previous)}));
  return ObjectPtr(std::move(object));
}

}  // namespace berth::store
