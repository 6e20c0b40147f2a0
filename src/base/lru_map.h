// A bounded memory for what may be forgotten at the price of some work done twice.
#pragma once

#include <list>
#include <map>
#include <string>
#include <utility>

namespace berth {

// A map that forgets what was used least recently.
template <class Value>
class LruMap {
 public:
  explicit LruMap(std::size_t size_max) : size_max_(size_max) {}

  // The value of `key`, made when absent. Valid until the next call.
  Value& at(const std::string& key) {
    if (const auto found = index_.find(key); found != index_.end()) {
      order_.splice(order_.begin(), order_, found->second);
      return found->second->second;
    }
    if (order_.size() == size_max_) {
      index_.erase(order_.back().first);
      order_.pop_back();
    }
    order_.emplace_front(key, Value{});
    index_.emplace(key, order_.begin());
    return order_.front().second;
  }
  // Null when absent; does not count as use.
  Value* find(const std::string& key) {
    const auto found = index_.find(key);
    return found == index_.end() ? nullptr : &found->second->second;
  }
  std::size_t size() const { return order_.size(); }

 private:
  using Order = std::list<std::pair<std::string, Value>>;
  std::size_t size_max_;
  Order order_;
  std::map<std::string, typename Order::iterator, std::less<>> index_;
};

}  // namespace berth
