// Stored objects as values of a type, each version read once.
//
// Value::read(document) makes one. Owner: who has the lock. Cost of read(): O(objects), a pointer each, and a
// parse of those that have changed since the last one.
#pragma once

#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "server/registry.h"

namespace berth::server {

template <class Value>
class ReadObjects {
 public:
  // Of the newest state, by ns and name. Objects that do not parse are left out.
  std::vector<std::shared_ptr<const Value>> read(const Registry& registry, std::string_view resource) {
    std::vector<std::shared_ptr<const Value>> values;
    Known before = std::exchange(known_, {});
    for (const store::ObjectPtr& object : registry.stored(resource)) {
      const auto found = before.find(object->key);
      std::shared_ptr<const Value> value;
      if (found != before.end() && found->second.first == object->revision)
        value = found->second.second;
      else if (const Result<Json> document = registry.document_of(*object))
        value = std::make_shared<const Value>(Value::read(*document));
      if (!value) continue;
      known_.emplace(object->key, std::pair(object->revision, value));
      values.push_back(std::move(value));
    }
    return values;
  }

 private:
  using Known = std::map<store::Key, std::pair<store::Revision, std::shared_ptr<const Value>>>;
  Known known_;
};

}  // namespace berth::server
