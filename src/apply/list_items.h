// The items of a list that can be distinguished, by their elements.
//
// Views into the list; pure, any thread. Cost: O(n log n).
#pragma once

#include <algorithm>
#include <vector>

#include "apply/field_set.h"
#include "apply/schema.h"

namespace berth::apply {

struct ListItem {
  PathElement element;
  const Json* value;
};

// By element; equal ones in the order of the list. Items without an element are left out, and a value that is
// no list, or null, has none.
inline std::vector<ListItem> items_by_element(const Schema& schema, const Json* list) {
  std::vector<ListItem> items;
  if (!list || !list->is_array()) return items;
  items.reserve(list->as_array().size());
  for (const Json& value : list->as_array())
    if (Result<PathElement> element = schema.element_of(value))
      items.push_back({std::move(element).value(), &value});
  sort_by_element(items);
  return items;
}

// Where the items with the element of `at`, which is not the end, end.
template <class At>
At end_of_element(At at, At end) {
  return std::find_if(at + 1, end, [&](const ListItem& item) { return item.element != at->element; });
}

}  // namespace berth::apply
