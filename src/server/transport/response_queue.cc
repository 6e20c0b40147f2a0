#include "server/transport/response_queue.h"

#include <array>
#include <charconv>
#include <utility>

#include "base/json.h"
#include "base/log.h"

namespace berth::server {
namespace {

// Small pieces are joined up to this size, so that a burst of watch events costs one write.
constexpr std::size_t kJoinBytesMax = 16u << 10;

// A sender that waits for room goes on when no more than this waits: it then has something to do.
constexpr std::size_t kRoomAgainBytes = kStreamFillBytes / 2;

struct Phrase {
  int status;
  std::string_view text;
};
constexpr Phrase kPhrases[] = {
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {409, "Conflict"},
    {410, "Gone"},
    {413, "Request Entity Too Large"},
    {415, "Unsupported Media Type"},
    {422, "Unprocessable Entity"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
};

std::string_view phrase_of(int status) {
  for (const Phrase& phrase : kPhrases)
    if (phrase.status == status) return phrase.text;
  return "Status";
}

bool may_have_body(int status) {
  return status >= 200 && status != 204 && status != 304;
}

// A line break inside a value would let an object's text inject headers.
void append_header_text(std::string& out, std::string_view text) {
  for (const char c : text) out += static_cast<unsigned char>(c) < 0x20 && c != '\t' ? ' ' : c;
}

std::string chunk_size_line(std::size_t size) {
  std::array<char, 20> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), size, 16).ptr;
  return std::string(text.data(), end) + "\r\n";
}

// "Tue, 15 Nov 1994 08:12:31 GMT", for a time after 1970. Source: RFC 9110 section 5.6.7.
std::string http_date(Time time) {
  constexpr std::string_view kDays = "ThuFriSatSunMonTueWed";  // 1970-01-01 was a Thursday
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  constexpr std::int64_t kDaySeconds = 86400;
  const std::string text = format_time(time);  // "1994-11-15T08:12:31Z"
  const auto day = static_cast<std::size_t>(time.whole_seconds() / kDaySeconds % 7);
  const std::size_t month = static_cast<std::size_t>((text[5] - '0') * 10 + (text[6] - '0')) - 1;
  std::string date(kDays.substr(day * 3, 3));
  date.append(", ").append(text, 8, 2).append(" ").append(kMonths.substr(month * 3, 3));
  return date.append(" ").append(text, 0, 4).append(" ").append(text, 11, 8).append(" GMT");
}

}  // namespace

HttpResponse status_response(int code, std::string_view reason, std::string_view message) {
  const Json status = Json::object({{"kind", "Status"},
                                    {"apiVersion", "v1"},
                                    {"metadata", Json::object()},
                                    {"status", "Failure"},
                                    {"message", message},
                                    {"reason", reason},
                                    {"code", code}});
  return {.status = code, .headers = {{"Content-Type", "application/json"}}, .body = to_string(status)};
}

std::string ResponseQueue::head(int status, const Headers& headers, std::string_view framing) const {
  std::string text = form_.chunks_known ? "HTTP/1.1 " : "HTTP/1.0 ";
  text += std::to_string(status);
  text += ' ';
  text += phrase_of(status);
  text += "\r\n";
  for (const auto& [name, value] : headers) {
    append_header_text(text, name);
    text += ": ";
    append_header_text(text, value);
    text += "\r\n";
  }
  if (clock_) text += "Date: " + http_date(clock_->now()) + "\r\n";
  text += framing;
  if (!form_.keep_alive)
    text += "Connection: close\r\n";
  else if (!form_.chunks_known)
    text += "Connection: keep-alive\r\n";
  return text += "\r\n";
}

void ResponseQueue::push(std::string bytes) {
  unsent_ += bytes.size();
  unsent_of_all_ += bytes.size();
  if (!bytes_.empty() && bytes_.back().size() + bytes.size() <= kJoinBytesMax)
    bytes_.back() += bytes;
  else
    bytes_.push_back(std::move(bytes));
}

void ResponseQueue::notify() {
  if (awake_ || closed_) return;
  awake_ = true;
  wake_();
}

void ResponseQueue::respond(HttpResponse response) {
  const std::lock_guard lock(mutex_);
  BERTH_ASSERT(stage_ == Stage::Unanswered, "a request is answered once");
  if (closed_) return;
  std::string framing;
  if (may_have_body(response.status))
    framing = "Content-Length: " + std::to_string(response.body.size()) + "\r\n";
  push(head(response.status, response.headers, framing));
  if (form_.body_wanted && may_have_body(response.status)) push(std::move(response.body));
  stage_ = Stage::Complete;
  notify();
}

