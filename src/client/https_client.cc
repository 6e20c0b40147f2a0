#include "client/https_client.h"

#include <algorithm>
#include <charconv>
#include <mutex>
#include <optional>

#include "api/serialized.h"
#include "base/hex.h"
#include "client/api_path.h"
#include "client/serialized_stream.h"
#include "client/whole_objects.h"

namespace berth::client {
namespace {

constexpr int kForbidden = 403;
constexpr std::size_t kRefusalBytesMax = 1u << 20;  // of a refused watch; the rest is left out

// The Retry-After header in seconds; 0 when it is absent or a date.
int retry_after_of(const HttpReply& reply) {
  const std::string_view text = reply.header("retry-after");
  int seconds = 0;
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  return std::max(seconds, 0);
}

ApiReply api_reply(HttpReply http) {
  ApiReply reply;
  if (http.delivery == Delivery::Answered) {
    reply = answered_reply(http.status, std::move(http.body));
    reply.retry_after_s = std::max(reply.retry_after_s, retry_after_of(http));
  } else {
    reply.message = std::move(http.trouble);
  }
  reply.delivery = http.delivery;
  return reply;
}

std::string text_of(const ApiReply& reply) {
  if (reply.delivery != Delivery::Answered) return reply.message;
  return std::to_string(reply.code) + " " + reply.reason + ": " + reply.message;
}

std::uint64_t number_of(const std::string& version) {
  std::uint64_t number = 0;
  std::from_chars(version.data(), version.data() + version.size(), number);
  return number;
}

// Lists and watches one resource until it is closed. Runs on the fetcher's thread, except start() and
// close().
class Reflector : public std::enable_shared_from_this<Reflector> {
 public:
  Reflector(HttpFetcher& fetcher, const Clock& clock, WatchPacing pacing, ServerTime* server_time,
            std::shared_ptr<WholeObjects> whole_objects, const api::ResourceRef& resource,
            WatchReceiver& receiver)
      : fetcher_(fetcher),
        clock_(clock),
        pacing_(pacing),
        server_time_(server_time),
        whole_objects_(std::move(whole_objects)),
        resource_(resource),
        path_(path_of(resource)),
        accepted_(accepted_types(resource)),
        receiver_(&receiver) {}

  void start() { later(Duration(), &Reflector::begin_list); }

  // The receiver hears nothing after it returns.
  void close() {
    const std::lock_guard lock(mutex_);
    receiver_ = nullptr;
    if (stream_) fetcher_.cancel(*stream_);
  }

 private:
  void later(Duration pause, void (Reflector::*step)());
  void begin_list();
  void ask_for_page();
  void take_page(HttpReply http);
  bool keep_page(const std::string& body);
  void finish_list();
  void list_failed(const ApiReply& reply);
  void begin_watch();
  void take_status(int status, const HttpHeaders& headers);
  void take_bytes(std::string_view bytes);
  void take_refusal(std::string_view bytes);
  bool take_event(WatchEvent event, std::vector<RawChange>& changes);
  void watch_ended(const std::string& trouble);
  Duration next_pause();
  template <class Call>
  bool tell(Call call);

  HttpFetcher& fetcher_;
  const Clock& clock_;
  const WatchPacing pacing_;
  ServerTime* const server_time_;
  const std::shared_ptr<WholeObjects> whole_objects_;
  const api::ResourceRef resource_;
  const std::string path_;
  const std::string accepted_;  // media types

  std::mutex mutex_;  // guards receiver_ (held while it is called) and stream_
  WatchReceiver* receiver_;
  std::optional<HttpFetcher::StreamId> stream_;

  enum class Paging { Pages, Whole };  // Whole: after the history of a paged list was gone
  Paging paging_ = Paging::Pages;
  std::string continue_;
  std::vector<api::RawPtr> objects_;
  std::string version_;
  bool listed_ = false;  // at least once

  HttpReply stream_reply_;                  // of the open watch; its body holds a refusal
  std::optional<WatchEventReader> events_;  // while it is open and not refused
  std::string stream_fault_;
  Time stream_began_;
  std::string stream_version_;  // from which it began
  int event_code_ = 0;          // of an ERROR event

