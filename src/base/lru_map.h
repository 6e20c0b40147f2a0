// A bounded cache: a map that evicts the least recently used entry.
#pragma once

#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace berth {

// Owner: one thread. Cost: O(1) a call, and a hash of the key.
template <class Value>
class LruMap {
 public:
  explicit LruMap(std::size_t size_max) : size_max_(size_max) {}
  // Copies would hold views into the original.
  LruMap(const LruMap&) = delete;
  LruMap& operator=(const LruMap&) = delete;
  LruMap(LruMap&&) noexcept = default;
  LruMap& operator=(LruMap&&) noexcept = default;

  // The value of `key`, made by `make()` when absent. Valid until another key evicts it.
  template <class Make>
  Value& at(std::string_view key, Make make) {
    if (const auto found = index_.find(key); found != index_.end()) {
      order_.splice(order_.begin(), order_, found->second);
      return found->second->second;
    }
    if (order_.size() == size_max_) evict_oldest();
    order_.emplace_front(std::string(key), make());
    index_.emplace(order_.front().first, order_.begin());
    return order_.front().second;
  }
  Value& at(std::string_view key) {
    return at(key, [] { return Value{}; });
  }
  // Null when absent; does not count as a use.
  Value* find(std::string_view key) {
    const auto found = index_.find(key);
    return found == index_.end() ? nullptr : &found->second->second;
  }
  std::size_t size() const { return order_.size(); }
  // There is one.
  const Value& oldest() const { return order_.back().second; }
  void evict_oldest() {
    index_.erase(order_.back().first);
    order_.pop_back();
  }

 private:
  using Order = std::list<std::pair<std::string, Value>>;  // latest use first

  std::size_t size_max_;
  Order order_;
  std::unordered_map<std::string_view, typename Order::iterator> index_;  // views of the keys in `order_`
};

}  // namespace berth
