#include "sim/hostile_client.h"

#include <algorithm>

#include "base/fnv.h"
#include "client/api_path.h"
#include "sim/hostile_watch.h"

namespace berth::sim {

using client::ApiReply;
using client::ApiRequest;
using client::Delivery;

namespace {

constexpr Duration kHop = Duration::millis(2);           // one way, at least
constexpr Duration kHopMax = Duration::millis(40);       // one way, on a usual day
constexpr Duration kTimeoutMin = Duration::millis(500);  // until a sender gives a request up
constexpr Duration kTimeoutMax = Duration::seconds(10);
constexpr Duration kLateMax = Duration::seconds(30);  // after its sender gave it up
constexpr Duration kAnswerLateMax = Duration::seconds(8);
constexpr std::uint64_t kRetryAfterMax = 5;  // seconds
constexpr std::uint64_t kBufferedOneIn = 3;  // requests in flight when their sender is killed

// Faults of a write, in the order in which one random number selects them.
constexpr std::array kWriteFaults = {
    FaultClass::RequestLost, FaultClass::RequestLate, FaultClass::AnswerLost, FaultClass::AnswerLate,
    FaultClass::NotSent,     FaultClass::Reset,       FaultClass::Forbidden,  FaultClass::NotFound,
    FaultClass::Conflict,    FaultClass::Throttled,   FaultClass::Invalid,    FaultClass::ServerError,
    FaultClass::ErrorAfter,  FaultClass::Unavailable};
constexpr std::array kReadFaults = {FaultClass::RequestLost, FaultClass::NotSent,     FaultClass::Reset,
                                    FaultClass::Throttled,   FaultClass::ServerError, FaultClass::Unavailable,
                                    FaultClass::NotFound};

ApiReply undelivered(Delivery delivery) {
  ApiReply reply;
  reply.delivery = delivery;
  reply.message = "injected fault";
  return reply;
}

ApiReply refused(int code, std::string reason, int retry_after_s = 0) {
  ApiReply reply = client::refused_reply(code, std::move(reason), "injected fault");
  reply.retry_after_s = retry_after_s;
  return reply;
}

// Without generated parts of names: a plan without one of its pods gives other UIDs.
std::string about(const ApiRequest& request) {
  std::string text = std::to_string(static_cast<int>(request.verb));
  text.append("/").append(request.resource.resource).append("/").append(request.subresource).append("/");
  const bool generated =
      request.resource.resource == "bindrequests" || request.resource.resource == "resourceclaims";
  return text.append(generated ? request.name.substr(0, request.name.rfind('-')) : request.name);
}

}  // namespace

std::uint64_t chance_of(std::uint64_t seed, std::string_view about, std::uint64_t nth) {
  std::uint64_t hash = fnv1a(about, kFnvStart ^ (seed * 0x9e3779b97f4a7c15ull)) + nth * 0xbf58476d1ce4e5b9ull;
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9ull;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebull;
  return hash ^ (hash >> 31);
}

Duration span_of(std::uint64_t chance, Duration low, Duration high) {
  const auto width = static_cast<std::uint64_t>((high - low).micros());
  return low + Duration::micros(static_cast<std::int64_t>(width == 0 ? 0 : chance % width));
}

struct HostileClient::Link : std::enable_shared_from_this<Link> {
  explicit Link(ProcessNetwork& net) : network(net), events(net.shared.events) {}

  struct Call {
    ApiRequest request;
    std::function<void(ApiReply)> done;
    std::uint64_t chance = 0;
    bool read = false;
    Time left = {};  // when it left the process
  };
  using CallPtr = std::shared_ptr<Call>;

  void submit(CallPtr call);
  // Counts the requests in flight.
  void count_under_way(const Call& call, std::size_t more) const {
    if (call.request.verb != client::Verb::Create) return;
    if (call.request.resource.resource == "bindrequests") network.shared.creates_under_way += more;
    if (call.request.subresource == "binding") network.shared.bindings_under_way += more;
  }
  bool dies_of(const Call& call);
  void depart(const CallPtr& call);
  std::optional<FaultClass> fault_of(const Call& call) const;
  void strike(FaultClass fault, const CallPtr& call);
  void refuse(FaultClass fault, const CallPtr& call);
  void answer(const CallPtr& call, ApiReply reply, Duration after);
  // Carries it out after `delay`, and delivers `change` of the response, `later` after that.
  void land(const CallPtr& call, Duration delay, Duration later, std::function<ApiReply(ApiReply)> change);
  void carry_out(const Call& call, ApiReply& answered);
  Duration hop(const Call& call, std::uint64_t salt) const {
    return span_of(chance_of(call.chance, "hop", salt), kHop, kHopMax);
  }

