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
#include "server/flow_rows.h"
#include "server/flow_schema_status.h"
#include "server/flow_seats.h"
#include "server/registry.h"

namespace berth::server {
namespace {

// Whether the peer of a request that waits has gone.
using PeerGonePtr = std::shared_ptr<std::atomic<bool>>;

struct WaitingRequest {
  FlowControl::Arrival arrival;
  Headers headers;
  FlowCounts* counts = nullptr;
  Time since;        // monotonic
  PeerGonePtr peer;  // its own
};

struct LevelState {
  bool is_gone = false;  // its object is
  LevelSeats seats;
  std::size_t flow_waiting_max = 0, waiting_max = 0, bytes_max = 0;
  FairLine<WaitingRequest> waiting;

  bool has_room_for(const std::string& flow, std::size_t bytes) const {
    if (waiting.size() >= waiting_max || waiting.size_of(flow) >= flow_waiting_max) return false;
    const auto fits = [bytes](std::size_t held, std::size_t max) { return held == 0 || held + bytes <= max; };
    return bytes == 0 || (fits(waiting.bytes(), bytes_max) &&
                          fits(waiting.bytes_of(flow), bytes_max / kFlowsOfWaitingBytes));
  }
};
using LevelStatePtr = std::shared_ptr<LevelState>;

Headers headers_of(const FlowSchemas::Match& match) {
  return {{"X-Kubernetes-PF-FlowSchema-UID", match.schema->uid},
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

struct FlowControl::Compiled {
  FlowSchemas schemas;
  std::vector<LevelStatePtr> levels;  // of schemas.levels()
  // Of schemas.schemas(), under the lock of the state; null until a request needs it.
  std::vector<FlowCounts*> rows;
};

struct FlowControl::State : std::enable_shared_from_this<State> {
  State(Executor& the_executor, const Clock& the_clock) : executor(the_executor), clock(the_clock) {}

  using Begun = std::vector<std::function<void()>>;
  FlowCounts& row_of(Compiled& compiled, const FlowSchemas::Match& match);
  // An exchange with a seat, when the request may run now. Else it waits, once `peer` is there, or `refusal`
  // says why not. Nothing happens when the peer has gone.
  std::shared_ptr<HttpExchange> take_seat(Compiled& compiled, const FlowSchemas::Match& match,
                                          const std::string& flow, Arrival& arrival, const PeerGonePtr& peer,
                                          std::uint64_t FlowCounts::*& refusal);
  // The request of this peer waits no longer.
  void drop(LevelState& level, const std::string& flow, const PeerGonePtr& peer);
  // Gives free seats to the levels that wait, and in a level to its flows in turn. First come levels that
  // wait for their own seats, then those that borrow least, by name. Cost: O(levels) for each that begins.
  Begun begin_waiting();
  std::function<void()> begin_one(const LevelStatePtr& level);
  void count_waiting(FlowCounts& row, int by);
  void give_back(const LevelStatePtr& level, FlowCounts& counts);
  std::shared_ptr<HttpExchange> seated(std::shared_ptr<HttpExchange> exchange, Headers headers,
                                       const LevelStatePtr& level, FlowCounts& counts);
  void post(Begun begun);
  std::vector<LevelStatePtr> set_levels(const FlowSchemas& schemas);

  Executor& executor;
  const Clock& clock;
  mutable std::mutex mutex;
  bool stopped = false;  // nothing that waits begins any more
  std::atomic<bool> report_failed = false;
  std::map<std::string, LevelStatePtr> levels;
  std::size_t waiting = 0;  // in all levels
  SeatPool pool;
  FlowRows rows;
};

FlowCounts& FlowControl::State::row_of(Compiled& compiled, const FlowSchemas::Match& match) {
  FlowCounts*& row = compiled.rows[match.schema_at];
  if (!row) row = &rows.of({match.level->name, match.schema->name});
  return *row;
}

std::shared_ptr<HttpExchange> FlowControl::State::seated(std::shared_ptr<HttpExchange> exchange,
                                                         Headers headers, const LevelStatePtr& level,
                                                         FlowCounts& counts) {
  return std::make_shared<SeatedExchange>(std::move(exchange), std::move(headers),
                                          [weak = weak_from_this(), level, row = &counts] {
                                            if (const auto self = weak.lock()) self->give_back(level, *row);
                                          });
}

std::shared_ptr<HttpExchange> FlowControl::State::take_seat(Compiled& compiled,
                                                            const FlowSchemas::Match& match,
                                                            const std::string& flow, Arrival& arrival,
                                                            const PeerGonePtr& peer,
                                                            std::uint64_t FlowCounts::*& refusal) {
  const std::lock_guard lock(mutex);
  const LevelStatePtr& level = compiled.levels[match.level_at];
  // It was deleted just now.
  if (level->is_gone) return std::move(arrival.exchange);
  FlowCounts& row = row_of(compiled, match);
  if (level->waiting.empty() && pool.has_seat(level->seats)) {
    pool.take(level->seats);
    ++row.executing;
    ++row.dispatched;
    return seated(std::move(arrival.exchange), headers_of(match), level, row);
  }
  if (!level->has_room_for(flow, arrival.body_bytes)) {
    refusal = level->waiting_max == 0 ? &FlowCounts::no_seat : &FlowCounts::queue_full;
    ++(row.*refusal);
    return nullptr;
  }
  if (!peer) return nullptr;
  if (*peer) {
    ++row.cancelled;
    return nullptr;
  }
  const std::size_t bytes = arrival.body_bytes;
  level->waiting.push(flow, {std::move(arrival), headers_of(match), &row, clock.monotonic(), peer}, bytes);
  count_waiting(row, 1);
  return nullptr;
}

void FlowControl::State::drop(LevelState& level, const std::string& flow, const PeerGonePtr& peer) {
  std::vector<WaitingRequest> dropped;  // freed after the lock
  const std::lock_guard lock(mutex);
  dropped = level.waiting.take_if(flow, [&](const WaitingRequest& one) { return one.peer == peer; });
  for (const WaitingRequest& one : dropped) {
    count_waiting(*one.counts, -1);
    ++one.counts->cancelled;
  }
}

void FlowControl::State::count_waiting(FlowCounts& row, int by) {
  row.waiting += static_cast<std::uint64_t>(by);
  waiting += static_cast<std::size_t>(by);
}

std::function<void()> FlowControl::State::begin_one(const LevelStatePtr& level) {
  WaitingRequest next = level->waiting.pop();
  pool.take(level->seats);
  count_waiting(*next.counts, -1);
  ++next.counts->executing;
  ++next.counts->dispatched;
  return [run = std::move(next.arrival.run),
          exchange = seated(std::move(next.arrival.exchange), std::move(next.headers), level, *next.counts)] {
    run(exchange);
  };
}

FlowControl::State::Begun FlowControl::State::begin_waiting() {
  Begun begun;
  while (!stopped && waiting > 0) {
    LevelStatePtr next;
    for (const auto& [name, level] : levels)
      if (!level->waiting.empty() && pool.has_seat(level->seats) &&
          (!next || level->seats.would_borrow() < next->seats.would_borrow()))
        next = level;
    if (!next) break;
    begun.push_back(begin_one(next));
  }
  return begun;
}

void FlowControl::State::give_back(const LevelStatePtr& level, FlowCounts& row) {
  Begun begun;
  {
    const std::lock_guard lock(mutex);
    pool.give_back(level->seats);
    --row.executing;
    begun = begin_waiting();
  }
  post(std::move(begun));
}

void FlowControl::State::post(Begun begun) {
  for (std::function<void()>& one : begun) executor.post(std::move(one));
}

std::vector<LevelStatePtr> FlowControl::State::set_levels(const FlowSchemas& next) {
  std::int64_t shares = 0;
  for (const PriorityLevelPtr& level : next.levels()) shares += level->shares;
  std::map<std::string, LevelStatePtr> before = std::exchange(levels, {});
  pool = SeatPool();
  std::vector<LevelStatePtr> states;
  for (const PriorityLevelPtr& level : next.levels()) {
    const auto known = before.extract(level->name);
    LevelStatePtr state = known ? known.mapped() : std::make_shared<LevelState>();
    state->is_gone = false;
    state->seats.set_limits(*level, shares);
    pool.add(state->seats);
    state->flow_waiting_max = level->flow_waiting_max;
    state->waiting_max = level->waiting_max;
    state->bytes_max = static_cast<std::size_t>(part_of_level(kFlowWaitingBytesMax, *level, shares));
    levels[level->name] = state;
    states.push_back(std::move(state));
  }
  // What waits in a level that is gone has the seats that it had.
  for (auto& [name, state] : before) {
    state->is_gone = true;
    state->seats.retire();
    if (!state->waiting.empty()) levels[name] = std::move(state);
  }
  return states;
}

FlowControl::FlowControl(Registry& registry)
    : registry_(registry),
      compiled_(std::make_shared<Compiled>()),
      state_(std::make_shared<State>(registry.dependencies().executor, registry.dependencies().clock)) {}

FlowControl::~FlowControl() {
  stop();
}

void FlowControl::stop() {
  const std::lock_guard lock(state_->mutex);
  state_->stopped = true;
}

void FlowControl::noted(const ObjectTarget& target) {
  if (target.resource->group != kFlowControlGroup) return;
  ++written_;
  if (target.subresource.empty()) ++specs_written_;
}

std::shared_ptr<FlowControl::Compiled> FlowControl::compiled() {
  if (read_to_ != specs_written_) read_again();
  const std::lock_guard lock(compiled_mutex_);
  return compiled_;
}

// Who comes while they are read waits: an acknowledged schema holds for every later request.
void FlowControl::read_again() {
  const std::lock_guard reading(reading_);
  const std::uint64_t written = specs_written_;
  if (read_to_ == written) return;
  const auto of_group = [](std::string_view plural) {
    return std::string(plural).append(".").append(kFlowControlGroup);
  };
  auto read = std::make_shared<Compiled>();
  read->schemas = FlowSchemas(schemas_.read(registry_, of_group("flowschemas")),
                              levels_.read(registry_, of_group("prioritylevelconfigurations")));
  read->rows.resize(read->schemas.schemas().size());
  {
    const std::lock_guard lock(state_->mutex);
    read->levels = state_->set_levels(read->schemas);
  }
  const std::lock_guard lock(compiled_mutex_);
  compiled_ = std::move(read);
  read_to_ = written;
}

void FlowControl::admit(const FlowAttributes& asked, Arrival arrival) {
  const std::shared_ptr<Compiled> compiled = this->compiled();
  const std::optional<FlowSchemas::Match> match = compiled->schemas.match(asked);
  if (!match) return arrival.run(std::move(arrival.exchange));
  std::uint64_t FlowCounts::* refusal = nullptr;
  std::shared_ptr<HttpExchange> exchange;
  if (match->level->is_exempt) {
    exchange = std::make_shared<SeatedExchange>(std::move(arrival.exchange), headers_of(*match), nullptr);
    const std::lock_guard lock(state_->mutex);
    ++state_->row_of(*compiled, *match).dispatched;
  } else {
    const std::string flow = match->schema->flow_of(asked);
    exchange = state_->take_seat(*compiled, *match, flow, arrival, nullptr, refusal);
    // The peer is watched before the request waits: what runs later has a callback of its own.
    if (!exchange && !refusal) {
      const auto peer = std::make_shared<std::atomic<bool>>(false);
      arrival.exchange->on_close([weak = std::weak_ptr(state_),
                                  weak_level = std::weak_ptr(compiled->levels[match->level_at]), flow, peer] {
        *peer = true;
        const auto state = weak.lock();
        if (const LevelStatePtr level = weak_level.lock(); state && level) state->drop(*level, flow, peer);
      });
      exchange = state_->take_seat(*compiled, *match, flow, arrival, peer, refusal);
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
        state_->count_waiting(*one.counts, -1);
        ++one.counts->timed_out;
        late.push_back(std::move(one));
      }
    }
    // A level that was given more seats.
    begun = state_->begin_waiting();
    std::erase_if(state_->levels,
                  [](const auto& level) { return level.second->is_gone && level.second->waiting.empty(); });
  }
  for (WaitingRequest& one : late) refuse(one.arrival, std::move(one.headers));
  state_->post(std::move(begun));
}

void FlowControl::write_metrics(MetricsText& text) const {
  std::vector<std::pair<FlowRows::Name, FlowCounts>> rows;
  std::vector<std::pair<std::string, std::int64_t>> seats;
  {
    const std::lock_guard lock(state_->mutex);
    rows = state_->rows.copy();
    for (const auto& [name, level] : state_->levels) seats.emplace_back(name, level->seats.nominal);
  }
  const auto write = [&](api::Metric metric, std::uint64_t FlowCounts::* count) {
    text.family(api::family_of(metric));
    for (const auto& [name, counts] : rows) text.sample({name.first, name.second}, counts.*count);
  };
  write(api::Metric::FlowDispatched, &FlowCounts::dispatched);
  write(api::Metric::FlowExecuting, &FlowCounts::executing);
  write(api::Metric::FlowWaiting, &FlowCounts::waiting);
  text.family(api::family_of(api::Metric::FlowSeats));
  for (const auto& [name, count] : seats) text.sample({name}, static_cast<std::uint64_t>(count));
  constexpr std::pair<std::string_view, std::uint64_t FlowCounts::*> kReasons[] = {
      {"concurrency-limit", &FlowCounts::no_seat},
      {"queue-full", &FlowCounts::queue_full},
      {"time-out", &FlowCounts::timed_out},
      {"cancelled", &FlowCounts::cancelled}};
  text.family(api::family_of(api::Metric::FlowRejected));
  for (const auto& [name, counts] : rows)
    for (const auto& [reason, count] : kReasons)
      if (counts.*count > 0) text.sample({name.first, name.second, reason}, counts.*count);
}

}  // namespace berth::server
