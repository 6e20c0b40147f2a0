// A value that copies share until one of them is written.
//
// Copy: O(1), one atomic increment. Any thread may read, copy, write and destroy its own copy while other
// threads use theirs. One object of this class is no safer than a T. Reading never changes anything. A
// `const T&` from read() is valid until this object is written or destroyed, also when no other copy shares
// it.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace berth {

template <class T>
class CopyOnWrite {
 public:
  // An empty T; allocates nothing.
  CopyOnWrite() = default;
  explicit CopyOnWrite(T value) : node_(new Node(std::move(value))) {}
  // A value that lend() gave out is copied, not shared: writes through that reference reach `other` only.
  CopyOnWrite(const CopyOnWrite& other) : node_(other.share()) {}
  CopyOnWrite(CopyOnWrite&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  CopyOnWrite& operator=(const CopyOnWrite& other) { return *this = CopyOnWrite(other); }
  CopyOnWrite& operator=(CopyOnWrite&& other) noexcept {
    Node* left = std::exchange(node_, std::exchange(other.node_, nullptr));
    release(left);
    return *this;
  }
  ~CopyOnWrite() { release(node_); }

  const T& read() const {
    static const T kEmpty;
    return node_ ? node_->value : kEmpty;
  }
  // Copies a shared value first. A reference into it must not be kept beyond the next copy of this object.
  T& write() { return own().value; }
  // Like write(), for references that are kept: this value is never shared from now on.
  T& lend() {
    Node& node = own();
    node.lent = true;
    return node.value;
  }
  bool is_same_as(const CopyOnWrite& other) const { return node_ == other.node_; }
  // O(1) when the value is shared.
  friend bool operator==(const CopyOnWrite& a, const CopyOnWrite& b) {
    return a.is_same_as(b) || a.read() == b.read();
  }

 private:
  struct Node {
    explicit Node(T initial) : value(std::move(initial)) {}
    std::atomic<std::uint32_t> owners{1};
    bool lent = false;  // written in place by its only owner
    T value;
  };

  Node* share() const {
    if (!node_) return nullptr;
    if (node_->lent) return new Node(node_->value);
    node_->owners.fetch_add(1, std::memory_order_relaxed);
    return node_;
  }

  Node& own() {
    if (!node_) {
      node_ = new Node(T());
    } else if (node_->owners.load(std::memory_order_acquire) != 1) {
      Node* shared = std::exchange(node_, new Node(node_->value));
      release(shared);
    }
    return *node_;
  }

  static void release(Node* node) {
    if (!node) return;
    // A sole owner has no competitor: no atomic write is needed.
    if (node->owners.load(std::memory_order_acquire) == 1 ||
        node->owners.fetch_sub(1, std::memory_order_acq_rel) == 1)
      delete node;
  }

  Node* node_ = nullptr;
};

}  // namespace berth