  ProcessNetwork& network;
  EventQueue& events;
  bool dead = false;
  bool paused = false;
  Time next_turn;             // of writes, when writes are slow
  std::size_t waiting = 0;    // for their turn
  std::vector<CallPtr> held;  // not sent because the process is paused
};

void HostileClient::Link::submit(CallPtr call) {
  const std::string what = about(call->request);
  call->read = call->request.verb == client::Verb::Get;
  call->chance = chance_of(network.shared.seed, network.process + "/" + what, ++network.seen[what]);
  if (dead || dies_of(*call)) return;
  const std::uint32_t rate = network.writes_per_second;
  if (call->read || rate == 0) return depart(call);
  if (!next_turn.is_set() || next_turn < events.now()) next_turn = events.now();
  const Time turn = next_turn;
  next_turn = next_turn + Duration::micros(1'000'000 / rate);
  if (turn == events.now()) return depart(call);
  BERTH_ASSERT(++waiting < kRequestsWaitingMax, "a process bounds its writes in flight");
  network.note(FaultClass::WritesSlow);
  events.at(turn, [self = shared_from_this(), call = std::move(call)] {
    --self->waiting;
    self->depart(call);
  });
}

bool HostileClient::Link::dies_of(const Call& call) {
  if (call.read || network.writes_to_live == 0) return false;
  if (call.request.resource.resource != network.deadly_resource || --network.writes_to_live > 0) return false;
  dead = true;
  network.note(FaultClass::KilledAtWrite);
  events.after(Duration(), network.on_death);
  return true;
}

void HostileClient::Link::depart(const CallPtr& call) {
  if (dead) return;
  if (paused) return held.push_back(call);
  // It leaves the process here: a permitted request may arrive at any time.
  const bool permitted = !call->request.permit || call->request.permit->granted();
  call->request.permit.reset();
  call->left = events.now();
  if (!permitted) return answer(call, undelivered(Delivery::NotSent), kHop);
  if (network.shared.is_out()) return answer(call, undelivered(Delivery::NotSent), kHop);
  if (const std::optional<FaultClass> fault = fault_of(*call)) return strike(*fault, call);
  land(call, hop(*call, 1), hop(*call, 2), nullptr);
}

std::optional<FaultClass> HostileClient::Link::fault_of(const Call& call) const {
  const std::uint64_t roll = call.chance % 1000;
  std::uint64_t below = 0;
  if (call.read) {
    if (roll >= network.rate(FaultClass::ReadFailed)) return std::nullopt;
    return kReadFaults[chance_of(call.chance, "read", 0) % kReadFaults.size()];
  }
  for (const FaultClass fault : kWriteFaults) {
    below += network.rate(fault);
    if (roll < below) return fault;
  }
  return std::nullopt;
}

void HostileClient::Link::strike(FaultClass fault, const CallPtr& call) {
  count_under_way(*call, 1);
  network.note(call->read ? FaultClass::ReadFailed : fault);
  count_under_way(*call, std::size_t{0} - 1);
  const auto lose = [](ApiReply) { return undelivered(Delivery::Lost); };
  const Duration timeout = span_of(chance_of(call->chance, "timeout", 0), kTimeoutMin, kTimeoutMax);
  switch (fault) {
    case FaultClass::RequestLost:
      return answer(call, undelivered(Delivery::Lost), timeout);
    case FaultClass::RequestLate: {
      answer(call, undelivered(Delivery::Lost), timeout);
      const Duration late = span_of(chance_of(call->chance, "late", 0), Duration::millis(1), kLateMax);
      auto orphan = std::make_shared<Call>(*call);
      orphan->done = [](ApiReply) {};
      return land(orphan, timeout + late, Duration(), nullptr);
    }
    case FaultClass::AnswerLost:
      return land(call, hop(*call, 1), timeout, lose);
    case FaultClass::AnswerLate:
      return land(call, hop(*call, 1), span_of(chance_of(call->chance, "answer", 0), kHopMax, kAnswerLateMax),
                  nullptr);
    case FaultClass::NotSent:
      return answer(call, undelivered(Delivery::NotSent), kHop);
    case FaultClass::Reset:
      if (chance_of(call->chance, "reset", 0) % 2 == 0 && !call->read)
        return land(call, hop(*call, 1), kHop, lose);
      return answer(call, undelivered(Delivery::Lost), kHop);
    case FaultClass::ErrorAfter:
      return land(call, hop(*call, 1), hop(*call, 2), [](ApiReply) { return refused(500, "InternalError"); });
    default:
      return refuse(fault, call);
  }
}

void HostileClient::Link::refuse(FaultClass fault, const CallPtr& call) {
  const Duration delay = hop(*call, 1) + hop(*call, 2);
  const auto retry_after = static_cast<int>(chance_of(call->chance, "retry", 0) % (kRetryAfterMax + 1));
  switch (fault) {
    case FaultClass::Forbidden:
      return answer(call, refused(403, "Forbidden"), delay);
    case FaultClass::NotFound:
      return answer(call, refused(404, ""), delay);
    case FaultClass::Conflict:
      return answer(call, refused(409, "Conflict"), delay);
    case FaultClass::Throttled:
      return answer(call, refused(429, "TooManyRequests", retry_after), delay);
    case FaultClass::Invalid:
      return answer(call, refused(422, "Invalid"), delay);
    case FaultClass::ServerError:
      return answer(call, refused(500, "InternalError"), delay);
    default:
      return answer(call, refused(503, "ServiceUnavailable", retry_after), delay);
  }
}

void HostileClient::Link::answer(const CallPtr& call, ApiReply reply, Duration after) {
  events.after(after, [self = shared_from_this(), call, reply = std::move(reply)] {
    if (!self->dead) call->done(reply);
  });
}

void HostileClient::Link::land(const CallPtr& call, Duration delay, Duration later,
                               std::function<ApiReply(ApiReply)> change) {
  count_under_way(*call, 1);
  if (network.shared.departed && !call->read) network.shared.departed();
  events.after(delay, [self = shared_from_this(), call, later, change = std::move(change)] {
    self->count_under_way(*call, std::size_t{0} - 1);
    if (self->network.shared.is_out()) return self->answer(call, undelivered(Delivery::Lost), kHopMax);
    // Part of what a killed process had sent was still in its own buffers.
    if (self->dead && chance_of(call->chance, "buffered", 0) % kBufferedOneIn == 0) return;
    ApiReply answered;
    if (call->request.resource.resource == "events" && !self->network.shared.keeps_events)
      answered.code = 201;
    else
      self->carry_out(*call, answered);
    self->answer(call, change ? change(std::move(answered)) : std::move(answered), later);
  });
}

void HostileClient::Link::carry_out(const Call& call, ApiReply& answered) {
  network.shared.landing_of = network.process;
  network.shared.landing_left = call.left;
  network.shared.server.submit(call.request, [&answered](ApiReply reply) { answered = std::move(reply); });
  network.shared.landing_of.clear();
}

HostileClient::HostileClient(ProcessNetwork& network) : link_(std::make_shared<Link>(network)) {}

HostileClient::~HostileClient() {
  link_->dead = true;
  link_->held.clear();
}

void HostileClient::submit(ApiRequest request, std::function<void(ApiReply)> done) {
  auto call = std::make_shared<Link::Call>();
  call->request = std::move(request);
  call->done = std::move(done);
  link_->submit(std::move(call));
}

std::unique_ptr<client::Subscription> HostileClient::list_and_watch(api::ResourceRef resource,
                                                                    client::WatchReceiver& receiver) {
  return hostile_watch(link_->network, resource, receiver);
}

void HostileClient::pause() {
  link_->paused = true;
}

void HostileClient::resume() {
  link_->paused = false;
  for (const Link::CallPtr& call : std::exchange(link_->held, {})) link_->depart(call);
}

}  // namespace berth::sim
