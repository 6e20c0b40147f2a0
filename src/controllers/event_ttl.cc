#include <algorithm>

#include "api/serialized.h"
#include "controllers/controllers.h"

namespace berth::controllers {

namespace {

constexpr Duration kEventLife = Duration::minutes(60);

Time last_seen(const api::AnyObject& event) {
  Time last = event.meta.created;
  const auto object = api::parse_object(*event.raw);
  if (!object) return last;
  for (const std::string_view field : {"lastTimestamp", "eventTime"})
    last = std::max(last, api::decode_time(object->string_at(field)));
  if (const Json* series = object->find("series"))
    last = std::max(last, api::decode_time(series->string_at("lastObservedTime")));
  return last;
}

class EventTtl final : public client::Reconciler {
 public:
  std::string_view name() const override { return "event-ttl"; }

  std::vector<client::Interest> interests() const override {
    client::Interest events = client::itself(api::Kind::Other);
    events.resource = {"", "v1", "events"};
    return {std::move(events)};
  }

  Effects reconcile(const View& view, const api::ObjectKey& key, Time now) override {
    const auto object = view.find(key);
    if (!object) return Effects::nothing();
    const auto& event = *std::get<std::shared_ptr<const api::AnyObject>>(*object);
    const Time last = last_seen(event);
    if (event.meta.deleting() || !last.is_set()) return Effects::nothing();
    // On the version: the event may have happened again.
    if (now >= last + kEventLife)
      return Effects::write(key,
                            client::delete_object(key, event.meta.uid, -1, "", event.meta.resource_version));
    Effects effects;
    effects.wake_at = last + kEventLife;
    return effects;
  }
};

}  // namespace

std::unique_ptr<client::Reconciler> make_event_ttl() {
  return std::make_unique<EventTtl>();
}

}  // namespace berth::controllers
