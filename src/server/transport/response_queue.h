// The response to one request on its way from the handler to the connection: a queue of bytes ready for the
// wire.
//
// Handlers push from any thread through an Exchange; the connection takes from its strand. One mutex, held
// for moves and appends only. Framing (head, Content-Length, chunks) happens on the pushing thread.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "server/http.h"

namespace berth::server {

// Properties of the response that the request's head determines.
struct AnswerForm {
  bool body_wanted = true;   // false for HEAD
  bool chunks_known = true;  // false for HTTP/1.0: a stream then ends with the connection
  bool keep_alive = true;
};

// A metav1.Status of a failure, as JSON: the body that Kubernetes clients expect of every refusal.
HttpResponse status_response(int code, std::string_view reason, std::string_view message);

class ResponseQueue {
 public:
  // `wake` makes the connection call next(); it is called with the mutex held and must only post. `clock` (or
  // null: no Date header) and `unsent_of_all`, which counts the bytes of every queue, outlive close().
  ResponseQueue(AnswerForm form, const Clock* clock, std::atomic<std::size_t>& unsent_of_all,
                std::function<void()> wake)
      : form_(form), clock_(clock), unsent_of_all_(unsent_of_all), wake_(std::move(wake)) {}

  // The handler's side: the promises of HttpExchange.
  void respond(HttpResponse response);
  // `endless`: a watch, which ends with its peer or with the server.
  void begin_stream(int status, const Headers& headers, bool endless);
  bool send(std::string chunk);
  bool has_room() const;
  void on_room(std::function<void()> callback);
  void end_stream();
  void cut_stream();
  void on_close(std::function<void()> callback);
  // The handler dropped the exchange: an unanswered request gets a 500, an unfinished stream is cut.
  void abandon();

  // The connection's side.
  enum class Next {
    Bytes,     // `bytes` has the next bytes to write
    Later,     // nothing waits; wake() will be called
    Finished,  // the response is complete and the connection can take another request
    Last,      // the response is complete and the connection must close
    Cut,       // the stream exceeded a bound, or its sender gave up: close without an end
  };
  Next next(std::string& bytes);
  void sent(std::size_t bytes);
  bool is_cut() const;
  bool is_endless() const;
  // The server stops: an endless stream ends cleanly, a response that has not begun gets "Connection: close".
  void retire();
  // The connection needs this response no longer. Runs the callback; afterwards wake() is never called.
  void close();

 private:
  enum class Stage { Unanswered, Streaming, Complete, Cut };

  std::string head(int status, const Headers& headers, std::string_view framing) const;
  void push(std::string bytes);
  void notify();
  void finish_stream();
  void cut();
  bool room_left() const { return closed_ || stage_ != Stage::Streaming || unsent_ < kStreamFillBytes; }

  mutable std::mutex mutex_;
  AnswerForm form_;
  const Clock* const clock_;
  std::atomic<std::size_t>& unsent_of_all_;
  std::function<void()> wake_;
  bool awake_ = true;  // the connection calls next() without a wake-up
  bool closed_ = false;
  bool retired_ = false;
  bool endless_ = false;
  Stage stage_ = Stage::Unanswered;
  std::deque<std::string> bytes_;
  std::size_t unsent_ = 0;
  std::function<void()> callback_;
  std::function<void()> room_callback_;
};

// The handler's handle; dropping it unanswered is detected.
class Exchange final : public HttpExchange {
 public:
  explicit Exchange(std::shared_ptr<ResponseQueue> response_queue)
      : response_queue_(std::move(response_queue)) {}
  ~Exchange() override { response_queue_->abandon(); }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  void respond(HttpResponse response) override { response_queue_->respond(std::move(response)); }
  void begin_stream(int status, Headers headers) override {
    response_queue_->begin_stream(status, headers, true);
  }
  void begin_body(int status, Headers headers) override {
    response_queue_->begin_stream(status, headers, false);
  }
  bool send(std::string chunk) override { return response_queue_->send(std::move(chunk)); }
  bool has_room() const override { return response_queue_->has_room(); }
  void on_room(std::function<void()> callback) override { response_queue_->on_room(std::move(callback)); }
  void end_stream() override { response_queue_->end_stream(); }
  void cut_stream() override { response_queue_->cut_stream(); }
  void on_close(std::function<void()> callback) override { response_queue_->on_close(std::move(callback)); }

 private:
  std::shared_ptr<ResponseQueue> response_queue_;
};

}  // namespace berth::server
