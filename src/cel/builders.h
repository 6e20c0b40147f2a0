// Making lists and maps.
#pragma once

#include <memory>

#include "cel/value.h"

namespace berth::cel {

// A map under construction; a later entry of an equal key replaces the earlier one.
class MapBuilder {
 public:
  MapBuilder();
  ~MapBuilder();
  // False when an equal key was present; the entry is replaced then.
  bool insert(Value key, Value value);
  Value take();
  // `map` with one more entry; in place when `map` was built here and is held nowhere else.
  static Value insert_into(Value map, Value key, Value value);

 private:
  class Entries;
  std::shared_ptr<Entries> entries_;
};

// Appends to a list that was made by this and is held nowhere else in amortized constant time.
class ListAppender {
 public:
  static Value append(Value list, Value item);
};

}  // namespace berth::cel
