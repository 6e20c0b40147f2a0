#include <algorithm>

#include "api/types/gang_record.h"
#include "binding/gang.h"
#include "binding/memory_requests.h"
#include "client/request_writes.h"

namespace berth::binding {
namespace {

class MemoryRequestCollector final : public client::Reconciler {
 public:
  std::string_view name() const override { return "memory-request-collector"; }

  std::vector<client::Interest> interests() const override {
    return {client::itself(api::Kind::BindRequest)};
  }

  client::Effects reconcile(const client::View& view, const api::ObjectKey& key, Time) override {
    const api::BindRequest* request = view.bind_requests.find(key.ns, key.name);
    if (!request || !request->in_memory || !has_ended(*request)) return client::Effects::nothing();
    return client::Effects::write(key, client::delete_request(*request));
  }
};

class GangRecordCollector final : public client::Reconciler {
 public:
  std::string_view name() const override { return "gang-record-collector"; }

  std::vector<client::Interest> interests() const override {
    return {{api::Kind::BindRequest,
             {},
             [](const client::View&, const client::Delta& delta, std::vector<api::ObjectKey>& keys) {
               const auto* request = client::object_of<api::BindRequest>(delta.after);
               if (request && request->pod_name.empty()) keys.push_back(delta.key);
             }}};
  }

  client::Effects reconcile(const client::View& view, const api::ObjectKey& key, Time now) override {
    const api::BindRequest* record = view.bind_requests.find(key.ns, key.name);
    if (!record || !record->raw) return client::Effects::nothing();
    const Result<Json> object = parse_json(*record->raw);
    if (!object || !api::is_gang_record(*object)) return client::Effects::nothing();
    const std::vector<Json> members = api::specs_of_gang_record(*object);
    const bool wanted = std::any_of(members.begin(), members.end(), [&](const Json& member) {
      return awaits_decision(view, key.ns, member);
    });
    if (!wanted) return client::Effects::write(key, client::delete_object(key, record->meta.uid));
    client::Effects effects;
    effects.wake_at = now + kGangRecordLook;
    return effects;
  }

 private:
  static bool awaits_decision(const client::View& view, const std::string& ns, const Json& member) {
    const api::Pod* pod = view.pods.find(ns, member.string_at("podName"));
    if (!pod || pod->meta.uid != member.string_at("podUID") || pod->bound() || pod->finished()) return false;
    const auto requests = view.bind_requests_of_pod(ns, pod->meta.name);
    return std::none_of(requests.begin(), requests.end(),
                        [&](const api::BindRequest* request) { return request->pod_uid == pod->meta.uid; });
  }
};

}  // namespace

std::unique_ptr<client::Reconciler> make_memory_request_collector() {
  return std::make_unique<MemoryRequestCollector>();
}

std::unique_ptr<client::Reconciler> make_gang_record_collector() {
  return std::make_unique<GangRecordCollector>();
}

}  // namespace berth::binding
