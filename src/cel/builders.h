// Builders of lists and maps.
#pragma once

#include <memory>

#include "cel/value.h"

namespace berth::cel {

// A map under construction; a later entry with an equal key replaces the earlier one.
class MapBuilder {
 public:
  MapBuilder();
  ~MapBuilder();
  // False when the key was present; its value is replaced then.
  bool insert(Value key, Value value);
  Value take();
  // `map` with one more entry; in place when this builder made `map` and nothing else references it.
  static Value insert_into(Value map, Value key, Value value);

 private:
  class Entries;
  std::shared_ptr<Entries> entries_;
};

// Appends in amortized constant time to a list that this appender made and nothing else references.
class ListAppender {
 public:
  static Value append(Value list, Value item);
};

}  // namespace berth::cel
