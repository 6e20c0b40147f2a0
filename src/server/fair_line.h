// What waits, in a line for each flow; the lines have their turn one after the other, so who sends much waits
// for himself.
//
// Owner: who has the lock. Cost: O(log flows); of take_for() O(flows), of take_if() O(items).
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
    return found == lines_.end() ? 0 : found->second.entries.size();
  }
  // Of all items, as push() named them.
  std::size_t bytes() const { return bytes_; }
  std::size_t bytes_of(const std::string& flow) const {
    const auto found = lines_.find(flow);
    return found == lines_.end() ? 0 : found->second.bytes;
  }

  void push(const std::string& flow, Item item, std::size_t bytes = 0) {
    Line& line = lines_[flow];
    if (line.entries.empty()) turns_.push_back(flow);
    line.entries.push_back({std::move(item), bytes});
    line.bytes += bytes;
    bytes_ += bytes;
    ++size_;
  }

  // The oldest of the flow whose turn it is. Not of an empty line.
  Item pop() {
    const std::string flow = std::move(turns_.front());
    turns_.pop_front();
    const auto line = lines_.find(flow);
    Item item = take(line->second, line->second.entries.begin());
    if (line->second.entries.empty())
      lines_.erase(line);
    else
      turns_.push_back(flow);
    return item;
  }

  // The newest of the longest line, to make room for one more of `flow`; nothing where that has a line as
  // long.
  std::optional<Item> take_for(const std::string& flow) {
    const auto longest = std::max_element(lines_.begin(), lines_.end(), [](const auto& a, const auto& b) {
      return a.second.entries.size() < b.second.entries.size();
    });
    if (longest == lines_.end() || longest->second.entries.size() <= size_of(flow) + 1) return std::nullopt;
    return take(longest->second, std::prev(longest->second.entries.end()));
  }

  // Takes those out for which `is_wanted`, in the order of their flows.
  template <class Wanted>
  std::vector<Item> take_if(Wanted is_wanted) {
    std::vector<Item> taken;
    for (auto line = lines_.begin(); line != lines_.end();) take_from(line++, is_wanted, taken);
    return taken;
  }

  // The same of one flow. Cost: O(items of the flow + flows).
  template <class Wanted>
  std::vector<Item> take_if(const std::string& flow, Wanted is_wanted) {
    std::vector<Item> taken;
    if (const auto line = lines_.find(flow); line != lines_.end()) take_from(line, is_wanted, taken);
    return taken;
  }

 private:
  struct Entry {
    Item item;
    std::size_t bytes = 0;
  };
  using Entries = std::deque<Entry>;
  struct Line {
    Entries entries;
    std::size_t bytes = 0;
  };
  using Lines = std::map<std::string, Line>;

  void uncount(Line& line, const Entry& entry) {
    line.bytes -= entry.bytes;
    bytes_ -= entry.bytes;
    --size_;
  }
  Item take(Line& line, typename Entries::iterator at) {
    Entry entry = std::move(*at);
    line.entries.erase(at);
    uncount(line, entry);
    return std::move(entry.item);
  }
  template <class Wanted>
  void take_from(typename Lines::iterator line, Wanted& is_wanted, std::vector<Item>& taken) {
    Entries kept;
    for (Entry& entry : line->second.entries) {
      if (!is_wanted(std::as_const(entry.item))) {
        kept.push_back(std::move(entry));
        continue;
      }
      uncount(line->second, entry);
      taken.push_back(std::move(entry.item));
    }
    line->second.entries = std::move(kept);
    if (!line->second.entries.empty()) return;
    std::erase(turns_, line->first);
    lines_.erase(line);
  }

  Lines lines_;                    // none is empty
  std::deque<std::string> turns_;  // their flows, the next one first
  std::size_t size_ = 0, bytes_ = 0;
};

}  // namespace berth::server
