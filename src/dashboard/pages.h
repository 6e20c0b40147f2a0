// The dashboard over HTTP: the page below /ui/, what it shows below /berth/v1alpha1/.
//
//     GET  /ui/                              the page; anyone may load it, it has no data
//     POST /berth/v1alpha1/session           {"code"} of a link, for {"token"}
//     GET  /berth/v1alpha1/NAME              floor, floor/cells, waiting, groups, room, health, pace
//     GET  /berth/v1alpha1/history           history_pages.h; history/moment?at=MS&layout=ID,
//                                            history/difference?from=MS&to=MS
//     GET  /berth/v1alpha1/events            Server-Sent Events: hello, layout, floor, pages, tick
//     GET  /berth/v1alpha1/explain/KIND/NAMESPACE/NAME   what `berth explain -o json` says, with ?what-if
//                                            all of it; KIND pods, podgroups or compositepodgroups
//     GET  /berth/v1alpha1/moves             what `berth plan --defragment -o json` says of the cluster
//
// Everything but the page and the session is for those whom Access allows. A request that a page of another
// site made is refused (Origin, Sec-Fetch-Site); the transport refuses foreign Host names. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "base/clock.h"
#include "dashboard/history_pages.h"
#include "dashboard/published.h"
#include "dashboard/sessions.h"

namespace berth::dashboard {

inline constexpr std::size_t kSessionBodyBytesMax = 4096;

// With remedies and the expected start, which cost a look at the whole cluster.
enum class WhatIf { No, Yes };

enum class Answer { Allowed, NoUser, Forbidden, Unknown };

struct PagesOptions {
  // Says whether the sender of this Authorization header may read; on any thread.
  std::function<void(const std::string& authorization, std::function<void(Answer)>)> access;
  // Exchanges codes of links; null: there are no links.
  Sessions* sessions = nullptr;
  // Answers with the explanation or a refusal, later and on any thread. `path`: below explain/.
  std::function<void(const std::string& path, WhatIf, std::shared_ptr<server::HttpExchange>)> explain;
  // Answers with moves that make domains whole, or a refusal, later and on any thread.
  std::function<void(std::shared_ptr<server::HttpExchange>)> moves;
  // Gives the answer later and on any thread.
  std::function<void(HistoryQuestion, std::function<void(Result<Json>)>)> history;
};

class Pages final : public server::HttpHandler, public std::enable_shared_from_this<Pages> {
 public:
  // `published`, `clock` and what the options name outlive its last request, or shut().
  Pages(Published& published, const Clock& clock, PagesOptions options)
      : published_(published), clock_(clock), options_(std::move(options)) {}

  void handle(server::HttpRequest request, std::shared_ptr<server::HttpExchange> exchange) override;
  // What they show may be gone afterwards: who is allowed only now gets 503. Waits for an answer under way.
  void shut();

 private:
  server::HttpResponse session(const server::HttpRequest& request);
  void show(const server::HttpRequest& request, const std::shared_ptr<server::HttpExchange>& exchange);

  Published& published_;
  const Clock& clock_;
  const PagesOptions options_;
  std::mutex mutex_;
  bool shut_ = false;
};

// {"message"} with the headers of every answer here.
server::HttpResponse refusal(int status, std::string_view message);
server::HttpResponse json_page(int status, std::string body);

}  // namespace berth::dashboard
