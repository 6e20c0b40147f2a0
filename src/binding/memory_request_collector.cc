#include "binding/gang.h"
#include "binding/memory_requests.h"

namespace berth::binding {
namespace {

class MemoryRequestCollector final : public client::Reconciler {
 public:
  std::string_view name() const override { return "memory-request-collector"; }

  std::vector<client::Interest> interests() const override {
    return {client::itself(api::Kind::BindRequest),
            {api::Kind::Pod,
             {},
             [](const client::View& view, const client::Delta& delta, std::vector<api::ObjectKey>& keys) {
               for (const api::BindRequest* request : view.bind_requests_of_pod(delta.key.ns, delta.key.name))
                 if (in_memory(*request))
                   keys.push_back(client::key_of(api::Kind::BindRequest, request->meta));
             }}};
  }

  client::Effects reconcile(const client::View& view, const api::ObjectKey& key, Time now) override {
    const api::BindRequest* request = view.bind_requests.find(key.ns, key.name);
    if (!request || !in_memory(*request) || !has_ended(*request) || waited_for(view, *request)) {
      ended_.erase(key);
      return client::Effects::nothing();
    }
    const Time due = ended_.try_emplace(key, now).first->second + kMemoryRequestGrace;
    if (now >= due) return client::Effects::write(key, client::delete_object(key, request->meta.uid));
    client::Effects effects;
    effects.wake_at = due;
    return effects;
  }

 private:
  static bool in_memory(const api::BindRequest& request) {
    return request.meta.annotations.contains(std::string(kInMemoryAnnotation));
  }
  // Without the request of a successful binding the scheduler would place the pod again.
  static bool waited_for(const client::View& view, const api::BindRequest& request) {
    if (request.phase != api::BindPhase::Succeeded) return false;
    const api::Pod* pod = view.pods.find(request.meta.ns, request.pod_name);
    return pod && pod->meta.uid == request.pod_uid && !pod->bound();
  }

  std::map<api::ObjectKey, Time> ended_;  // when each kept request was seen ended
};

}  // namespace

std::unique_ptr<client::Reconciler> make_memory_request_collector() {
  return std::make_unique<MemoryRequestCollector>();
}

}  // namespace berth::binding