void ResponseQueue::begin_stream(int status, const Headers& headers, bool endless) {
  const std::lock_guard lock(mutex_);
  BERTH_ASSERT(stage_ == Stage::Unanswered, "a request is answered once");
  if (closed_) return;
  if (!form_.chunks_known) form_.keep_alive = false;
  push(head(status, headers, form_.chunks_known ? "Transfer-Encoding: chunked\r\n" : ""));
  stage_ = Stage::Streaming;
  endless_ = endless;
  if (retired_ && endless) finish_stream();
  notify();
}

bool ResponseQueue::send(std::string chunk) {
  const std::lock_guard lock(mutex_);
  if (closed_ || stage_ != Stage::Streaming) return false;
  if (!form_.body_wanted || chunk.empty()) return true;
  if (unsent_ + chunk.size() > kStreamBufferBytesMax) {
    log(LogLevel::Warning, "a watch was cut: its peer reads too slowly",
        {{"unsent_bytes", std::to_string(unsent_)}});
    cut();
    return false;
  }
  if (form_.chunks_known) {
    push(chunk_size_line(chunk.size()));
    chunk += "\r\n";
  }
  push(std::move(chunk));
  notify();
  return true;
}

bool ResponseQueue::has_room() const {
  const std::lock_guard lock(mutex_);
  return room_left();
}

void ResponseQueue::on_room(std::function<void()> callback) {
  {
    const std::lock_guard lock(mutex_);
    if (!room_left()) {
      room_callback_ = std::move(callback);
      return;
    }
  }
  callback();
}

void ResponseQueue::finish_stream() {
  if (form_.chunks_known && form_.body_wanted) push("0\r\n\r\n");
  stage_ = Stage::Complete;
}

void ResponseQueue::end_stream() {
  const std::lock_guard lock(mutex_);
  if (closed_ || stage_ != Stage::Streaming) return;
  finish_stream();
  notify();
}

void ResponseQueue::cut() {
  stage_ = Stage::Cut;
  awake_ = true;
  wake_();  // also when a write is under way: that write may be what does not get through
}

void ResponseQueue::cut_stream() {
  const std::lock_guard lock(mutex_);
  if (!closed_ && stage_ == Stage::Streaming) cut();
}

void ResponseQueue::on_close(std::function<void()> callback) {
  {
    const std::lock_guard lock(mutex_);
    if (!closed_) {
      callback_ = std::move(callback);
      return;
    }
  }
  callback();
}

void ResponseQueue::abandon() {
  {
    const std::lock_guard lock(mutex_);
    if (closed_ || stage_ == Stage::Complete || stage_ == Stage::Cut) return;
    if (stage_ == Stage::Streaming) return cut();
  }
  respond(
      status_response(500, "InternalError", "Internal error occurred: the request was dropped unanswered"));
}

ResponseQueue::Next ResponseQueue::next(std::string& bytes) {
  const std::lock_guard lock(mutex_);
  if (stage_ == Stage::Cut) return Next::Cut;
  if (!bytes_.empty()) {
    bytes = std::move(bytes_.front());
    bytes_.pop_front();
    return Next::Bytes;
  }
  if (stage_ == Stage::Complete) return form_.keep_alive ? Next::Finished : Next::Last;
  awake_ = false;
  return Next::Later;
}

void ResponseQueue::sent(std::size_t bytes) {
  std::function<void()> callback;
  {
    const std::lock_guard lock(mutex_);
    unsent_ -= bytes;
    unsent_of_all_ -= bytes;
    if (unsent_ > kRoomAgainBytes) return;
    callback = std::exchange(room_callback_, nullptr);
  }
  if (callback) callback();
}

bool ResponseQueue::is_cut() const {
  const std::lock_guard lock(mutex_);
  return stage_ == Stage::Cut;
}

bool ResponseQueue::is_endless() const {
  const std::lock_guard lock(mutex_);
  return endless_;
}

void ResponseQueue::retire() {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  retired_ = true;
  form_.keep_alive = false;
  if (stage_ != Stage::Streaming || !endless_) return;
  finish_stream();
  notify();
}

void ResponseQueue::close() {
  std::function<void()> callback;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    closed_ = true;
    wake_ = nullptr;
    unsent_of_all_ -= std::exchange(unsent_, 0);
    bytes_.clear();
    room_callback_ = nullptr;
    callback = std::move(callback_);
  }
  if (callback) callback();
}

}  // namespace berth::server
