#include "engine/event_recorder.h"

#include <algorithm>

#include "api/type_table.h"
#include "base/hex.h"
#include "base/stable_hash.h"
#include "base/utf8.h"

namespace berth::engine {

using client::EventNote;
using client::Verb;

namespace {

std::string identity_of(const EventNote& note) {
  return api::to_text(note.regarding) + '\n' + note.regarding_uid;
}

// Short, as it is kept: the object, and a hash of what its event says.
std::string series_of(const EventNote& note) {
  const std::string said = (note.warning ? "W\n" : "N\n") + note.reason + '\n' + note.action + '\n' +
                           note.message + '\n' + note.component + '\n' + note.field_path;
  return identity_of(note) + '\n' + hex_of(stable_hash(said));
}

Json decision_annotation(const std::string& id) {
  return Json::object({{"berth.dev/decision", id}});
}

// kubectl finds the events of an object by its kind. A kind that nobody knows is named by its resource.
std::string_view kind_name_of(api::Kind kind, const api::ResourceRef& resource) {
  if (kind != api::Kind::Other) return api::info_of(kind).name;
  const api::ResourceInfo* info = api::find_resource(resource.group, resource.version, resource.resource);
  return info ? info->kind : std::string_view(resource.resource);
}

std::string cut(std::string text, std::size_t bytes_max) {
  text.resize(cut_offset(text, bytes_max));
  return text;
}

}  // namespace

EventRecorder::EventRecorder(client::ApiClient& client, std::shared_ptr<Mailbox> mailbox,
                             std::string component, std::string instance, EventPacing pacing)
    : client_(client),
      mailbox_(std::move(mailbox)),
      component_(std::move(component)),
      instance_(std::move(instance)),
      pacing_(pacing) {}

bool EventRecorder::admit(const EventNote& note, Time now) {
  Bucket& bucket = buckets_.at(identity_of(note));
  if (!bucket.refilled.is_set()) bucket.refilled = now;
  const std::int64_t refills = (now - bucket.refilled).micros() / kEventRefill.micros();
  if (refills > 0) {
    bucket.used = std::max<std::int64_t>(0, bucket.used - refills);
    bucket.refilled = bucket.refilled + kEventRefill * refills;
  }
  if (bucket.used >= kEventBurst) return false;
  ++bucket.used;
  return true;
}

void EventRecorder::note(EventNote note, Time now) {
  ++counters_.noted;
  note.message = cut(std::move(note.message), kEventMessageBytesMax);
  if (!admit(note, now)) {
    ++counters_.dropped;
    return;
  }
  const std::string key = series_of(note);
  const bool paced = pacing_.per_second > 0;
  const bool full = paced ? waiting() >= kEventsWaitingMax : in_flight_.size() >= kEventsInFlightMax;
  if (full && !series_.find(key)) {
    ++counters_.dropped;
    return;
  }
  Series& series = series_.at(key);
  if (series.count == 0) {
    const std::string hex = hex_of(stable_hash(key + format_micro_time(now) + std::to_string(++sequence_)));
    series.note = note;
    series.note.message.shrink_to_fit();
    series.ns = note.regarding.ns.empty() ? "default" : note.regarding.ns;
    series.name = cut(note.regarding.name, kEventNameBytesMax - 1 - hex.size()) + "." + hex;
    series.first = now;
  }
  ++series.count;
  series.last = now;
  series.note.decision_id = note.decision_id;
  if (series.under_way) return;
  if (full) {
    ++counters_.dropped;
    return;
  }
  if (!paced) return send(key, series);
  series.under_way = true;
  waiting_[note.warning ? 0 : 1].push_back(key);
}

// When a pause permits one more of the burst.
Time EventRecorder::next_of_burst() const {
  return std::max(busy_until_, burst_returned_ + interval() * (1 - pacing_.burst));
}

bool EventRecorder::may_send(Time now) {
  if (in_flight_.size() >= kEventsInFlightMax) return false;
  if (now >= next_paced_) {
    next_paced_ = now + interval();
    return true;
  }
  if (now < next_of_burst()) return false;
  burst_returned_ = std::max(burst_returned_, now) + interval();
  return true;
}

void EventRecorder::measure_load(std::uint64_t writes, Time now) {
  constexpr Duration kPeriod = Duration::seconds(1);
  if (measured_at_.is_set() && now >= measured_at_ && now < measured_at_ + kPeriod) return;
  busy_ = measured_at_.is_set() && now < measured_at_ + kPeriod * 2 &&
          writes - writes_measured_ >= kBusyWritesPerSecond;
  measured_at_ = now;
  writes_measured_ = writes;
}

void EventRecorder::send_waiting(const WritesSent& writes, Time now) {
  measure_load(writes.count, now);
  if (writes.latest.is_set()) busy_until_ = writes.latest + pacing_.pause;
  while (waiting() > 0 && may_send(now)) {
    std::deque<std::string>& line = waiting_[waiting_[0].empty() ? 1 : 0];
    const std::string key = std::move(line.front());
    line.pop_front();
    if (Series* series = series_.find(key))
      send(key, *series);
    else
      ++counters_.dropped;
  }
}

std::optional<Time> EventRecorder::next_wake() const {
  if (waiting() == 0 || in_flight_.size() >= kEventsInFlightMax) return std::nullopt;
  return std::min(next_paced_, next_of_burst());
}

Json EventRecorder::object_of(const Series& series) const {
  const EventNote& note = series.note;
  const api::ResourceRef resource =
      note.regarding.kind == api::Kind::Other ? note.regarding.resource : api::ref_of(note.regarding.kind);
  Json involved = Json::object({{"kind", kind_name_of(note.regarding.kind, resource)}});
  const std::string& component = note.component.empty() ? component_ : note.component;
  if (!note.regarding.ns.empty()) involved["namespace"] = note.regarding.ns;
  involved["name"] = note.regarding.name;
  if (!note.regarding_uid.empty()) involved["uid"] = note.regarding_uid;
  involved["apiVersion"] = resource.api_version();
  if (!note.field_path.empty()) involved["fieldPath"] = note.field_path;
  Json object = Json::object({
      {"apiVersion", "v1"},
      {"kind", "Event"},
      {"metadata", Json::object({{"name", series.name}, {"namespace", series.ns}})},
      {"involvedObject", std::move(involved)},
      {"reason", note.reason},
      {"message", note.message},
      {"source", Json::object({{"component", component}})},
      {"firstTimestamp", format_time(series.first)},
      {"lastTimestamp", format_time(series.last)},
      {"count", series.count},
      {"type", note.warning ? "Warning" : "Normal"},
      {"reportingComponent", component},
      {"reportingInstance", instance_},
  });
  if (!note.action.empty()) object["action"] = note.action;
  if (!note.decision_id.empty()) object["metadata"]["annotations"] = decision_annotation(note.decision_id);
  return object;
}

void EventRecorder::send(const std::string& key, Series& series) {
  client::ApiRequest request;
  request.resource = {"", "v1", "events"};
  request.ns = series.ns;
  request.name = series.name;
  if (series.sent_count == 0) {
    request.verb = Verb::Create;
    request.body = to_string(object_of(series));
  } else {
    request.verb = Verb::MergePatch;
    Json patch = Json::object({{"count", series.count}, {"lastTimestamp", format_time(series.last)}});
    if (!series.note.decision_id.empty())
      patch["metadata"]["annotations"] = decision_annotation(series.note.decision_id);
    request.body = to_string(patch);
  }
  series.under_way = true;
  series.sent_count = series.count;
  const std::uint64_t number = ++last_request_;
  in_flight_.emplace(number, key);
  ++counters_.sent;
  client_.submit(std::move(request), [mailbox = mailbox_, number](client::ApiReply reply) {
    mailbox->push(ClientAnswer{RequestPurpose::Event, number, 0, std::move(reply), std::nullopt});
  });
}

void EventRecorder::on_answer(const ClientAnswer& answer, Time) {
  const auto found = in_flight_.find(answer.flight);
  BERTH_ASSERT(found != in_flight_.end(), "an event's answer comes once");
  const std::string key = std::move(found->second);
  in_flight_.erase(found);
  const bool exists = answer.reply.reason == "AlreadyExists";
  if (!answer.reply.ok() && !exists) ++counters_.failed;
  Series* series = series_.find(key);
  if (!series) return;
  series->under_way = false;
  const bool swept = answer.reply.reason == "NotFound" && series->sent_count > 1;
  if (!answer.reply.ok() && !exists) series->sent_count = 0;  // the next event creates it
  if (swept || (answer.reply.ok() && series->count > series->sent_count)) send(key, *series);
}

}  // namespace berth::engine
