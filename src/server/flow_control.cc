#include "server/flow_control.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "api/metric_table.h"
#include "server/fair_line.h"
#include "server/flow_schema_status.h"
#include "server/registry.h"

namespace berth::server {
namespace {

// By level and schema.
using RowName = std::pair<std::string, std::string>;

struct Counts {
  std::uint64_t dispatched = 0, queue_full = 0, no_seat = 0, timed_out = 0;
  std::uint64_t waiting = 0, executing = 0;
};

struct WaitingRequest {
  FlowControl::Arrival arrival;
  Headers headers;
  Counts* counts = nullptr;
  Time since;  // monotonic
};

struct LevelState {
  std::int64_t seats = 0, executing = 0;
  std::size_t flow_waiting_max = 0, waiting_max = 0;
  FairLine<WaitingRequest> waiting;
};
using LevelStatePtr = std::shared_ptr<LevelState>;

Headers headers_of(const FlowSchemas::Match& match) {
  return {{"X-Kubernetes-PF-FlowSchema-UID", std::string(match.schema_uid)},
          {"X-Kubernetes-PF-PriorityLevel-UID", match.level->uid}};
}

// Says in the answer which schema and level the request had, and calls `begun` once, when the answer begins
// or when nobody holds the exchange any more.
class SeatedExchange final : public HttpExchange {
 public:
  SeatedExchange(std::shared_ptr<HttpExchange> inner, Headers headers, std::function<void()> begun)
      : inner_(std::move(inner)), headers_(std::move(headers)), begun_(std::move(begun)) {}
  ~SeatedExchange() override { begin(); }

  void respond(HttpResponse response) override {
    response.headers = with_own(std::move(response.headers));
    inner_->respond(std::move(response));
    begin();
  }
  void begin_stream(int status, Headers headers) override {
    inner_->begin_stream(status, with_own(std::move(headers)));
    begin();
  }
  void begin_body(int status, Headers headers) override {
    inner_->begin_body(status, with_own(std::move(headers)));
    begin();
  }
  bool send(std::string chunk) override { return inner_->send(std::move(chunk)); }
  bool has_room() const override { return inner_->has_room(); }
  void on_room(std::function<void()> callback) override { inner_->on_room(std::move(callback)); }
  void end_stream() override { inner_->end_stream(); }
  void cut_stream() override { inner_->cut_stream(); }
  void on_close(std::function<void()> callback) override { inner_->on_close(std::move(callback)); }

 private:
  Headers with_own(Headers headers) {
    for (auto& header : headers_) headers.push_back(std::move(header));
    return headers;
  }
  void begin() {
    if (begun_) std::exchange(begun_, nullptr)();
  }

  const std::shared_ptr<HttpExchange> inner_;
  Headers headers_;
  std::function<void()> begun_;
};

void refuse(const FlowControl::Arrival& arrival, Headers headers) {
  SeatedExchange(arrival.exchange, std::move(headers), nullptr)
      .respond(encoded(too_many_requests().to_response(), arrival.refusal_encoding));
}

}  // namespace

struct FlowControl::State : std::enable_shared_from_this<State> {
  explicit State(Executor& the_executor) : executor(the_executor) {}

  using Begun = std::vector<std::function<void()>>;
  Counts& counts_of(const FlowSchemas::Match& match);
  // Whether it may run now; else it waits or `refusal` says why not.
  bool take_seat(const FlowSchemas::Match& match, Arrival& arrival, Time now,
                 std::uint64_t Counts::*& refusal);
  // Gives free seats to the flows that wait, in turn.
  Begun begin_waiting(const LevelStatePtr& level);
  void give_back(const LevelStatePtr& level, Counts& counts);
  std::shared_ptr<HttpExchange> seated(std::shared_ptr<HttpExchange> exchange, Headers headers,
                                       const LevelStatePtr& level, Counts& counts);
  void post(Begun begun);
  void set_levels(const FlowSchemas& schemas);