  Duration pause_;
  Time last_trouble_;
};

template <class Call>
bool Reflector::tell(Call call) {
  const std::lock_guard lock(mutex_);
  if (receiver_) call(*receiver_);
  return receiver_ != nullptr;
}

void Reflector::later(Duration pause, void (Reflector::*step)()) {
  fetcher_.after(pause, [self = shared_from_this(), step] {
    if (self->tell([](WatchReceiver&) {})) ((*self).*step)();
  });
}

Duration Reflector::next_pause() {
  const Time now = clock_.monotonic();
  const bool fresh = !last_trouble_.is_set() || now - last_trouble_ > pacing_.healthy;
  last_trouble_ = now;
  pause_ = fresh ? pacing_.first_pause : std::min(pause_ * 2, pacing_.longest_pause);
  return pause_;
}

void Reflector::begin_list() {
  continue_.clear();
  objects_.clear();
  ask_for_page();
}

void Reflector::ask_for_page() {
  HttpFetch fetch;
  fetch.target = percent_encoded(path_, kPlainInPath);
  if (paging_ == Paging::Pages) fetch.target += "?limit=" + std::to_string(pacing_.page_objects);
  if (!continue_.empty()) fetch.target += "&continue=" + percent_encoded(continue_, kPlainInSegment);
  fetch.headers = {{"Accept", accepted_}};
  fetcher_.submit(std::move(fetch),
                  [self = shared_from_this()](HttpReply reply) { self->take_page(std::move(reply)); });
}

void Reflector::take_page(HttpReply http) {
  if (server_time_) server_time_->heard(http, ServerTime::Answer::List);
  const ApiReply reply = api_reply(std::move(http));
  if (!reply.ok() || !reply.object) return list_failed(reply);
  if (!keep_page(*reply.object)) {
    ApiReply unreadable;
    unreadable.delivery = Delivery::Lost;
    unreadable.message = "the answer is no list that can be read";
    return list_failed(unreadable);
  }
  if (continue_.empty()) return finish_list();
  if (tell([](WatchReceiver&) {})) ask_for_page();
}

bool Reflector::keep_page(const std::string& body) {
  Result<ListPage> page = read_list(body);
  if (!page || objects_.size() + page->objects.size() > kListedObjectsMax) return false;
  for (const api::RawPtr& object : page->objects) whole_objects_->heard(resource_, object);
  std::move(page->objects.begin(), page->objects.end(), std::back_inserter(objects_));
  version_ = std::move(page->resource_version);
  continue_ = std::move(page->next);
  return true;
}

void Reflector::finish_list() {
  paging_ = Paging::Pages;
  listed_ = true;
  std::vector<api::RawPtr> objects;
  objects.swap(objects_);
  const std::uint64_t version = number_of(version_);
  if (tell([&](WatchReceiver& receiver) { receiver.on_list({std::move(objects), version}); })) begin_watch();
}

void Reflector::list_failed(const ApiReply& reply) {
  objects_.clear();
  if (reply.code == 404 && !listed_) {
    tell([](WatchReceiver& receiver) { receiver.on_not_served(); });
    return later(pacing_.absent_pause, &Reflector::begin_list);
  }
  if (reply.code == 410 && paging_ == Paging::Pages) {
    paging_ = Paging::Whole;  // pages that were too slow once would be too slow again
    return begin_list();
  }
  tell([&](WatchReceiver& receiver) {
    if (reply.delivery == Delivery::Answered && !reply.ok()) return receiver.on_refused("list", reply);
    receiver.on_trouble("list: " + text_of(reply));
  });
  later(std::max(next_pause(), Duration::seconds(reply.retry_after_s)), &Reflector::begin_list);
}

void Reflector::begin_watch() {
  stream_reply_ = {};
  events_.reset();
  stream_fault_.clear();
  event_code_ = 0;
  stream_began_ = clock_.monotonic();
  stream_version_ = version_;
  HttpFetch fetch;
  fetch.target = percent_encoded(path_, kPlainInPath) + "?watch=1&allowWatchBookmarks=true&resourceVersion=" +
                 percent_encoded(version_, kPlainInSegment) +
                 "&timeoutSeconds=" + std::to_string(pacing_.watch_timeout.whole_seconds());
  fetch.headers = {{"Accept", accepted_}};
  StreamCallbacks callbacks;
  callbacks.on_status = [self = shared_from_this()](int status, const HttpHeaders& headers) {
    self->take_status(status, headers);
  };
  callbacks.on_bytes = [self = shared_from_this()](std::string_view bytes) { self->take_bytes(bytes); };
  callbacks.on_end = [self = shared_from_this()](std::string trouble) { self->watch_ended(trouble); };
  const HttpFetcher::StreamId id = fetcher_.stream(std::move(fetch), std::move(callbacks));
  const std::lock_guard lock(mutex_);
  stream_ = id;
  if (!receiver_) fetcher_.cancel(id);
}

void Reflector::take_status(int status, const HttpHeaders& headers) {
  stream_reply_.status = status;
  stream_reply_.headers = headers;
  if (status == 200) events_.emplace(content_type_of(stream_reply_.header("content-type")));
}

void Reflector::take_bytes(std::string_view bytes) {
  if (!stream_fault_.empty()) return;
  if (!events_) return take_refusal(bytes);
  std::vector<RawChange> changes;
  events_->add(bytes);
  for (bool more = true; more;) {
    Result<std::optional<WatchEvent>> event = events_->next();
    if (!event) stream_fault_ = event.error().message();
    more = event && *event && take_event(std::move(**event), changes);
  }
  tell([&](WatchReceiver& receiver) {
    if (!changes.empty()) receiver.on_changes(std::move(changes));
    if (!stream_fault_.empty()) fetcher_.cancel(*stream_);
  });
}

void Reflector::take_refusal(std::string_view bytes) {
  if (stream_reply_.body.size() + bytes.size() <= kRefusalBytesMax) stream_reply_.body.append(bytes);
}

// False when the watch cannot go on; stream_fault_ then says why.
bool Reflector::take_event(WatchEvent event, std::vector<RawChange>& changes) {
  if (event.type == "ERROR") {
    const Json status = api::parse_object(*event.object).value_or(Json());
    event_code_ = static_cast<int>(status.int_at("code"));
    stream_fault_ = std::string(status.string_at("message"));
    if (stream_fault_.empty()) stream_fault_ = "the server ended the watch with an error";
    return false;
  }
  if (!event.resource_version.empty()) version_ = std::move(event.resource_version);
  if (event.type == "BOOKMARK") return true;
  if (event.type == "DELETED")
    whole_objects_->gone(resource_, event.object);
  else
    whole_objects_->heard(resource_, event.object);
  const ChangeKind kind = event.type == "ADDED"     ? ChangeKind::Added
                          : event.type == "DELETED" ? ChangeKind::Deleted
                                                    : ChangeKind::Modified;
  changes.push_back({kind, std::move(event.object), std::move(event.document)});
  return true;
}

void Reflector::watch_ended(const std::string& trouble) {
  {
    const std::lock_guard lock(mutex_);
    stream_.reset();
    if (!receiver_) return;
  }
  const bool begun = stream_reply_.status == 200;
  const bool moved = begun && version_ != stream_version_;  // so that every watch advances
  const bool lasted = moved || (begun && clock_.monotonic() - stream_began_ >= pacing_.short_watch);
  if (lasted && trouble.empty() && stream_fault_.empty()) return begin_watch();
  ApiReply refusal;
  if (stream_reply_.status != 0 && !begun) refusal = api_reply(std::move(stream_reply_));
  const int code = begun ? event_code_ : refusal.code;
  std::string text = !stream_fault_.empty() ? stream_fault_
                     : refusal.code != 0    ? text_of(refusal)
                     : trouble.empty()      ? "it ended at once"
                                            : trouble;
  const bool history_lost = code == 410 || code == 404;
  if (!(history_lost && lasted))
    tell([&](WatchReceiver& receiver) {
      if (stream_fault_.empty() && refusal.code != 0) return receiver.on_refused("watch", refusal);
      receiver.on_trouble("watch: " + std::move(text));
    });
  const Duration pause = moved || (history_lost && lasted) ? Duration() : next_pause();
  later(std::max(pause, Duration::seconds(refusal.retry_after_s)),
        history_lost ? &Reflector::begin_list : &Reflector::begin_watch);
}

class ReflectorSubscription final : public Subscription {
 public:
  explicit ReflectorSubscription(std::shared_ptr<Reflector> reflector) : reflector_(std::move(reflector)) {}
  ~ReflectorSubscription() override { reflector_->close(); }

