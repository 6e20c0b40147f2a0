#include "health/node_plugins.h"

#include <algorithm>

#include "api/names.h"
#include "base/backoff.h"
#include "base/log.h"

namespace berth::health {
namespace {

struct KnownService {
  std::string_view name;
  std::optional<HealthService> health;
  std::optional<ClaimService> claims;
};

constexpr std::string_view kPluginType = "DRAPlugin";
const KnownService kKnownServices[] = {
    {"v1.DRAPlugin", std::nullopt, ClaimService::V1},
    {"v1beta1.DRAPlugin", std::nullopt, ClaimService::V1Beta1},
    {"v1.DRAResourceHealth", HealthService::V1, std::nullopt},
    {"v1alpha1.DRAResourceHealth", HealthService::V1Alpha1, std::nullopt},
    {"v1alpha1.NodeHealth", HealthService::Kep, std::nullopt},
};

}  // namespace

NodePlugins::NodePlugins(std::string node, PluginClient& client, Post post, Observer observer,
                         HealthTiming timing, NodeRole role)
    : node_(std::move(node)),
      client_(client),
      post_(std::move(post)),
      observer_(std::move(observer)),
      timing_(timing),
      role_(role),
      cache_(timing.timeout) {}
NodePlugins::~NodePlugins() = default;

void NodePlugins::appeared(const std::string& path, Time now) {
  vanished(path, now);
  std::string refusal;
  if (path.size() > kSocketPathBytesMax)
    refusal =
        "the path is longer than the " + std::to_string(kSocketPathBytesMax) + " bytes of a unix socket";
  if (sockets_.size() >= kPluginSocketsPerNodeMax)
    refusal = "more than " + std::to_string(kPluginSocketsPerNodeMax) + " plugins on one node";
  if (!refusal.empty())
    return log(LogLevel::Warning, "a plugin socket is not used", {{"socket", path}, {"cause", refusal}});
  sockets_[path].generation = ++last_generation_;
  introduce(path);
  note_introductions();
}

void NodePlugins::note_introductions() const {
  observer_.introducing(std::any_of(sockets_.begin(), sockets_.end(), [](const auto& socket) {
    return socket.second.driver.empty() && socket.second.failures < kIntroductionsAwaited;
  }));
}

void NodePlugins::vanished(const std::string& path, Time now) {
  const auto found = sockets_.find(path);
  if (found == sockets_.end()) return;
  forget(found->second, path, now);
  sockets_.erase(found);
  note_introductions();
}

void NodePlugins::forget(Socket& socket, const std::string& path, Time now) {
  if (socket.driver.empty()) return;
  const std::string name = std::exchange(socket.driver, "");
  std::erase_if(drivers_.at(name).instances, [&](const Instance& one) { return one.socket == path; });
  log(LogLevel::Info, "a plugin left", {{"node", node_}, {"driver", name}});
  choose(name, now);
  update_claim_driver(name, now);
}

void NodePlugins::introduce(const std::string& path) {
  const std::uint64_t generation = sockets_.at(path).generation;
  client_.introduce(path, [post = post_, path, generation](Result<PluginInfo> info) {
    post(
        [path, generation, info](NodePlugins& self, Time now) { self.on_info(path, generation, info, now); });
  });
}

void NodePlugins::retry(Socket& socket, Time now) {
  socket.retry_at = now + backoff(kRegisterBackoffBase, kRegisterBackoffMax, ++socket.failures);
  note_introductions();
}

Result<NodePlugins::Instance> NodePlugins::accepted(const std::string& path, const PluginInfo& info) const {
  const auto refuse = [](std::string text) { return Error(ErrorCode::Invalid, std::move(text)); };
  if (info.type != kPluginType)
    return refuse("plugins of type \"" + info.type + "\" are not handled on this node");
  if (const auto problems = api::dns_subdomain_problems(info.name); !problems.empty())
    return refuse("the driver name \"" + info.name + "\" is invalid: " + problems.front());
  Instance instance{path, info.endpoint.empty() ? path : info.endpoint, std::nullopt, std::nullopt};
  if (instance.endpoint.size() > kSocketPathBytesMax)
    return refuse("the endpoint is longer than the " + std::to_string(kSocketPathBytesMax) +
                  " bytes of a unix socket");
  bool known = false;
  for (const std::string& offered : info.services)
    for (const KnownService& service : kKnownServices) {
      if (offered != service.name) continue;
      known = true;
      if (!instance.service) instance.service = service.health;
      if (!instance.claims) instance.claims = service.claims;
    }
  if (!known)
    return refuse("none of the offered services is known; supported_versions names them like v1.DRAPlugin");
  if (const auto driver = drivers_.find(info.name); driver != drivers_.end())
    for (const Instance& other : driver->second.instances)
      if (other.endpoint == instance.endpoint)
        return refuse("another instance of the driver is registered with the same endpoint");
  return instance;
}

void NodePlugins::on_info(const std::string& path, std::uint64_t generation, const Result<PluginInfo>& info,
                          Time now) {
  const auto found = sockets_.find(path);
  if (found == sockets_.end() || found->second.generation != generation) return;
  Socket& socket = found->second;
  if (!info) return retry(socket, now);
  const Result<Instance> instance = accepted(path, *info);
  if (!instance && is_guest()) return;  // not a guest's to refuse
  if (!instance) {
    log(LogLevel::Warning, "a plugin is refused", {{"socket", path}, {"cause", instance.error().message()}});
    client_.notify(path, Registered::No, instance.error().message(), [](const Status&) {});
    return retry(socket, now);
  }
  socket.driver = info->name;
  drivers_[info->name].instances.push_back(*instance);
  log(LogLevel::Info, "a plugin registered", {{"node", node_}, {"driver", info->name}});
  choose(info->name, now);
  update_claim_driver(info->name, now);
  note_introductions();
  if (!is_guest()) answer_registration(path, generation);
}

void NodePlugins::answer_registration(const std::string& path, std::uint64_t generation) {
  client_.notify(path, Registered::Yes, "", [post = post_, path, generation](const Status& told) {
    if (told.ok()) return;
    post([path, generation](NodePlugins& self, Time later) {
      const auto at = self.sockets_.find(path);
      if (at == self.sockets_.end() || at->second.generation != generation) return;
      self.forget(at->second, path, later);
      self.retry(at->second, later);
    });
  });
}

void NodePlugins::restore_claim_drivers(const std::set<std::string>& names) {
  for (const std::string& name : names) claim_drivers_.emplace(name, Registered::No);
}

// A driver stays known when it leaves: the pods that need it wait for it.
void NodePlugins::update_claim_driver(const std::string& name, Time now) {
  const auto& instances = drivers_.at(name).instances;
  const bool serves = !instances.empty() && instances.back().claims;
  if (!serves && !claim_drivers_.contains(name)) return;
  claim_drivers_.insert_or_assign(name, serves ? Registered::Yes : Registered::No);
  observer_.claims(now);
}

NodePlugins::ClaimEndpoint NodePlugins::claim_endpoint(const std::string& driver) const {
  const Instance& newest = drivers_.at(driver).instances.back();
  return {newest.endpoint, *newest.claims};
}

// Updates the streams after a change of the newest instance.
void NodePlugins::choose(const std::string& name, Time now) {
  Driver& driver = drivers_.at(name);
  const bool none = driver.instances.empty();
  if (none || !driver.instances.back().service) {
    driver.current.reset();
    driver.successor.reset();
    return show(cache_.note_stream(name, none ? StreamState::Gone : StreamState::Unsupported, now), now);
  }
  const Instance& newest = driver.instances.back();
  const auto listens_to = [&](const std::optional<Listening>& listening) {
    return listening && listening->instance.endpoint == newest.endpoint &&
           listening->instance.service == newest.service;
  };
  if (listens_to(driver.current)) return driver.successor.reset();
  if (listens_to(driver.successor)) return;
  auto& place = driver.current ? driver.successor : driver.current;
  if (!driver.current) show(cache_.note_stream(name, StreamState::Down, now), now);
  place = Listening{};
  place->instance = newest;
  driver.hand_over_by = now + kHandOverMax;
  open(name, *place, now);
}

void NodePlugins::open(const std::string& name, Listening& listening, Time now) {
  const std::uint64_t generation = listening.generation = ++last_generation_;
  listening.retry_at.reset();
  listening.opened_at = now;
  listening.gaps = 0;
  if (is_guest()) listening.first_report_by = now + kGuestFirstReportMax;
  PluginClient::StreamHandlers handlers;
  handlers.message = [post = post_, name, generation](Reports reports) {
    post([name, generation, reports = std::move(reports)](NodePlugins& self, Time now) {
      self.on_message(name, generation, reports, now);
    });
  };
  handlers.end = [post = post_, name, generation](const Error& error) {
    post([name, generation, error](NodePlugins& self, Time now) {
      self.on_end(name, generation, error, now);
    });
  };
  listening.stream =
      client_.watch(listening.instance.endpoint, *listening.instance.service, std::move(handlers));
  listening.stream->next();
}

NodePlugins::Listening* NodePlugins::find(Driver& driver, std::uint64_t generation) {
  for (auto* listening : {&driver.current, &driver.successor})
    if (*listening && (*listening)->generation == generation) return &**listening;
  return nullptr;
}

void NodePlugins::on_message(const std::string& name, std::uint64_t generation, Reports reports, Time now) {
  Driver& driver = drivers_.at(name);
  Listening* listening = find(driver, generation);
  if (!listening) return;
  if (!listening->second.is_set() || now - listening->second >= Duration::seconds(1)) {
    listening->second = now;
    listening->messages = 0;
  }
  if (++listening->messages > kMessagesPerSecondMax)
    return on_end(name, generation, Error(ErrorCode::TooLarge, "more messages a second than the bound"), now);
  if (reports.size() > kDevicesPerDriverMax)
    return on_end(name, generation, Error(ErrorCode::TooLarge, "more devices in a message than the bound"),
                  now);
  std::erase_if(reports, [](const DeviceReport& report) { return !is_reportable(report.name); });
  const bool calm = now - listening->opened_at >= kGuestCalm;
  if (!is_guest() || calm) listening->failures = 0;
  const bool gaps = is_guest() && shows_gaps(name, *listening, reports, now);
  if (driver.successor && listening == &*driver.successor) {
    driver.current = std::move(driver.successor);
    driver.successor.reset();
    listening = &*driver.current;
  }
  show(cache_.update(name, reports, now), now);
  observer_.heard(now);
  if (gaps) return yield(name, *listening, "devices were silent beyond their timeouts", now);
  listening->stream->next();
}

void NodePlugins::on_end(const std::string& name, std::uint64_t generation, const Error& error, Time now) {
  Driver& driver = drivers_.at(name);
  Listening* listening = find(driver, generation);
  if (!listening) return;
  log(LogLevel::Warning, "a health stream ended",
      {{"node", node_}, {"driver", name}, {"cause", error.message()}});
  listening->stream.reset();
  listening->generation = 0;  // nothing that is under way counts
  if (error.code() == ErrorCode::Unsupported) {
    for (Instance& instance : driver.instances)
      if (instance.endpoint == listening->instance.endpoint) instance.service.reset();
    return choose(name, now);
  }
  const Duration retry_max = is_guest() ? kGuestBackoffMax : timing_.stream_retry_max;
  listening->first_report_by.reset();
  listening->retry_at = now + backoff(timing_.stream_retry_base, retry_max, ++listening->failures);
  if (driver.current && listening == &*driver.current)
    show(cache_.note_stream(name, StreamState::Down, now), now);
}

bool NodePlugins::shows_gaps(const std::string& name, Listening& listening, const Reports& reports,
                             Time now) const {
  listening.first_report_by.reset();
  if (cache_.ends_silence(name, reports, listening.opened_at, now)) return ++listening.gaps >= kGuestGapsMax;
  if (listening.gaps == 0 && now - listening.opened_at >= kGuestCalm) listening.yields = 0;
  return false;
}

void NodePlugins::yield(const std::string& name, Listening& listening, const char* cause, Time now) {
  log(LogLevel::Warning, "a health stream is left to the kubelet for a while",
      {{"node", node_}, {"driver", name}, {"cause", cause}});
  listening.stream.reset();
  listening.generation = 0;  // a message under way does not count
  listening.first_report_by.reset();
  listening.retry_at = now + backoff(kGuestBackoffBase, kGuestBackoffMax, ++listening.yields);
  Driver& driver = drivers_.at(name);
  if (driver.current && &listening == &*driver.current)
    show(cache_.note_stream(name, StreamState::Yielded, now), now);
}

void NodePlugins::step(Time now) {
  const auto due = [now](const std::optional<Time>& at) { return at && *at <= now; };
  for (auto& [path, socket] : sockets_) {
    if (!due(socket.retry_at)) continue;
    socket.retry_at.reset();
    introduce(path);
  }
  for (auto& [name, driver] : drivers_) {
    if (driver.successor && driver.hand_over_by <= now) {
      driver.current = std::move(driver.successor);
      driver.successor.reset();
    }
    for (auto* listening : {&driver.current, &driver.successor})
      if (*listening && due((*listening)->retry_at)) open(name, **listening, now);
    for (auto* listening : {&driver.current, &driver.successor})
      if (*listening && due((*listening)->first_report_by))
        yield(name, **listening, "a new stream began without a report", now);
  }
  show(cache_.expire(now), now);
}

std::optional<Time> NodePlugins::next_wake() const {
  std::optional<Time> next = cache_.next_deadline();
  const auto earlier = [&next](const std::optional<Time>& at) {
    if (at && (!next || *at < *next)) next = at;
  };
  for (const auto& [path, socket] : sockets_) earlier(socket.retry_at);
  for (const auto& [name, driver] : drivers_) {
    if (driver.successor) earlier(driver.hand_over_by);
    for (const auto* listening : {&driver.current, &driver.successor})
      if (*listening)
        for (const auto& at : {(*listening)->retry_at, (*listening)->first_report_by}) earlier(at);
  }
  return next;
}

void NodePlugins::show(HealthCache::Visible visible, Time now) {
  if (visible == HealthCache::Visible::Changed) observer_.changed(now);
}

}  // namespace berth::health