  Executor& executor;
  mutable std::mutex mutex;
  bool stopped = false;  // nothing that waits begins any more
  std::atomic<bool> report_failed = false;
  std::shared_ptr<const FlowSchemas> schemas = std::make_shared<const FlowSchemas>();
  std::map<std::string, LevelStatePtr> levels;
  std::map<RowName, Counts> counts;  // rows stay where they are
};

// Those beyond the bound are counted together.
Counts& FlowControl::State::counts_of(const FlowSchemas::Match& match) {
  const RowName name{match.level->name, match.schema};
  const auto found = counts.find(name);
  if (found != counts.end()) return found->second;
  return counts[counts.size() < kFlowRowsMax ? name : RowName()];
}

std::shared_ptr<HttpExchange> FlowControl::State::seated(std::shared_ptr<HttpExchange> exchange,
                                                         Headers headers, const LevelStatePtr& level,
                                                         Counts& counts) {
  return std::make_shared<SeatedExchange>(std::move(exchange), std::move(headers),
                                          [weak = weak_from_this(), level, row = &counts] {
                                            if (const auto self = weak.lock()) self->give_back(level, *row);
                                          });
}

bool FlowControl::State::take_seat(const FlowSchemas::Match& match, Arrival& arrival, Time now,
                                   std::uint64_t Counts::*& refusal) {
  const LevelStatePtr& level = levels.at(match.level->name);
  Counts& row = counts_of(match);
  if (level->executing < level->seats && level->waiting.empty()) {
    ++level->executing;
    ++row.executing;
    ++row.dispatched;
    return true;
  }
  if (level->waiting.size() >= level->waiting_max ||
      level->waiting.size_of(match.flow) >= level->flow_waiting_max) {
    refusal = level->waiting_max == 0 ? &Counts::no_seat : &Counts::queue_full;
    ++(row.*refusal);
    return false;
  }
  level->waiting.push(match.flow, {std::move(arrival), headers_of(match), &row, now});
  ++row.waiting;
  return false;
}

FlowControl::State::Begun FlowControl::State::begin_waiting(const LevelStatePtr& level) {
  Begun begun;
  while (!stopped && level->executing < level->seats && !level->waiting.empty()) {
    WaitingRequest next = level->waiting.pop();
    ++level->executing;
    --next.counts->waiting;
    ++next.counts->executing;
    ++next.counts->dispatched;
    begun.push_back([run = std::move(next.arrival.run),
                     exchange = seated(std::move(next.arrival.exchange), std::move(next.headers), level,
                                       *next.counts)] { run(exchange); });
  }
  return begun;
}

void FlowControl::State::give_back(const LevelStatePtr& level, Counts& row) {
  Begun begun;
  {
    const std::lock_guard lock(mutex);
    --level->executing;
    --row.executing;
    begun = begin_waiting(level);
  }
  post(std::move(begun));
}

void FlowControl::State::post(Begun begun) {
  for (std::function<void()>& one : begun) executor.post(std::move(one));
}

void FlowControl::State::set_levels(const FlowSchemas& next) {
  std::int64_t shares = 0;
  for (const PriorityLevel& level : next.levels()) shares += level.shares;
  std::map<std::string, LevelStatePtr> kept;
  for (const PriorityLevel& level : next.levels()) {
    const auto known = levels.find(level.name);
    const LevelStatePtr state = known == levels.end() ? std::make_shared<LevelState>() : known->second;
    state->seats = shares == 0 ? 0 : (kSeatsOfAllLevels * level.shares + shares - 1) / shares;
    state->flow_waiting_max = level.flow_waiting_max;
    state->waiting_max = level.waiting_max;
    kept[level.name] = state;
  }
  // What waits in a level that is gone has the seats that it had.
  for (const auto& [name, state] : levels)
    if (!state->waiting.empty() && !kept.contains(name)) kept[name] = state;
  levels = std::move(kept);
}

FlowControl::FlowControl(Registry& registry)
    : registry_(registry), state_(std::make_shared<State>(registry.dependencies().executor)) {}

FlowControl::~FlowControl() {
  stop();
}

void FlowControl::stop() {
  const std::lock_guard lock(state_->mutex);
  state_->stopped = true;
}

void FlowControl::noted(const ObjectTarget& target) {
  if (target.resource->group == kFlowControlGroup) ++written_;
}

std::shared_ptr<const FlowSchemas> FlowControl::schemas() {
  if (read_to_ != written_) read_again();
  const std::lock_guard lock(state_->mutex);
  return state_->schemas;
}

void FlowControl::read_again() {
  const std::uint64_t written = written_;
  const auto stored = [&](std::string_view plural) {
    std::vector<Json> objects;
    for (const store::ObjectPtr& object :
         registry_.stored(std::string(plural).append(".").append(kFlowControlGroup)))
      if (Result<Json> document = registry_.document_of(*object))
        objects.push_back(std::move(document).value());
    return objects;
  };
  const auto read =
      std::make_shared<const FlowSchemas>(stored("flowschemas"), stored("prioritylevelconfigurations"));
  const std::lock_guard lock(state_->mutex);
  // Another thread may have read a later state since.
  if (written < read_to_) return;
  state_->set_levels(*read);
  state_->schemas = read;
  read_to_ = written;
}

void FlowControl::admit(const FlowAttributes& asked, Arrival arrival) {
  const std::shared_ptr<const FlowSchemas> schemas = this->schemas();
  const std::optional<FlowSchemas::Match> match = schemas->match(asked);
  if (!match) return arrival.run(std::move(arrival.exchange));
  std::uint64_t Counts::* refusal = nullptr;
  std::shared_ptr<HttpExchange> exchange;
  if (match->level->is_exempt) {
    exchange = std::make_shared<SeatedExchange>(std::move(arrival.exchange), headers_of(*match), nullptr);
    const std::lock_guard lock(state_->mutex);
    ++state_->counts_of(*match).dispatched;
  } else {
    const Time now = registry_.dependencies().clock.monotonic();
    const std::lock_guard lock(state_->mutex);
    const auto level = state_->levels.find(match->level->name);
    // Its level was deleted just now.
    if (level == state_->levels.end()) {
      exchange = std::move(arrival.exchange);
    } else if (state_->take_seat(*match, arrival, now, refusal)) {
      exchange = state_->seated(std::move(arrival.exchange), headers_of(*match), level->second,
                                state_->counts_of(*match));
    }
  }
  if (refusal) return refuse(arrival, headers_of(*match));
  if (exchange) arrival.run(std::move(exchange));
}

void FlowControl::tick(Time now) {
  const std::uint64_t written = written_;
  if (reported_to_ != written || state_->report_failed.exchange(false)) {
    reported_to_ = written;
    report_dangling_schemas(registry_, [state = state_] { state->report_failed = true; });
  }
  std::vector<WaitingRequest> late;
  State::Begun begun;
  {
    const std::lock_guard lock(state_->mutex);
    for (const auto& [name, level] : state_->levels) {
      for (WaitingRequest& one : level->waiting.take_if(
               [&](const WaitingRequest& waiting) { return now - waiting.since >= kFlowWaitMax; })) {
        --one.counts->waiting;
        ++one.counts->timed_out;
        late.push_back(std::move(one));
      }
      // A level that was given more seats.
      for (std::function<void()>& one : state_->begin_waiting(level)) begun.push_back(std::move(one));
    }
  }
  for (WaitingRequest& one : late) refuse(one.arrival, std::move(one.headers));
  state_->post(std::move(begun));
}

void FlowControl::write_metrics(MetricsText& text) const {
  const std::lock_guard lock(state_->mutex);
  const auto write = [&](api::Metric metric, std::uint64_t Counts::* count) {
    text.family(api::family_of(metric));
    for (const auto& [name, counts] : state_->counts) text.sample({name.first, name.second}, counts.*count);
  };
  write(api::Metric::FlowDispatched, &Counts::dispatched);
  write(api::Metric::FlowExecuting, &Counts::executing);
  write(api::Metric::FlowWaiting, &Counts::waiting);
  text.family(api::family_of(api::Metric::FlowSeats));
  for (const auto& [name, level] : state_->levels)
    text.sample({name}, static_cast<std::uint64_t>(level->seats));
  constexpr std::pair<std::string_view, std::uint64_t Counts::*> kReasons[] = {
      {"concurrency-limit", &Counts::no_seat},
      {"queue-full", &Counts::queue_full},
      {"time-out", &Counts::timed_out}};
  text.family(api::family_of(api::Metric::FlowRejected));
  for (const auto& [name, counts] : state_->counts)
    for (const auto& [reason, count] : kReasons)
      if (counts.*count > 0) text.sample({name.first, name.second, reason}, counts.*count);
}

}  // namespace berth::server
