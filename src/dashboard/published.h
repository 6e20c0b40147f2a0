// Where the Board's pages are for those who read, and the streams of those who listen.
//
// Thread-safe. Bounded: kListenersMax streams; the transport bounds what each has unread, and one that falls
// behind is closed and begins again. Cost: a page is copied by pointer; an event is one string a listener,
// and holds up no reader of pages.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "dashboard/board.h"
#include "dashboard/gzip.h"
#include "server/http.h"

namespace berth::dashboard {

inline constexpr std::size_t kListenersMax = 64;

class Published final : public Publisher {
 public:
  void put(std::string_view page, std::string text) override;
  void tell(std::string_view event, const std::string& json) override;

  // Null: not published yet, or no such page.
  std::shared_ptr<const Content> page(std::string_view name);
  // Streams Server-Sent Events to it from now on, with these headers; false: there are kListenersMax.
  bool listen(std::shared_ptr<server::HttpExchange> listener, server::Headers headers);
  bool take_reads() override;
  // Ends all streams.
  void close();

 private:
  std::mutex pages_mutex_;
  std::map<std::string, std::shared_ptr<const Content>, std::less<>> pages_;
  std::atomic<bool> read_ = false;  // since the last take_reads()
  std::mutex listeners_mutex_;
  std::vector<std::shared_ptr<server::HttpExchange>> listeners_;
};

}  // namespace berth::dashboard
