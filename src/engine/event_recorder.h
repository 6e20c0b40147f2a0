// Writes core/v1 Events for EventNotes: best effort, repeats folded into a count, memory and rate bounded.
//
// Owner: one engine, on one thread. A note beyond a bound is dropped and counted, never waited for.
// Source: core/v1 Event; folding and the per-object rate follow client-go's recorder (25 at once, then one
// per 5 min).
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/lru_map.h"
#include "client/decider.h"
#include "engine/mailbox.h"

namespace berth::engine {

inline constexpr std::size_t kEventSeriesMax = 4096;   // stored for folding
inline constexpr std::size_t kEventSourcesMax = 4096;  // objects with a stored rate
inline constexpr std::size_t kEventsInFlightMax = 128;
inline constexpr std::int64_t kEventBurst = 25;
inline constexpr Duration kEventRefill = Duration::minutes(5);
inline constexpr std::size_t kEventMessageBytesMax = 1024;  // sent and stored
inline constexpr std::size_t kEventNameBytesMax = 253;

// Events that wait for a pause between writes; further ones are dropped. Half of the series: those that wait
// are not forgotten for as many that come after them.
inline constexpr std::size_t kEventsWaitingMax = kEventSeriesMax / 2;

// Above so many writes a second with precedence an API server is busy: a part of the events is sent then.
inline constexpr std::uint64_t kBusyWritesPerSecond = 200;
inline constexpr std::int64_t kBusyEventsDivisor = 5;

// Whether events yield to writes. If `per_second` is zero they do not, and events beyond kEventsInFlightMax
// are dropped. Else `per_second` are sent, and the others wait. Once writes have paused for `pause`, `burst`
// more are sent at once; the burst refills at the same rate. What arrives in a pause is often the next load:
// 2,000 events between the gangs of a queue cost the API server more than the gangs' own writes.
struct EventPacing {
  std::int64_t per_second = 0;
  std::int64_t burst = 100;
  Duration pause = Duration::millis(100);
};

// Writes with precedence over events.
struct WritesSent {
  Time latest;  // unset: none yet
  std::uint64_t count = 0;
};

struct EventCounters {
  std::uint64_t noted = 0;
  std::uint64_t sent = 0;
  std::uint64_t dropped = 0;  // by a bound
  std::uint64_t failed = 0;   // refused by the server
};

class EventRecorder {
 public:
  // `component` is the source.component and reportingComponent of notes without one, `instance` the
  // reportingInstance.
  EventRecorder(client::ApiClient& client, std::shared_ptr<Mailbox> mailbox, std::string component,
                std::string instance, EventPacing pacing = {});

  void note(client::EventNote note, Time now);
  void on_answer(const ClientAnswer& answer, Time now);

  // Sends as many waiting events as permitted with these writes.
  void send_waiting(const WritesSent& writes, Time now);
  // When send_waiting() should be called next, apart from responses.
  std::optional<Time> next_wake() const;

  // In flight or waiting.
  std::size_t unsent() const { return in_flight_.size() + waiting(); }
  const EventCounters& counters() const { return counters_; }

 private:
  struct Series {
    std::string ns, name;
    client::EventNote note;
    Time first, last;
    std::int64_t count = 0;
    std::int64_t sent_count = 0;
    bool under_way = false;
  };
  struct Bucket {
    std::int64_t used = 0;
    Time refilled;
  };

  std::size_t waiting() const { return waiting_[0].size() + waiting_[1].size(); }
  bool may_send(Time now);
  void measure_load(std::uint64_t writes, Time now);
  Duration interval() const {
    return Duration::micros((busy_ ? kBusyEventsDivisor : 1) * 1'000'000 / pacing_.per_second);
  }
  Time next_of_burst() const;
  bool admit(const client::EventNote& note, Time now);
  void send(const std::string& key, Series& series);
  Json object_of(const Series& series) const;

  client::ApiClient& client_;
  std::shared_ptr<Mailbox> mailbox_;
  std::string component_;
  std::string instance_;
  const EventPacing pacing_;
  std::deque<std::string> waiting_[2];  // series, each once; warnings go first
  Time next_paced_;
  Time measured_at_;  // writes_measured_, about a second ago
  std::uint64_t writes_measured_ = 0;
  bool busy_ = false;
  Time busy_until_;
  Time burst_returned_ = Time::from_micros(0);  // when every event of the burst has returned
  LruMap<Series> series_{kEventSeriesMax};
  LruMap<Bucket> buckets_{kEventSourcesMax};
  std::map<std::uint64_t, std::string> in_flight_;  // by request number: the series
  std::uint64_t last_request_ = 0;
  std::uint64_t sequence_ = 0;
  EventCounters counters_;
};

}  // namespace berth::engine
