#include <algorithm>
#include <map>

#include "api/serialized.h"
#include "controllers/controllers.h"
#include "controllers/namespace_conditions.h"
#include "controllers/patches.h"

namespace berth::controllers {

namespace {

constexpr std::string_view kFinalizer = "kubernetes";
// Deletes per run; the next run continues with the rest.
constexpr std::size_t kDeletesPerRunMax = 500;
// How long a namespace must look empty: watches of different resources may be behind one another.
constexpr Duration kEmptyFor = Duration::millis(200);
// What remains is told once a period, from the first on: most namespaces are empty before it ends.
constexpr Duration kNamespaceStatusPeriod = Duration::seconds(2);

class NamespaceFinalizer final : public client::Reconciler {
 public:
  explicit NamespaceFinalizer(std::vector<ServedResource> resources) : resources_(std::move(resources)) {
    std::erase_if(resources_, [](const ServedResource& served) { return !served.namespaced; });
  }

  std::string_view name() const override { return "namespace-finalizer"; }

  std::vector<client::Interest> interests() const override {
    std::vector<client::Interest> interests = {client::itself(Kind::Namespace)};
    for (const ServedResource& served : resources_)
      interests.push_back(
          {kind_of(served), served.resource, [](const View& view, const Delta& delta, Keys& keys) {
             const api::Namespace* ns = view.namespaces.find("", delta.key.ns);
             if (ns && ns->meta.deleting()) keys.push_back({Kind::Namespace, "", delta.key.ns, {}});
           }});
    return interests;
  }

  Effects reconcile(const View& view, const api::ObjectKey& key, Time now) override {
    const api::Namespace* ns = view.namespaces.find("", key.name);
    const bool ours =
        ns && ns->meta.deleting() &&
        std::find(ns->finalizers.begin(), ns->finalizers.end(), kFinalizer) != ns->finalizers.end();
    if (!ours) {
      empty_since_.erase(key.name);
      status_due_.erase(key.name);
      return Effects::nothing();
    }
    NamespaceRemains remains;
    Effects effects = delete_contents(view, key.name, remains);
    if (!remains.empty()) {
      empty_since_.erase(key.name);
      report(key, *ns, remains, now, effects);
      return effects;
    }
    const Time since = empty_since_.try_emplace(key.name, now).first->second;
    if (now - since >= kEmptyFor) return finalize(key, *ns);
    effects.wake_at = since + kEmptyFor;
    return effects;
  }

 private:
  static Kind kind_of(const ServedResource& served) {
    return api::kind_of_resource(served.resource.group, served.resource.resource);
  }

  Effects delete_contents(const View& view, const std::string& ns, NamespaceRemains& remains) const {
    Effects effects;
    const bool has_pods = !view.keys_in(Kind::Pod, ns, {}).empty();
    for (const ServedResource& served : resources_) {
      // KEP-5080: a pod may need its Secrets, policies and claims to its end.
      if (has_pods && kind_of(served) != Kind::Pod) continue;
      for (const api::ObjectKey& key : view.keys_in(kind_of(served), ns, served.resource)) {
        const auto object = view.find(key);
        if (!object) continue;
        const api::ObjectMeta& meta = api::meta_of(*object);
        remains.add(served.resource, meta);
        if (meta.deleting() || effects.chains.size() == kDeletesPerRunMax) continue;
        effects.chains.push_back({key, {client::delete_object(key, meta.uid)}});
      }
    }
    return effects;
  }

  // Beside deletes it says nothing: what they leave is known after them.
  void report(const api::ObjectKey& key, const api::Namespace& ns, const NamespaceRemains& remains, Time now,
              Effects& effects) {
    if (!effects.chains.empty()) return;
    Time& due = status_due_.try_emplace(key.name, now + kNamespaceStatusPeriod).first->second;
    if (now < due) {
      effects.wake_at = due;
      return;
    }
    Json conditions = namespace_conditions(ns, remains, now);
    if (conditions.is_null()) return;
    due = now + kNamespaceStatusPeriod;
    effects.chains.push_back({key,
                              {patch_status(key, Json::object({{"conditions", std::move(conditions)}}),
                                            ns.meta.uid, ns.meta.resource_version)}});
  }

  static Effects finalize(const api::ObjectKey& key, const api::Namespace& ns) {
    auto object = api::parse_object(*ns.raw);
    BERTH_ASSERT(object.ok(), "what is in the view was decoded");
    std::vector<std::string> rest = ns.finalizers;
    std::erase(rest, kFinalizer);
    (*object)["spec"]["finalizers"] = api::to_json(rest);
    client::Write write = client::merge_patch(key, *std::move(object), "", 0, "finalize");
    write.request.verb = client::Verb::Update;
    write.fine_reasons = {"NotFound"};
    return Effects::write(key, std::move(write));
  }

  std::vector<ServedResource> resources_;
  // Of terminating namespaces.
  std::map<std::string, Time> empty_since_;
  std::map<std::string, Time> status_due_;
};

}  // namespace

std::unique_ptr<client::Reconciler> make_namespace_finalizer(std::vector<ServedResource> resources) {
  return std::make_unique<NamespaceFinalizer>(std::move(resources));
}

}  // namespace berth::controllers