 private:
  std::shared_ptr<Reflector> reflector_;
};

class HttpsClient final : public ApiClient {
 public:
  HttpsClient(std::unique_ptr<HttpFetcher> requests, std::unique_ptr<HttpFetcher> watches, const Clock& clock,
              WatchPacing pacing, ServerTime* server_time)
      : clock_(clock),
        pacing_(pacing),
        server_time_(server_time),
        requests_(std::move(requests)),
        watches_(std::move(watches)) {}

  void submit(ApiRequest request, std::function<void(ApiReply)> done) override {
    std::optional<std::string> whole = whole_objects_->instead_of(request);
    if (!whole) return send(std::move(request), std::nullopt, std::move(done));
    ApiRequest copy = request;
    send(std::move(copy), std::move(whole),
         [this, patch = std::move(request), done = std::move(done)](ApiReply reply) mutable {
           if (reply.code != kForbidden) return done(std::move(reply));
           whole_objects_->stop();
           send(std::move(patch), std::nullopt, std::move(done));
         });
  }

  std::unique_ptr<Subscription> list_and_watch(api::ResourceRef resource, WatchReceiver& receiver) override {
    auto reflector = std::make_shared<Reflector>(*watches_, clock_, pacing_, server_time_, whole_objects_,
                                                 resource, receiver);
    reflector->start();
    return std::make_unique<ReflectorSubscription>(std::move(reflector));
  }

