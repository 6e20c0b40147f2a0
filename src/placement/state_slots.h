// State of plugins about one pod between extension points: one slot for each type.
//
// A type belongs to one plugin and is declared in its header; it has a default constructor and clear(),
// which may keep buffers. Owner: one cycle, one thread. Cost: a look-up compares a few addresses; a slot is
// allocated once and used again. Source: kube-scheduler's CycleState.
#pragma once

#include <memory>
#include <vector>

namespace berth::placement {

class StateSlots {
 public:
  // The slot of T; empty at first and after clear().
  template <class T>
  T& write() {
    if (Typed<T>* known = find<T>()) return known->value;
    slots_.push_back(std::make_unique<Typed<T>>());
    return static_cast<Typed<T>&>(*slots_.back()).value;
  }
  // The same, read only; an empty T if there is no slot.
  template <class T>
  const T& read() const {
    static const T kEmpty{};
    const Typed<T>* known = find<T>();
    return known ? known->value : kEmpty;
  }
  // Empties every slot.
  void clear() {
    for (const auto& slot : slots_) slot->clear();
  }

 private:
  template <class T>
  static constexpr char kTag = 0;  // its address identifies T

  struct Slot {
    explicit Slot(const char* tag) : tag(tag) {}
    virtual ~Slot() = default;
    virtual void clear() = 0;
    const char* tag;
  };
  template <class T>
  struct Typed final : Slot {
    Typed() : Slot(&kTag<T>) {}
    void clear() override { value.clear(); }
    T value;
  };
  template <class T>
  Typed<T>* find() const {
    for (const auto& slot : slots_)
      if (slot->tag == &kTag<T>) return static_cast<Typed<T>*>(slot.get());
    return nullptr;
  }

  std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace berth::placement
