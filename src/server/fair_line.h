// What waits, in a line for each flow; the lines have their turn one after the other, so who sends much waits
// for himself.
//
// Owner: who has the lock. Cost: O(log flows), of take_if() O(items).
#pragma once

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace berth::server {

template <class Item>
class FairLine {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  std::size_t size_of(const std::string& flow) const {
    const auto found = lines_.find(flow);
    return found == lines_.end() ? 0 : found->second.size();
  }

  void push(const std::string& flow, Item item) {
    std::deque<Item>& line = lines_[flow];
    if (line.empty()) turns_.push_back(flow);
    line.push_back(std::move(item));
    ++size_;
  }

  // The oldest of the flow whose turn it is. Not of an empty line.
  Item pop() {
    const std::string flow = std::move(turns_.front());
    turns_.pop_front();
    const auto line = lines_.find(flow);
    Item item = std::move(line->second.front());
    line->second.pop_front();
    --size_;
    if (line->second.empty())
      lines_.erase(line);
    else
      turns_.push_back(flow);
    return item;
  }

  // The newest of the longest line, to make room for one more of `flow`; nothing where that has a line as
  // long.
  std::optional<Item> take_for(const std::string& flow) {
    const auto longest = std::max_element(lines_.begin(), lines_.end(), [](const auto& a, const auto& b) {
      return a.second.size() < b.second.size();
    });
    if (longest == lines_.end() || longest->second.size() <= size_of(flow) + 1) return std::nullopt;
    Item item = std::move(longest->second.back());
    longest->second.pop_back();
    --size_;
    return item;
  }

  // Takes those out for which `is_wanted`, in the order of their flows.
  template <class Wanted>
  std::vector<Item> take_if(Wanted is_wanted) {
    std::vector<Item> taken;
    for (auto line = lines_.begin(); line != lines_.end();) {
      std::deque<Item> kept;
      for (Item& item : line->second)
        if (is_wanted(std::as_const(item)))
          taken.push_back(std::move(item));
        else
          kept.push_back(std::move(item));
      line->second = std::move(kept);
      if (line->second.empty()) std::erase(turns_, line->first);
      line = line->second.empty() ? lines_.erase(line) : std::next(line);
    }
    size_ -= taken.size();
    return taken;
  }

 private:
  std::map<std::string, std::deque<Item>> lines_;  // none is empty
  std::deque<std::string> turns_;                  // their flows, the next one first
  std::size_t size_ = 0;
};

}  // namespace berth::server
