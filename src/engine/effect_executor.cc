#include "engine/effect_executor.h"

#include <algorithm>

#include "api/serialized.h"
#include "base/backoff.h"
#include "base/known_defects.h"

namespace berth::engine {

using client::ApiReply;
using client::ApiRequest;
using client::Delivery;
using client::Verb;
using client::Write;

namespace {

enum class Meaning {
  Accepted,
  Again,     // not carried out; the same request may be sent again
  Lost,      // may or may not have been carried out
  Outdated,  // the view differs from the server's state
  Refused,
};

Meaning meaning_of(const ApiReply& reply, const Write& write) {
  constexpr int kNotFound = 404, kThrottled = 429, kNotImplemented = 501, kUnavailable = 503,
                kGatewayTimeout = 504;
  if (reply.delivery == Delivery::NotSent) return Meaning::Again;
  if (reply.delivery == Delivery::Lost || reply.code == kGatewayTimeout) return Meaning::Lost;
  if (reply.ok()) return Meaning::Accepted;
  // An error inside the server leaves open whether the write was stored.
  const bool inside = reply.code >= 500 && reply.code != kUnavailable && reply.code != kNotImplemented;
  if (write.mark && inside) return Meaning::Lost;
  const auto& fine = write.fine_reasons;
  if (std::find(fine.begin(), fine.end(), reply.reason) != fine.end()) return Meaning::Accepted;
  // A response without a Status does not come from the API server's storage.
  const bool unknown_path = reply.code == kNotFound && reply.reason.empty();
  if (write.budget_refusal_is_final && reply.code == kThrottled && reply.message == client::kBudgetRefuses)
    return Meaning::Refused;
  if (reply.code == kThrottled || reply.code >= 500 || unknown_path) return Meaning::Again;
  if (reply.reason == "Conflict" || reply.reason == "AlreadyExists" || reply.reason == "NotFound")
    return Meaning::Outdated;
  return Meaning::Refused;
}

// Whether the request whose response has this object removed it: no server keeps a deleted object without
// finalizers and grace. The response to the last finalizer's removal has the old version or that of the
// deletion.
bool is_gone(Verb verb, const api::TypedObject& object) {
  const api::ObjectMeta& meta = api::meta_of(object);
  if (!meta.finalizers.empty() || meta.deletion_grace_s.value_or(0) > 0) return false;
  if (const auto* ns = std::get_if<std::shared_ptr<const api::Namespace>>(&object))
    if (!(*ns)->finalizers.empty()) return false;
  return meta.deleting() || verb == Verb::Delete;
}

std::uint64_t version_of(const ClientAnswer& answer) {
  if (answer.object) return api::meta_of(*answer.object).resource_version;
  if (!answer.reply.object) return 0;
  const auto decoded = api::decode_typed(api::Kind::Other, answer.reply.object);
  return decoded ? api::meta_of(*decoded).resource_version : 0;
}

// Only a Status proves that the object does not exist; a 404 of an intermediary does not.
bool says_missing(const ApiReply& reply) {
  return reply.delivery == Delivery::Answered && reply.code == 404 && reply.reason == "NotFound";
}

// Whether the object as read shows that the write was carried out.
bool bears(const client::Write::Mark& mark, const ApiReply& reply) {
  const Result<Json> object = reply.kept     ? Result<Json>(api::bind_request_object(*reply.kept))
                              : reply.object ? api::parse_object(*reply.object)
                                             : Result<Json>(Json());
  const Json* at = object.ok() ? &*object : nullptr;
  for (const std::string_view part : mark.path) at = at ? at->find(part) : nullptr;
  return at && at->is_string() && at->as_string() == mark.text;
}

// The version that an update requires; empty for a create.
std::string base_version(const ApiRequest& request) {
  if (request.verb == Verb::Create) return {};
  if (request.in_memory) return std::to_string(request.in_memory->version);
  const Json body = parse_json(request.body).value_or(Json());
  const Json* version = body.find_path({"metadata", "resourceVersion"});
  return version && version->is_string() ? version->as_string() : "";
}

std::string with_version(const std::string& body, std::uint64_t version) {
  auto json = parse_json(body);
  if (version == 0 || !json || !json->is_object()) return body;
  (*json)["metadata"]["resourceVersion"] = std::to_string(version);
  return to_string(*json);
}

std::optional<api::TypedObject> object_of(const ApiReply& reply, api::Kind kind,
                                          api::DecodedVersions& decoded) {
  if (reply.kept) return reply.kept;
  if (!reply.object) return std::nullopt;
  Result<api::TypedObject> object = decoded.decode(kind, reply.object);
  return object ? std::optional(*std::move(object)) : std::nullopt;
}

}  // namespace

api::ObjectKey target_of(const ApiRequest& request) {
  api::ObjectKey key{
      api::kind_of_resource(request.resource.group, request.resource.resource), request.ns, request.name, {}};
  if (key.kind == api::Kind::Other) key.resource = request.resource;
  return key;
}

struct EffectExecutor::ChainRun {
  bool reading = false;  // the object is being read again; a retry repeats that read
  bool counted = false;  // its request is one of those in flight
  bool unknown = false;  // a copy of the current write may have been, or may still be, carried out
  std::size_t next = 0;
  std::uint32_t attempts = 0;
  std::uint64_t version = 0;  // of the previous write's response
  std::string uid_before;     // of the current write's target
  RunResult result = RunResult::Fine;
  client::ChainOutcome outcome;
};

struct EffectExecutor::Flight {
  client::Effects effects;
  std::vector<ChainRun> runs;
  std::size_t open = 0;
  bool failed = false;

