#include "cli/dashboard.h"

#include "cli/listen_address.h"
#include "cli/live_what_if.h"
#include "cli/metrics_access.h"
#include "install/objects.h"
#include "server/transport/certificates.h"

namespace berth::cli {
namespace {

constexpr std::string_view kPagesBelow = "/berth/v1alpha1/", kCellsPage = "/berth/v1alpha1/floor/cells";

dashboard::Answer answer_of(MetricsAccess::Answer answer) {
  switch (answer) {
    case MetricsAccess::Answer::Allowed:
      return dashboard::Answer::Allowed;
    case MetricsAccess::Answer::NoUser:
      return dashboard::Answer::NoUser;
    case MetricsAccess::Answer::Forbidden:
      return dashboard::Answer::Forbidden;
    default:
      return dashboard::Answer::Unknown;
  }
}

// KIND/NAMESPACE/NAME.
Result<explain::Question> question_in(std::string_view path) {
  const std::size_t kind_end = path.find('/');
  const std::size_t ns_end = kind_end == path.npos ? path.npos : path.find('/', kind_end + 1);
  if (ns_end == path.npos) return Error(ErrorCode::NotFound, "the path is no KIND/NAMESPACE/NAME");
  for (const api::Kind kind : {api::Kind::Pod, api::Kind::PodGroup, api::Kind::CompositePodGroup})
    if (path.substr(0, kind_end) == api::info_of(kind).resource)
      return explain::Question{kind, std::string(path.substr(kind_end + 1, ns_end - kind_end - 1)),
                               std::string(path.substr(ns_end + 1))};
  return Error(ErrorCode::NotFound, "the kind is none of pods, podgroups, compositepodgroups");
}

int status_of(const Error& error) {
  return error.code() == ErrorCode::NotFound ? 404 : 502;
}

}  // namespace

bool TaskThread::post(std::function<void()> task) {
  if (posted_.fetch_add(1) > waiting_max_) {
    --posted_;
    return false;
  }
  pool_->post([this, task = std::move(task)] {
    task();
    --posted_;
  });
  return true;
}

DashboardBoard::DashboardBoard(std::unique_ptr<dashboard::SegmentStore> history,
                               std::vector<std::string> schedulers, explain::DecisionSink* next)
    : history_(std::move(history)),
      board_(published_, notes_, history_, std::move(schedulers)),
      next_(next) {}

Result<std::unique_ptr<DashboardBoard>> board_of(const Configuration& config,
                                                 const std::string& data_directory,
                                                 explain::DecisionSink* next) {
  if (config.dashboard.empty()) return std::unique_ptr<DashboardBoard>();
  std::unique_ptr<dashboard::SegmentStore> history =
      data_directory.empty()
          ? dashboard::segments_in_memory()
          : TRY(dashboard::segments_in_folder(data_directory + std::string(kHistoryFolder)));
  return std::make_unique<DashboardBoard>(std::move(history), config.scheduler_names, next);
}

explain::PageReader page_reader(std::function<std::optional<std::string>(std::string_view path)> pages) {
  return [pages = std::move(pages)](const std::string& path) -> Result<Json> {
    const std::optional<std::string> page = pages(path);
    return page ? parse_json(*page) : Result<Json>(Json());
  };
}

DashboardServer::DashboardServer(DashboardOptions options, DashboardBoard& board, const Clock& clock)
    : options_(std::move(options)), board_(board), clock_(clock) {}

Result<std::unique_ptr<DashboardServer>> DashboardServer::open(DashboardOptions options,
                                                               DashboardBoard& board, const Clock& clock) {
  std::unique_ptr<DashboardServer> server(new DashboardServer(std::move(options), board, clock));
  TRY(server->listen());
  return server;
}

Status DashboardServer::listen() {
  const ListenAddress address = TRY(parse_listen(options_.listen));
  const bool local_only = is_loopback(address);
  server::TransportOptions transport;
  transport.address = address.address;
  transport.port = address.port;
  transport.threads = 1;
  transport.clock = &clock_;
  options_.open_to_all = options_.open_to_all && local_only;
  if (!local_only) {
    if (options_.reviewer)
      access_ = std::make_shared<MetricsAccess>(*options_.reviewer, clock_,
                                                std::string(install::kDashboardReadPath));
    const server::Identity own = TRY(server::generate_certificates({address.address}, clock_.now())).server;
    transport.tls = server::TlsMaterial{own.certificate_pem, own.key_pem, ""};
  }
  pages_ = std::make_shared<dashboard::Pages>(board_.published(), clock_, pages_options());
  transport_ = TRY(server::Transport::listen(transport, *pages_));
  const server::Endpoint local = transport_->local();
  url_ = url_of(local_only ? "http" : "https", local.address, local.port) + "/ui/";
  return {};
}

DashboardServer::~DashboardServer() {
  board_.published().close();
  if (pages_) pages_->shut();  // it may have failed to listen
  searching_.stop();
  reading_.stop();
  transport_.reset();
}

dashboard::PagesOptions DashboardServer::pages_options() {
  dashboard::PagesOptions options;
  options.explain = [this](const std::string& path, dashboard::WhatIf what_if, auto exchange) {
    answer_later([this, path, what_if] { return explanation(path, what_if); }, std::move(exchange));
  };
  options.moves = [this](auto exchange) { answer_later([this] { return moves(); }, std::move(exchange)); };
  options.history = [this](dashboard::HistoryQuestion question, auto done) {
    read_history(std::move(question), std::move(done));
  };
  if (access_)
    options.access = [access = access_](const std::string& authorization, auto done) {
      access->ask(authorization, [done](MetricsAccess::Answer answer) { done(answer_of(answer)); });
    };
  else if (options_.open_to_all)
    options.access = [](const std::string&, auto done) { done(dashboard::Answer::Allowed); };
  else
    options.access = [this](const std::string& authorization, auto done) {
      done(sessions_.knows(authorization, clock_.monotonic()) ? dashboard::Answer::Allowed
                                                              : dashboard::Answer::NoUser);
    };
  if (!access_ && !options_.open_to_all) options.sessions = &sessions_;
  return options;
}

std::string DashboardServer::link() {
  return access_ || options_.open_to_all ? url_ : url_ + "#code=" + sessions_.make_code();
}

std::optional<std::string> DashboardServer::page(std::string_view path) {
  if (path == kLinkPage) return to_string(Json::object({{"link", link()}}));
  if (!path.starts_with(kPagesBelow) || path == kCellsPage) return std::nullopt;
  const auto page = board_.published().page(path.substr(kPagesBelow.size()));
  return page ? std::optional(page->bytes()) : std::nullopt;
}

void DashboardServer::answer_later(std::function<Result<Json>()> find,
                                   std::shared_ptr<server::HttpExchange> exchange) {
  const auto gone = std::make_shared<std::atomic<bool>>(false);
  exchange->on_close([gone] { *gone = true; });
  const bool posted = searching_.post([find = std::move(find), gone, exchange] {
    if (*gone) return;  // nobody waits for it
    const Result<Json> found = find();
    exchange->respond(found ? dashboard::json_page(200, to_string(*found))
                            : dashboard::refusal(status_of(found.error()), found.error().text()));
  });
  if (!posted)
    exchange->respond(dashboard::refusal(429, "too many explanations and moves are asked for; ask again"));
}

void DashboardServer::read_history(dashboard::HistoryQuestion question,
                                   std::function<void(Result<Json>)> done) {
  if (!reading_.post([this, question = std::move(question), done] {
        done(dashboard::answer(board_.history(), question));
      }))
    done(Error(ErrorCode::Unavailable, "too many instants are asked for; ask again"));
}

Result<Json> DashboardServer::explanation(const std::string& path, dashboard::WhatIf what_if) {
  const explain::Question question = TRY(question_in(path));
  ServerCalls api = TRY(ServerCalls::open(options_.cluster, "dashboard", clock_));
  const explain::PageReaders read{[&](const std::string& target) { return api.get(target); },
                                  options_.decisions};
  Json answer = TRY(explain::answer(question, read, clock_.now()));
  if (what_if == dashboard::WhatIf::Yes)
    add_live_what_if(api, options_.decisions, question, clock_.now(), options_.plugins, answer);
  return answer;
}

Result<Json> DashboardServer::moves() {
  ServerCalls api = TRY(ServerCalls::open(options_.cluster, "dashboard", clock_));
  return live_moves(api, options_.decisions, clock_.now(), options_.plugins);
}

}  // namespace berth::cli
