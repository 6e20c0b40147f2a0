#include "bench/load.h"

#include <algorithm>

namespace berth::bench {

void Load::create(api::ResourceRef resource, std::string ns, const Json& object) {
  submit({client::Verb::Create, std::move(resource), std::move(ns), "", "", to_string(object)});
}

void Load::create_pod(const std::string& name, const Json& object) {
  {
    const std::lock_guard lock(mutex_);
    created_[name] = clock_.monotonic();
  }
  create(api::ref_of(api::Kind::Pod), "default", object);
}

void Load::make_ready(const std::string& node) {
  const Json ready = Json::object({{"type", "Ready"}, {"status", "True"}});
  const Json patch = Json::object({{"status", Json::object({{"conditions", Json::array({ready})}})}});
  submit({client::Verb::MergePatch, api::ref_of(api::Kind::Node), "", node, "status", to_string(patch)});
}

void Load::wait_for_answers() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return under_way_ == 0; });
}

Status Load::wait_until_bound(std::size_t count) {
  std::unique_lock lock(mutex_);
  const bool done = changed_.wait_for(lock, std::chrono::microseconds(kBindingWaitMax.micros()),
                                      [&] { return bound_.size() >= count || !trouble_.empty(); });
  if (!trouble_.empty()) return Error(ErrorCode::Internal, trouble_);
  if (!done)
    return Error(ErrorCode::Unavailable, "only " + std::to_string(bound_.size()) + " of " +
                                             std::to_string(count) + " pods were bound in time");
  return {};
}

std::vector<double> Load::latencies_ms(const std::string& prefix) const {
  const std::lock_guard lock(mutex_);
  std::vector<double> latencies;
  for (const auto& [name, time] : bound_)
    if (name.starts_with(prefix)) latencies.push_back((time - created_.at(name)).seconds_f() * 1000);
  std::sort(latencies.begin(), latencies.end());
  return latencies;
}

double Load::seconds_of(const std::string& prefix) const {
  const std::lock_guard lock(mutex_);
  Time first, last;
  for (const auto& [name, time] : bound_) {
    if (!name.starts_with(prefix)) continue;
    const Time created = created_.at(name);
    if (!first.is_set() || created < first) first = created;
    if (!last.is_set() || time > last) last = time;
  }
  return (last - first).seconds_f();
}

void Load::on_changes(std::vector<client::RawChange> changes) {
  const std::lock_guard lock(mutex_);
  for (const client::RawChange& change : changes) note(*change.object);
  changed_.notify_all();
}

void Load::submit(client::ApiRequest request) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return under_way_ < kRequestsUnderWayMax; });
    ++under_way_;
  }
  client_.submit(std::move(request), [this](client::ApiReply reply) {
    const std::lock_guard lock(mutex_);
    --under_way_;
    if (!reply.ok() && trouble_.empty()) trouble_ = reply.message;
    changed_.notify_all();
  });
}

void Load::note(const std::string& pod) {
  constexpr std::string_view kName = "\"metadata\":{\"name\":\"";
  if (pod.find("\"nodeName\":\"") == std::string::npos) return;
  const std::size_t at = pod.find(kName);
  if (at == std::string::npos) return;
  const std::size_t begin = at + kName.size();
  bound_.emplace(pod.substr(begin, pod.find('"', begin) - begin), clock_.monotonic());
}

}  // namespace berth::bench
