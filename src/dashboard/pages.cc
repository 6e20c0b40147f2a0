#include "dashboard/pages.h"

#include <charconv>

#include "base/json.h"
#include "dashboard/bundle.h"
#include "dashboard/gzip.h"

namespace berth::dashboard {
namespace {

constexpr std::string_view kPage = "/ui/", kApi = "/berth/v1alpha1/", kExplain = "explain/",
                           kHistory = "history";
constexpr std::string_view kJson = "application/json";
constexpr std::size_t kSmallBytes = 1400;  // a packet: compression gains nothing

server::Headers headers_for(std::string_view media_type) {
  return {{"Content-Type", std::string(media_type)},
          {"Cache-Control", "no-store"},
          {"Content-Security-Policy",
           "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"},
          {"X-Content-Type-Options", "nosniff"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Resource-Policy", "same-origin"}};
}

// A request that the page of another site had a browser send.
bool is_cross_site(const server::HttpRequest& request) {
  const std::string_view site = request.header("Sec-Fetch-Site");
  if (!site.empty() && site != "same-origin" && site != "none") return true;
  const std::string_view origin = request.header("Origin");
  const std::size_t host = origin.find("://");
  return !origin.empty() &&
         (host == std::string_view::npos || origin.substr(host + 3) != request.header("Host"));
}

server::HttpResponse body_of(const server::HttpRequest& request, std::string_view media_type,
                             const Content& content) {
  server::HttpResponse response{200, headers_for(media_type), ""};
  if (content.bytes().size() > kSmallBytes &&
      request.header("Accept-Encoding").find("gzip") != std::string_view::npos) {
    response.headers.emplace_back("Content-Encoding", "gzip");
    response.body = content.gzip();
  } else {
    response.body = content.bytes();
  }
  return response;
}

server::HttpResponse page_file(const server::HttpRequest& request, std::string_view path) {
  const BundleFile* file = bundle_file(path);
  return file ? body_of(request, file->media_type, file->content) : refusal(404, "there is no such file");
}

Result<std::int64_t> instant_in(const server::HttpRequest& request, std::string_view parameter) {
  const std::string* text = request.parameter(parameter);
  std::int64_t ms = 0;
  if (text) {
    const auto [end, failed] = std::from_chars(text->data(), text->data() + text->size(), ms);
    if (failed == std::errc() && end == text->data() + text->size() && ms >= 0) return ms;
  }
  return Error(ErrorCode::Invalid, std::string(parameter), "must be a time in milliseconds since 1970");
}

// `name`: the path below the API.
Result<HistoryQuestion> history_question(const server::HttpRequest& request, std::string_view name) {
  if (name == kHistory) return HistoryQuestion(OverviewQuestion{});
  if (name == "history/moment") {
    const std::string* layout = request.parameter("layout");
    return HistoryQuestion(MomentQuestion{TRY(instant_in(request, "at")), layout ? *layout : ""});
  }
  if (name == "history/difference")
    return HistoryQuestion(
        DifferenceQuestion{TRY(instant_in(request, "from")), TRY(instant_in(request, "to"))});
  return Error(ErrorCode::NotFound, "there is no such page");
}

int status_of_error(const Error& error) {
  switch (error.code()) {
    case ErrorCode::Invalid:
      return error.path().empty() ? 500 : 400;
    case ErrorCode::NotFound:
      return 404;
    case ErrorCode::Gone:
      return 410;
    default:
      return 503;
  }
}

server::HttpResponse answer_refusal(Answer answer) {
  switch (answer) {
    case Answer::NoUser: {
      server::HttpResponse response = refusal(401, "open the link that the process printed, or send a token");
      response.headers.emplace_back("WWW-Authenticate", "Bearer");
      return response;
    }
    case Answer::Forbidden:
      return refusal(403, "this user may not get the path /berth/v1alpha1/dashboard");
    default:
      return refusal(503, "the API server did not say who asks; ask again");
  }
}

}  // namespace

server::HttpResponse json_page(int status, std::string body) {
  return {status, headers_for(kJson), std::move(body)};
}

server::HttpResponse refusal(int status, std::string_view message) {
  return json_page(status, to_string(Json::object({{"message", message}})));
}

void Pages::handle(server::HttpRequest request, std::shared_ptr<server::HttpExchange> exchange) {
  const std::string_view path = request.path;
  if (path == "/" || path == "/ui") {
    server::HttpResponse moved{302, headers_for("text/plain"), ""};
    moved.headers.emplace_back("Location", std::string(kPage));
    return exchange->respond(std::move(moved));
  }
  if (path.starts_with(kPage) && request.method == "GET")
    return exchange->respond(page_file(request, path.substr(kPage.size())));
  if (is_cross_site(request)) return exchange->respond(refusal(403, "requests of other sites are refused"));
  if (path == "/berth/v1alpha1/session" && request.method == "POST")
    return exchange->respond(session(request));
  if (request.method != "GET") return exchange->respond(refusal(405, "method not allowed"));
  if (!path.starts_with(kApi)) return exchange->respond(refusal(404, "there is no such page"));
  const std::string authorization(request.header("Authorization"));
  options_.access(authorization,
                  [weak = weak_from_this(), request = std::move(request), exchange](Answer answer) {
                    const auto self = weak.lock();
                    if (answer != Answer::Allowed)
                      exchange->respond(answer_refusal(answer));
                    else if (self)
                      self->show(request, exchange);
                  });
}

server::HttpResponse Pages::session(const server::HttpRequest& request) {
  if (!options_.sessions) return refusal(404, "there are no links here");
  if (request.body.size() > kSessionBodyBytesMax) return refusal(413, "the body is too large");
  const Result<Json> body = parse_json(request.body);
  const std::optional<std::string> token =
      body ? options_.sessions->exchange(body->string_at("code"), clock_.monotonic()) : std::nullopt;
  return token ? json_page(200, to_string(Json::object({{"token", *token}})))
               : refusal(403, "this link was used already, or is none of this process");
}

void Pages::shut() {
  const std::lock_guard lock(mutex_);
  shut_ = true;
}

void Pages::show(const server::HttpRequest& request, const std::shared_ptr<server::HttpExchange>& exchange) {
  const std::lock_guard lock(mutex_);
  if (shut_) return exchange->respond(refusal(503, "the process is stopping"));
  const std::string_view name = std::string_view(request.path).substr(kApi.size());
  if (name == "events") {
    if (!published_.listen(exchange, headers_for("text/event-stream")))
      exchange->respond(refusal(429, "too many pages listen; close one"));
    return;
  }
  if (name.starts_with(kExplain) && options_.explain)
    return options_.explain(std::string(name.substr(kExplain.size())),
                            request.parameter("what-if") ? WhatIf::Yes : WhatIf::No, exchange);
  if (name == "moves" && options_.moves) return options_.moves(exchange);
  if (name.starts_with(kHistory) && options_.history) {
    Result<HistoryQuestion> question = history_question(request, name);
    if (!question)
      return exchange->respond(refusal(status_of_error(question.error()), question.error().text()));
    return options_.history(std::move(*question), [request, exchange](const Result<Json>& answer) {
      exchange->respond(answer ? body_of(request, kJson, Content(to_string(*answer)))
                               : refusal(status_of_error(answer.error()), answer.error().text()));
    });
  }
  const auto page = published_.page(name);
  if (!page) return exchange->respond(refusal(404, "there is no such page, or not yet"));
  exchange->respond(body_of(request, name == "floor/cells" ? "application/octet-stream" : kJson, *page));
}

}  // namespace berth::dashboard