 private:
  // `whole`: the body of a PUT that is sent instead of the patch.
  void send(ApiRequest request, std::optional<std::string> whole, std::function<void(ApiReply)> done) {
    HttpFetch fetch;
    fetch.method = form_of(whole ? Verb::Update : request.verb).method;
    fetch.target = percent_encoded(path_of(request), kPlainInPath);
    fetch.headers = {{"Accept", std::string(accepted_types(request.resource))}};
    // Over HTTP/1.1 a write without a body takes a fresh connection (HttpFetch::body).
    if (request.verb == Verb::Delete && request.body.empty()) request.body = "{}";
    SentBody body = whole ? SentBody{api::kProtobufMediaType, std::move(*whole)} : sent_body(request);
    if (!body.bytes.empty()) fetch.headers.emplace_back("Content-Type", body.content_type);
    fetch.body = std::move(body.bytes);
    fetch.permit = std::move(request.permit);
    requests_->submit(std::move(fetch),
                      [this, resource = std::move(request.resource), done = std::move(done)](HttpReply http) {
                        if (server_time_) server_time_->heard(http, ServerTime::Answer::Any);
                        ApiReply reply = api_reply(std::move(http));
                        if (reply.ok()) whole_objects_->heard(resource, reply.object);
                        done(std::move(reply));
                      });
  }

  const Clock& clock_;
  const WatchPacing pacing_;
  ServerTime* const server_time_;
  // Before the fetchers, whose callbacks use it until they are destroyed.
  const std::shared_ptr<WholeObjects> whole_objects_ = std::make_shared<WholeObjects>();
  std::unique_ptr<HttpFetcher> requests_, watches_;
};

}  // namespace

Result<std::unique_ptr<ApiClient>> make_https_client(ClusterAccess access, HttpFetcherOptions options,
                                                     const Clock& clock, WatchPacing pacing,
                                                     ServerTime* server_time) {
  std::unique_ptr<HttpFetcher> requests = TRY(HttpFetcher::open(access, options, clock));
  options.connections = Connections::Separate;
  std::unique_ptr<HttpFetcher> watches = TRY(HttpFetcher::open(std::move(access), std::move(options), clock));
  return std::unique_ptr<ApiClient>(
      std::make_unique<HttpsClient>(std::move(requests), std::move(watches), clock, pacing, server_time));
}

}  // namespace berth::client
