// The dashboard of a process: its board, which follows the cluster, and its server.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "base/executor.h"
#include "cli/configuration.h"
#include "cli/server_calls.h"
#include "client/kubeconfig.h"
#include "dashboard/pages.h"
#include "explain/decision_line.h"
#include "explain/question.h"
#include "placement/framework.h"
#include "server/transport/transport.h"

namespace berth::cli {

class MetricsAccess;

// Below the data directory.
inline constexpr std::string_view kHistoryFolder = "/history";
// Reads of the history that wait for the one under way; more are refused.
inline constexpr int kHistoryReadsWaitingMax = 16;
// Explanations and searches of moves that wait for the one under way; more are refused.
inline constexpr int kSearchesWaitingMax = 8;
// A link for one more browser, for who may read the pages of the API server.
inline constexpr std::string_view kLinkPage = "/berth/v1alpha1/link";

// One thread for tasks; a bounded number waits for the one under way.
class TaskThread {
 public:
  explicit TaskThread(int waiting_max) : waiting_max_(waiting_max), pool_(make_thread_pool(1)) {}
  // False: as many wait already.
  bool post(std::function<void()> task);
  // Runs what waits. Tasks posted later are dropped.
  void stop() { pool_->stop(); }

 private:
  const int waiting_max_;
  std::atomic<int> posted_ = 0;  // that wait or are under way
  std::unique_ptr<ThreadPool> pool_;
};

// What follows the cluster. Outlives the control plane that it observes and the DashboardServer.
class DashboardBoard final : public explain::DecisionSink {
 public:
  // `next` (or null) receives every line as well, and outlives this.
  DashboardBoard(std::unique_ptr<dashboard::SegmentStore> history, std::vector<std::string> schedulers,
                 explain::DecisionSink* next);
  void append(std::string_view line) override {
    notes_.add(line);
    if (next_) next_->append(line);
  }
  void flush() override {
    if (next_) next_->flush();
  }
  void hold(scheduling::HeldRooms rooms) override { notes_.hold(std::move(rooms)); }
  void add_writes(const explain::WriteCounts& writes) override { notes_.add_writes(writes); }
  void add_write_times(const client::WriteTimes& times) override { notes_.add_write_times(times); }
  client::StatefulDecider& observer() { return board_; }
  dashboard::Published& published() { return published_; }
  const dashboard::History& history() const { return history_; }

 private:
  dashboard::Published published_;
  dashboard::DecisionNotes notes_;
  dashboard::History history_;
  dashboard::Board board_;
  explain::DecisionSink* const next_;
};

// Null where the configuration wants no dashboard. `next` as above. `data_directory` (empty: none) has the
// history; in it a folder that cannot be made is an error.
Result<std::unique_ptr<DashboardBoard>> board_of(const Configuration& config,
                                                 const std::string& data_directory,
                                                 explain::DecisionSink* next);
// Pages of this process as explanations read them.
explain::PageReader page_reader(std::function<std::optional<std::string>(std::string_view path)> pages);

struct DashboardOptions {
  std::string listen;
  bool open_to_all = false;        // on loopback, without a link
  client::ClusterAccess cluster;   // whose objects explanations read
  explain::PageReader decisions;   // pages of this process; any thread
  placement::MakePlugins plugins;  // that remedies are decided with
  // Says who asks where it is not on loopback; outlives the server. Null: links are for every address.
  client::ApiClient* reviewer = nullptr;
};

class DashboardServer {
 public:
  // Serves until its destruction. `board` and `clock` outlive it. Refuses what parse_listen and
  // Transport::listen refuse.
  static Result<std::unique_ptr<DashboardServer>> open(DashboardOptions options, DashboardBoard& board,
                                                       const Clock& clock);
  ~DashboardServer();
  // The page's address, with a code that works once where links are used.
  std::string link();
  // {"link"} at kLinkPage, and what is published below /berth/v1alpha1/ as JSON; none: another path.
  std::optional<std::string> page(std::string_view path);

 private:
  DashboardServer(DashboardOptions options, DashboardBoard& board, const Clock& clock);
  Status listen();
  dashboard::PagesOptions pages_options();
  // Responds with what `find` returns, one search at a time on a thread of their own.
  void answer_later(std::function<Result<Json>()> find, std::shared_ptr<server::HttpExchange> exchange);
  void read_history(dashboard::HistoryQuestion question, std::function<void(Result<Json>)> done);
  Result<Json> explanation(const std::string& path, dashboard::WhatIf what_if);
  Result<Json> moves();

  DashboardOptions options_;
  DashboardBoard& board_;
  const Clock& clock_;
  SystemRandom random_;
  dashboard::Sessions sessions_{random_};
  std::shared_ptr<MetricsAccess> access_;  // null: links, or everybody
  std::shared_ptr<dashboard::Pages> pages_;
  TaskThread searching_{kSearchesWaitingMax};    // explanations and moves
  TaskThread reading_{kHistoryReadsWaitingMax};  // the history
  std::unique_ptr<server::Transport> transport_;
  std::string url_;
};

}  // namespace berth::cli
