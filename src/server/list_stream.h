// One LIST under way: one state of a resource, made as its peer reads it.
//
// A turn looks at kListTurnMax objects or makes kListChunkBytes; then other lists have their turns. So a list
// of any length keeps its cursor, at most kStreamFillBytes of unsent text, and one chunk. A page with a limit
// is selected first, because its metadata says where it ends. A body of protobuf is measured first, because
// it begins with its size. A list that is done within its first turn is answered in one piece. Owner:
// ListLane, which calls its turns one at a time, of a target with a webhook on its lane.
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "server/http.h"
#include "server/list_body.h"
#include "server/list_options.h"
#include "server/list_reader.h"
#include "server/rendering.h"

namespace berth::server {

// Objects that one turn looks at.
inline constexpr std::size_t kListTurnMax = 512;
inline constexpr std::size_t kListChunkBytes = 128u << 10;
// Of bodies that are measured: as much is kept of one, and of all; others are made twice.
inline constexpr std::size_t kMeasuredKeptBytes = 32u << 20;
inline constexpr std::size_t kMeasuredKeptOfAllBytes = 64u << 20;
// Of objects that a webhook converted, which nothing else keeps: a page ends there, whatever its limit.
inline constexpr std::size_t kConvertedPageBytes = 64u << 20;

// What lists keep of bodies that are measured. Thread-safe.
class KeptBytes {
 public:
  // False, and nothing is taken, when it would be more than kMeasuredKeptOfAllBytes.
  bool take(std::size_t bytes) {
    if (taken_.fetch_add(bytes) + bytes <= kMeasuredKeptOfAllBytes) return true;
    taken_ -= bytes;
    return false;
  }
  void give_back(std::size_t bytes) { taken_ -= bytes; }

 private:
  std::atomic<std::size_t> taken_ = 0;
};

struct ListRequest {
  ObjectTarget target;
  ListOptions options;
  Rendering rendering;
  store::ListQuery query;
  std::shared_ptr<HttpExchange> exchange;
  std::string user;  // whose lists have their turns in a line of their own
  // Called once before the answer begins: it is accepted, and these are its further headers.
  std::function<Headers()> accepted;
  // Called once instead of an answer.
  std::function<void(const ApiStatus&)> refused;
  // Of a list of other objects than those that the query selects; or empty.
  ObjectMaker make = nullptr;
  // Gets the selected objects, and the list is done. Empty: they are answered.
  std::function<void(store::ListPage)> selected;
};

class ListStream {
 public:
  // `registry` outlives it; `kept_of_all` is that of all lists.
  ListStream(const Registry& registry, std::shared_ptr<KeptBytes> kept_of_all, ListRequest request)
      : registry_(registry),
        kept_of_all_(std::move(kept_of_all)),
        request_(std::move(request)),
        page_given_(false) {}
  // The answer has these objects.
  ListStream(const Registry& registry, std::shared_ptr<KeptBytes> kept_of_all, ListRequest request,
             store::ListPage page);
  ~ListStream() { drop_kept(); }
  ListStream(const ListStream&) = delete;
  ListStream& operator=(const ListStream&) = delete;

  // What a turn came to: there is more to do, the peer has no room, or the list is done.
  enum class Turn { More, Full, Done };
  // Before it has begun: a list that is not done within the turn has sent nothing.
  enum class Slot { None, Held };
  Turn take_turn(Slot slot);
  // Nothing of it has been sent: it gives its state back and begins with a newer one.
  void begin_again();
  void refuse(const ApiStatus& status) { request_.refused(status); }
  // The peer is not to wait for the rest.
  void cut(const char* reason);

  const ObjectTarget& target() const { return request_.target; }
  HttpExchange& exchange() { return *request_.exchange; }
  const std::string& user() const { return request_.user; }

 private:
  enum class Phase { Open, Select, Measure, Write, Done };
  // What is left of a turn.
  struct Budget {
    std::size_t objects = kListTurnMax;
    std::size_t bytes = kListChunkBytes;
    bool is_spent() const { return objects == 0 || bytes == 0; }
    void made(std::size_t more) { bytes -= std::min(bytes, more); }
  };

  bool selects_first() const { return request_.query.limit > 0 || request_.selected; }
  ApiResult<void> step(Budget& budget);
  ApiResult<void> open();
  ApiResult<void> select(Budget& budget);
  void end_selection();
  void prepare_body();
  ApiResult<void> measure(Budget& budget);
  void keep(std::string made);
  // The first of what is kept.
  std::string take_kept();
  void drop_kept();
  ApiResult<void> begin_writing();
  ApiResult<void> write(Budget& budget);
  // The text of the next objects.
  ApiResult<std::string> make_objects(Budget& budget);
  // The next object of the answer; null at its end, or when the budget is spent.
  ApiResult<store::ObjectPtr> next_object(Budget& budget);
  bool objects_ended() const;
  void rewind_objects();
  Turn send_chunk();

  const Registry& registry_;
  const std::shared_ptr<KeptBytes> kept_of_all_;
  const ListRequest request_;
  const bool page_given_;
  Phase phase_ = Phase::Open;
  std::optional<ListReader> reader_;     // until everything is selected
  std::optional<store::ListPage> page_;  // of a list that is selected first
  std::size_t page_at_ = 0;
  std::size_t page_bytes_ = 0;
  std::optional<ListBody> body_;
  std::size_t measured_bytes_ = 0;
  bool keeps_measured_ = true;
  std::deque<std::string> kept_;  // the objects of a measured body
  std::string chunk_;
  bool writes_ = false;   // the body has begun
  bool streams_ = false;  // a part of it has been sent
  bool ended_ = false;    // chunk_ has the end
};

}  // namespace berth::server
