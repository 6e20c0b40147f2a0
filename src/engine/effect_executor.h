// Carries out the writes of Effects: chains concurrently, writes of a chain in order, with retries.
//
// Owner: one engine, on one thread. Cost: a few microseconds a write besides the client's own. A write is
// sent again only when it was not sent, was throttled (429) or met a server error (5xx except 504). When the
// view may be behind the server (Conflict, AlreadyExists, NotFound, a lost response) the object is read again
// and put into the view before the chain ends. A write with a mark (client::Write) does not end before its
// fate is known. Of requests that go to an API server at most `writes_in_flight_max` are under way.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <unordered_map>

#include "api/decoded_versions.h"
#include "client/decider.h"
#include "engine/mailbox.h"
#include "engine/refused_write_log.h"
#include "engine/work_queue.h"

namespace berth::engine {

inline constexpr std::size_t kWritesInFlightMax = 256;  // the default
inline constexpr std::uint32_t kWriteAttemptsMax = 5;
inline constexpr Duration kWriteBackoffBase = Duration::millis(50);
inline constexpr Duration kWriteBackoffCap = Duration::seconds(5);

struct EffectExecutorCounters {
  std::uint64_t writes = 0;  // requests that change something, retries included
  std::uint64_t accepted = 0;
  std::uint64_t repeated = 0;
  std::uint64_t conflicts = 0;
  std::uint64_t lost = 0;
  std::uint64_t refused = 0;
  std::uint64_t refreshes = 0;
};

// Reports to the engine what responses show.
class ViewPort {
 public:
  virtual ~ViewPort() = default;
  // Whether the view has objects of this key's kind; responses of others are not decoded.
  virtual bool keeps(const api::ObjectKey& key) const = 0;
  virtual const api::ObjectMeta* known(const api::ObjectKey& key) const = 0;
  virtual void learn(const api::ObjectKey& key, api::TypedObject object) = 0;
  // The object with this UID does not exist any more.
  virtual void forget(const api::ObjectKey& key, const std::string& uid) = 0;
};

// The target of a request.
api::ObjectKey target_of(const client::ApiRequest& request);

class EffectExecutor {
 public:
  struct Finished {
    std::uint64_t flight = 0;
    client::Outcome outcome;
    RunResult result = RunResult::Fine;
    bool told = false;  // the decider asks for the outcome (client::Write::answer_to_decider)
  };

  EffectExecutor(client::ApiClient& client, std::shared_ptr<Mailbox> mailbox, ViewPort& port,
                 std::size_t writes_in_flight_max = kWritesInFlightMax,
                 std::shared_ptr<api::DecodedVersions> decoded = nullptr);
  ~EffectExecutor();

  // Starts the chains (at least one) and returns the flight's number.
  std::uint64_t start(client::Effects effects);
  void on_answer(ClientAnswer answer, Time now);
  // Sends the retries that are due.
  void wake_due(Time now);
  // Once after whatever a step has started: the client's batches leave.
  void flush(Time now) { flush_at_ = client_.flush(now); }
  std::optional<Time> next_wake() const;
  // Flights that ended since the last call, in order.
  std::vector<Finished> take_finished();

  std::size_t flights() const { return flights_.size(); }
  const EffectExecutorCounters& counters() const { return counters_; }

 private:
  struct ChainRun;
  struct Flight;
  struct ChainRef {
    std::uint64_t flight = 0;
    std::uint32_t chain = 0;
  };

  Flight* find(std::uint64_t flight);
  void want(ChainRef chain_ref, Flight& flight);
  void pump();
  void send(ChainRef chain_ref, Flight& flight, ChainRun& run);
  void send_refresh(ChainRef chain_ref, Flight& flight, ChainRun& run);
  void on_written(ChainRef chain_ref, Flight& flight, ClientAnswer answer, Time now);
  void on_refreshed(ChainRef chain_ref, Flight& flight, ClientAnswer answer, Time now);
  void on_mark_read(ChainRef chain_ref, Flight& flight, const ClientAnswer& answer, Time now);
  void accept(ChainRef chain_ref, Flight& flight, ClientAnswer answer);
  void learn(const client::ApiRequest& request, ChainRun& run, const ClientAnswer& answer);
  void repeat_later(ChainRef chain_ref, ChainRun& run, int retry_after_s, Time now);
  void next_write(ChainRef chain_ref, Flight& flight);
  void end_chain(ChainRef chain_ref, Flight& flight, RunResult result);
  void end_part(std::uint64_t id, Flight& flight);
  void finish(std::uint64_t id, Flight& flight);

  client::ApiClient& client_;
  std::shared_ptr<Mailbox> mailbox_;
  ViewPort& port_;
  const std::shared_ptr<api::DecodedVersions> decoded_;  // also of responses that arrive after its end
  const std::size_t writes_in_flight_max_;
  std::uint64_t last_flight_ = 0;
  std::size_t in_flight_ = 0;
  std::unordered_map<std::uint64_t, std::unique_ptr<Flight>> flights_;
  std::deque<ChainRef> urgent_;  // sent before what is waiting_; a chain is in one of them at most
  std::deque<ChainRef> waiting_;
  std::multimap<Time, ChainRef> repeats_;
  std::optional<Time> flush_at_;
  std::vector<Finished> finished_;
  EffectExecutorCounters counters_;
  RefusedWriteLog refused_log_;
};

}  // namespace berth::engine
