// Objects that select nodes by labels, found by one label that each of their nodes has.
//
// Pointers to objects of others. Cost: add O(log n), first O(keys + objects of the node's labels). Where many
// nodes have an object each, a node does not read those of all others.
#pragma once

#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "api/selectors.h"
#include "api/types/meta.h"

namespace berth::client {

template <class Object>
class NodeLabelIndex {
 public:
  // Nodes are selected by whatever else, too; none of the two: by that alone.
  void add(const Object* object) { push(anywhere_, object); }
  void add(const Object* object, std::string_view key, const std::vector<std::string>& values) {
    for (const std::string& value : values) push(by_label_[key][value], object);
  }

  // The first one, in the order of the calls, that may select a node with these labels and is accepted.
  template <class Accept>
  const Object* first(const api::StringMap& labels, Accept accept) const {
    std::vector<std::pair<const Entry*, const Entry*>> lists{{anywhere_.data(), end_of(anywhere_)}};
    for (const auto& [key, by_value] : by_label_) {
      const auto label = labels.find(key);
      if (label == labels.end()) continue;
      if (const auto found = by_value.find(label->second); found != by_value.end())
        lists.emplace_back(found->second.data(), end_of(found->second));
    }
    while (true) {
      std::pair<const Entry*, const Entry*>* next = nullptr;
      for (auto& list : lists)
        if (list.first != list.second && (!next || list.first->order < next->first->order)) next = &list;
      if (!next) return nullptr;
      if (const Object* object = (next->first++)->object; accept(*object)) return object;
    }
  }

 private:
  struct Entry {
    std::size_t order;
    const Object* object;
  };
  using Entries = std::vector<Entry>;
  void push(Entries& entries, const Object* object) { entries.push_back({added_++, object}); }
  static const Entry* end_of(const Entries& entries) { return entries.data() + entries.size(); }

  Entries anywhere_;
  std::map<std::string_view, std::map<std::string_view, Entries>> by_label_;
  std::size_t added_ = 0;
};

}  // namespace berth::client