  const std::vector<Write>& writes(std::uint32_t chain) const { return effects.chains[chain].writes; }
  const Write& current(std::uint32_t chain) const { return writes(chain)[runs[chain].next]; }
};

EffectExecutor::EffectExecutor(client::ApiClient& client, std::shared_ptr<Mailbox> mailbox, ViewPort& port,
                               std::size_t writes_in_flight_max,
                               std::shared_ptr<api::DecodedVersions> decoded)
    : client_(client),
      mailbox_(std::move(mailbox)),
      port_(port),
      decoded_(decoded ? std::move(decoded) : std::make_shared<api::DecodedVersions>()),
      writes_in_flight_max_(writes_in_flight_max) {}
EffectExecutor::~EffectExecutor() = default;

std::uint64_t EffectExecutor::start(client::Effects effects) {
  BERTH_ASSERT(!effects.chains.empty(), "a flight has at least one chain");
  const std::uint64_t id = ++last_flight_;
  auto flight = std::make_unique<Flight>();
  flight->runs.resize(effects.chains.size());
  flight->open = effects.chains.size();
  flight->effects = std::move(effects);
  for (std::size_t i = 0; i < flight->runs.size(); ++i)
    flight->runs[i].outcome.key = flight->effects.chains[i].key;
  Flight& kept = *flight;
  flights_.emplace(id, std::move(flight));
  const auto chains = static_cast<std::uint32_t>(kept.runs.size());
  for (std::uint32_t chain = 0; chain < chains; ++chain) next_write({id, chain}, kept);
  pump();
  return id;
}

EffectExecutor::Flight* EffectExecutor::find(std::uint64_t flight) {
  const auto found = flights_.find(flight);
  return found == flights_.end() ? nullptr : found->second.get();
}

// What is begun is ended first: else a thousand chains that start together all end late.
void EffectExecutor::want(ChainRef chain_ref, Flight& flight) {
  ChainRun& run = flight.runs[chain_ref.chain];
  run.counted = !client_.holds(flight.current(chain_ref.chain).request);
  if (!run.counted) return send(chain_ref, flight, run);
  const bool first = run.next > 0 || flight.effects.chains[chain_ref.chain].urgent;
  (first ? urgent_ : waiting_).push_back(chain_ref);
}

void EffectExecutor::pump() {
  while (in_flight_ < writes_in_flight_max_ && !(urgent_.empty() && waiting_.empty())) {
    std::deque<ChainRef>& queue = urgent_.empty() ? waiting_ : urgent_;
    const ChainRef chain_ref = queue.front();
    queue.pop_front();
    Flight* flight = find(chain_ref.flight);
    BERTH_ASSERT(flight, "a flight lives as long as one of its chains waits");
    send(chain_ref, *flight, flight->runs[chain_ref.chain]);
  }
}

void EffectExecutor::send(ChainRef chain_ref, Flight& flight, ChainRun& run) {
  const bool begun = run.next > 0 || run.unknown || run.attempts > 0;
  if (flight.failed && flight.effects.stop_on_failure && !begun)
    return end_chain(chain_ref, flight, RunResult::Fine);
  const Write& write = flight.current(chain_ref.chain);
  ApiRequest request = write.request;
  if (write.on_previous_version) request.body = with_version(request.body, run.version);
  const api::ObjectKey key = target_of(request);
  const bool keeps = request.subresource != client::kScaleSubresource && port_.keeps(key);
  const api::ObjectMeta* known = keeps ? port_.known(key) : nullptr;
  run.uid_before = known ? known->uid : "";
  in_flight_ += run.counted;
  ++counters_.writes;
  client_.submit(std::move(request),
                 [mailbox = mailbox_, decoded = decoded_, chain_ref, keeps, kind = key.kind](ApiReply reply) {
                   ClientAnswer answer{RequestPurpose::Write, chain_ref.flight, chain_ref.chain,
                                       std::move(reply), std::nullopt};
                   if (keeps) answer.object = object_of(answer.reply, kind, *decoded);
                   mailbox->push(std::move(answer));
                 });
}

void EffectExecutor::send_refresh(ChainRef chain_ref, Flight& flight, ChainRun& run) {
  ApiRequest request = flight.current(chain_ref.chain).request;
  request.verb = Verb::Get;
  request.subresource.clear();
  request.body.clear();
  request.in_memory.reset();
  run.counted = true;
  ++in_flight_;
  ++counters_.refreshes;
  const api::Kind kind = target_of(request).kind;
  client_.submit(std::move(request),
                 [mailbox = mailbox_, decoded = decoded_, chain_ref, kind](ApiReply reply) {
                   ClientAnswer answer{RequestPurpose::Refresh, chain_ref.flight, chain_ref.chain,
                                       std::move(reply), std::nullopt};
                   answer.object = object_of(answer.reply, kind, *decoded);
                   mailbox->push(std::move(answer));
                 });
}

void EffectExecutor::on_answer(ClientAnswer answer, Time now) {
  const ChainRef chain_ref{answer.flight, answer.part};
  Flight* flight = find(chain_ref.flight);
  BERTH_ASSERT(flight, "a flight lives until every answer came");
  in_flight_ -= flight->runs[chain_ref.chain].counted;
  if (answer.purpose == RequestPurpose::Refresh)
    on_refreshed(chain_ref, *flight, std::move(answer), now);
  else
    on_written(chain_ref, *flight, std::move(answer), now);
  pump();
}

void EffectExecutor::on_written(ChainRef chain_ref, Flight& flight, ClientAnswer answer, Time now) {
  ChainRun& run = flight.runs[chain_ref.chain];
  const Write& write = flight.current(chain_ref.chain);
  const Meaning meaning = meaning_of(answer.reply, write);
  run.outcome.last = answer.reply;
  if (meaning == Meaning::Accepted) return accept(chain_ref, flight, std::move(answer));
  if (meaning == Meaning::Lost) ++counters_.lost;
  if (answer.reply.reason == "Conflict") ++counters_.conflicts;
  run.unknown |= meaning == Meaning::Lost;

  const bool followed = write.mark.has_value() && !has(KnownDefect::UnknownFateTakenAsNotDone);
  if (meaning == Meaning::Again && (++run.attempts < kWriteAttemptsMax || (followed && run.unknown)))
    return repeat_later(chain_ref, run, answer.reply.retry_after_s, now);
  const bool readable = !write.request.name.empty() && port_.keeps(target_of(write.request));
  const bool look = followed ? run.unknown || meaning == Meaning::Outdated
                             : meaning == Meaning::Lost || meaning == Meaning::Outdated;
  if (look && readable) {
    if (!followed) run.attempts = 0;
    run.reading = true;
    flight.failed |= !followed;
    return send_refresh(chain_ref, flight, run);
  }
  ++counters_.refused;
  refused_log_.note(write.request, answer.reply, now);
  end_chain(chain_ref, flight, RunResult::Failed);
}

// Decides the fate of a write with a mark from the object as read.
void EffectExecutor::on_mark_read(ChainRef chain_ref, Flight& flight, const ClientAnswer& answer, Time now) {
  ChainRun& run = flight.runs[chain_ref.chain];
  const Write& write = flight.current(chain_ref.chain);
  const api::ObjectKey key = target_of(write.request);
  const bool missing = says_missing(answer.reply);
  if (!answer.object && !missing) {
    ++run.attempts;
    repeats_.emplace(now + backoff(kWriteBackoffBase, kWriteBackoffCap, run.attempts), chain_ref);
    return;
  }
  if (answer.object) port_.learn(key, *answer.object);
  if (missing && !run.uid_before.empty()) port_.forget(key, run.uid_before);
  run.reading = false;
  const bool ours = bears(*write.mark, answer.reply) || has(KnownDefect::AlreadyExistsCountsAsOurs);
  if (answer.object && ours) return accept(chain_ref, flight, answer);
  // A create can succeed only while no object exists, an update only on its version.
  const bool may_land =
      missing ? write.request.verb == Verb::Create
              : answer.object && std::to_string(api::meta_of(*answer.object).resource_version) ==
                                     base_version(write.request);
  if (!may_land) return end_chain(chain_ref, flight, RunResult::Stale);
  ++run.attempts;
  repeat_later(chain_ref, run, 0, now);
}

void EffectExecutor::on_refreshed(ChainRef chain_ref, Flight& flight, ClientAnswer answer, Time now) {
  if (flight.current(chain_ref.chain).mark && !has(KnownDefect::UnknownFateTakenAsNotDone))
    return on_mark_read(chain_ref, flight, answer, now);
  ChainRun& run = flight.runs[chain_ref.chain];
  const api::ObjectKey key = target_of(flight.current(chain_ref.chain).request);
  const bool missing = says_missing(answer.reply);
  if (answer.object) {
    port_.learn(key, *answer.object);
    if (run.outcome.last.delivery == Delivery::Lost) run.outcome.last.object = answer.reply.object;
  } else if (missing) {
    if (!run.uid_before.empty()) port_.forget(key, run.uid_before);
  } else if (++run.attempts < kWriteAttemptsMax) {
    const Duration delay = backoff(kWriteBackoffBase, kWriteBackoffCap, run.attempts);
    repeats_.emplace(now + delay, chain_ref);
    return;
  } else {
    return end_chain(chain_ref, flight, RunResult::Failed);
  }
  // A missing target will be missing again at once: that is no race.
  const bool raced = run.outcome.last.reason != "NotFound";
  end_chain(chain_ref, flight, raced ? RunResult::Stale : RunResult::Failed);
}

void EffectExecutor::learn(const ApiRequest& request, ChainRun& run, const ClientAnswer& answer) {
  const api::ObjectKey key = target_of(request);
  const bool deleted = request.verb == Verb::Delete && request.subresource.empty();
  if (answer.object) {
    api::ObjectKey answered = key;
    answered.name = api::meta_of(*answer.object).name;  // generateName
    if (is_gone(request.verb, *answer.object))
      port_.forget(answered, api::meta_of(*answer.object).uid);
    else
      port_.learn(answered, *answer.object);
  } else if (deleted && !answer.reply.object && !run.uid_before.empty()) {
    port_.forget(key, run.uid_before);
  }
}

void EffectExecutor::accept(ChainRef chain_ref, Flight& flight, ClientAnswer answer) {
  ChainRun& run = flight.runs[chain_ref.chain];
  ++counters_.accepted;
  learn(flight.current(chain_ref.chain).request, run, answer);
  run.attempts = 0;
  run.unknown = false;
  const std::string& stop_uid = flight.current(chain_ref.chain).stop_if_uid;
  if (!stop_uid.empty() && answer.object &&
      (stop_uid == client::kAnyUid || api::meta_of(*answer.object).uid == stop_uid))
    return end_chain(chain_ref, flight, RunResult::Stale);
  ++run.outcome.writes_accepted;
  ++run.next;
  const auto& writes = flight.writes(chain_ref.chain);
  if (run.next < writes.size() && writes[run.next].on_previous_version) run.version = version_of(answer);
  next_write(chain_ref, flight);
}

void EffectExecutor::repeat_later(ChainRef chain_ref, ChainRun& run, int retry_after_s, Time now) {
  ++counters_.repeated;
  const Duration own = backoff(kWriteBackoffBase, kWriteBackoffCap, run.attempts);
  const Duration asked = std::min(Duration::seconds(retry_after_s), kKeyBackoffCap);
  repeats_.emplace(now + std::max(own, asked), chain_ref);
}

void EffectExecutor::wake_due(Time now) {
  while (!repeats_.empty() && repeats_.begin()->first <= now) {
    const ChainRef chain_ref = repeats_.begin()->second;
    repeats_.erase(repeats_.begin());
    Flight* flight = find(chain_ref.flight);
    BERTH_ASSERT(flight, "a flight lives as long as a repeat waits");
    ChainRun& run = flight->runs[chain_ref.chain];
    if (run.reading)
      send_refresh(chain_ref, *flight, run);
    else
      want(chain_ref, *flight);
  }
  pump();
}

std::optional<Time> EffectExecutor::next_wake() const {
  if (repeats_.empty()) return flush_at_;
  const Time repeat_at = repeats_.begin()->first;
  return std::min(repeat_at, flush_at_.value_or(repeat_at));
}

void EffectExecutor::next_write(ChainRef chain_ref, Flight& flight) {
  ChainRun& run = flight.runs[chain_ref.chain];
  if (run.next < flight.writes(chain_ref.chain).size()) return want(chain_ref, flight);
  run.outcome.ok = true;
  end_chain(chain_ref, flight, RunResult::Fine);
}

void EffectExecutor::end_chain(ChainRef chain_ref, Flight& flight, RunResult result) {
  ChainRun& run = flight.runs[chain_ref.chain];
  run.result = result;
  run.reading = false;
  if (!run.outcome.ok) flight.failed = true;
  end_part(chain_ref.flight, flight);
}

void EffectExecutor::end_part(std::uint64_t id, Flight& flight) {
  if (--flight.open == 0) finish(id, flight);
}

void EffectExecutor::finish(std::uint64_t id, Flight& flight) {
  Finished finished{id, {flight.effects.decision_id, {}}, RunResult::Fine};
  for (const client::Chain& chain : flight.effects.chains)
    finished.told |= !chain.writes.empty() && chain.writes.back().answer_to_decider;
  for (ChainRun& run : flight.runs) {
    finished.result = std::max(finished.result, run.result);
    finished.outcome.chains.push_back(std::move(run.outcome));
  }
  finished_.push_back(std::move(finished));
  flights_.erase(id);
}

std::vector<EffectExecutor::Finished> EffectExecutor::take_finished() {
  return std::exchange(finished_, {});
}

}  // namespace berth::engine
