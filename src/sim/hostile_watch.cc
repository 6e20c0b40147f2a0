#include "sim/hostile_watch.h"

#include <algorithm>

#include "server/in_process_client.h"
#include "server/registry.h"

namespace berth::sim {
namespace {

constexpr Duration kDeliveryMin = Duration::millis(1);
constexpr Duration kDeliveryMax = Duration::millis(30);  // on a usual day
constexpr Duration kDownMax = Duration::seconds(10);     // between the end of a watch and its resumption
constexpr std::size_t kRepeatedMax = 4;                  // events

api::RawPtr raw_of(const store::ObjectPtr& object) {
  return api::RawPtr(object, &object->bytes);
}

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  Stream(ProcessNetwork& network, std::string resource, client::WatchReceiver& receiver)
      : network_(network),
        events_(network.shared.events),
        resource_(std::move(resource)),
        salt_(network.process + "/watch/" + resource_),
        receiver_(receiver),
        history_(network.shared.history.of(resource_)) {}

  void start() {
    heard_ = network_.shared.history.listen(resource_, [this](const store::WatchEvent&) { want_delivery(); });
    events_.after(span(kDeliveryMin, kDeliveryMax), [self = shared_from_this()] { self->list(); });
  }
  void end() {
    ended_ = true;
    heard_.reset();
  }

 private:
  bool strikes(FaultClass fault) {
    const std::uint32_t rate = network_.rate(fault);
    const bool struck = rate > 0 && chance() % 1000 < rate;
    if (struck) network_.note(fault);
    return struck;
  }
  std::uint64_t chance() { return chance_of(network_.shared.seed, salt_, ++network_.seen[salt_]); }
  Duration span(Duration low, Duration high) { return span_of(chance(), low, high); }

  // Requests the whole state from the server; the response takes a moment.
  void list() {
    if (ended_) return;
    if (network_.shared.is_out())
      return events_.at(network_.shared.outage_until + span(kDeliveryMin, kDownMax),
                        [self = shared_from_this()] { self->list(); });
    const store::Revision now = network_.shared.store.revision();
    store::ListQuery query;
    query.resource = resource_;
    if (listed_ && seen_ < now && strikes(FaultClass::ListOld))
      query.at = seen_ + chance() % (now - seen_ + 1);
    Result<store::ListPage> page = network_.shared.store.list(query);
    if (!page) {
      query.at.reset();
      page = network_.shared.store.list(query);
    }
    BERTH_ASSERT(page.ok(), "the newest state can always be listed");
    events_.after(span(kDeliveryMin, kDeliveryMax),
                  [self = shared_from_this(), page = std::move(page).value()] { self->take(page); });
  }

  void take(const store::ListPage& page) {
    if (ended_) return;
    std::vector<api::RawPtr> objects;
    objects.reserve(page.objects.size());
    for (const store::ObjectPtr& object : page.objects) objects.push_back(raw_of(object));
    receiver_.on_list({std::move(objects), page.revision});
    seen_ = page.revision;
    next_ = network_.shared.history.behind(resource_, page.revision);
    listed_ = true;
    down_ = false;
    want_delivery();
  }

  void want_delivery() {
    if (!listed_ || down_ || scheduled_ || next_ >= history_.size()) return;
    scheduled_ = true;
    Duration delay = span(kDeliveryMin, kDeliveryMax);
    if (network_.watch_lag_max > Duration() && strikes(FaultClass::WatchLag))
      delay = delay + span(Duration(), network_.watch_lag_max);
    events_.after(delay, [self = shared_from_this()] {
      self->scheduled_ = false;
      self->deliver();
    });
  }

  void deliver() {
    if (ended_ || down_) return;
    if (network_.shared.is_out()) return fall(FaultClass::WatchBroken);
    if (strikes(FaultClass::WatchGone)) return fall(FaultClass::WatchGone);
    if (strikes(FaultClass::WatchBroken)) return fall(FaultClass::WatchBroken);
    std::size_t end = history_.size();
    if (end - next_ > 1 && strikes(FaultClass::WatchBatch)) end = next_ + 1 + chance() % (end - next_ - 1);
    const std::size_t begin = next_;
    next_ = end;
    send(begin, end);
    if (strikes(FaultClass::EventRepeated)) repeat();
    want_delivery();
  }

  void send(std::size_t begin, std::size_t end) {
    std::vector<client::RawChange> changes;
    changes.reserve(end - begin);
    for (std::size_t i = begin; i < end; ++i) changes.push_back(change_of(*history_[i]));
    if (changes.empty()) return;
    seen_ = history_[end - 1]->object->revision;
    receiver_.on_changes(std::move(changes));
  }

  // Repeats the last events, each only while it is the newest of its object.
  void repeat() {
    std::vector<client::RawChange> changes;
    for (std::size_t i = next_ - std::min(next_, kRepeatedMax); i < next_; ++i) {
      const store::Key& key = history_[i]->object->key;
      const bool newest =
          std::none_of(history_.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                       history_.begin() + static_cast<std::ptrdiff_t>(next_),
                       [&](const store::WatchEventPtr& later) { return later->object->key == key; });
      if (newest) changes.push_back(change_of(*history_[i]));
    }
    if (!changes.empty()) receiver_.on_changes(std::move(changes));
  }

  static client::RawChange change_of(const store::WatchEvent& event) {
    return {static_cast<client::ChangeKind>(event.kind), raw_of(event.object)};
  }

  // The stream ends. It is resumed, or begins with a list when the history is gone.
  void fall(FaultClass how) {
    down_ = true;
    receiver_.on_trouble("injected fault");
    const Time until = network_.shared.is_out() ? network_.shared.outage_until : events_.now();
    events_.at(until + span(kDeliveryMin, kDownMax), [self = shared_from_this(), how] {
      if (self->ended_) return;
      if (how == FaultClass::WatchGone) {
        self->receiver_.on_not_served();  // a proxy answers the list with 404 first
        return self->list();
      }
      if (self->network_.shared.is_out()) return self->fall(how);
      self->down_ = false;
      self->want_delivery();
    });
  }

  ProcessNetwork& network_;
  EventQueue& events_;
  const std::string resource_;
  const std::string salt_;
  client::WatchReceiver& receiver_;
  const std::vector<store::WatchEventPtr>& history_;
  std::shared_ptr<void> heard_;
  std::size_t next_ = 0;      // of history_
  store::Revision seen_ = 0;  // the newest revision that the receiver has
  bool listed_ = false;
  bool down_ = false;
  bool scheduled_ = false;
  bool ended_ = false;
};

class HostileSubscription final : public client::Subscription {
 public:
  explicit HostileSubscription(std::shared_ptr<Stream> stream) : stream_(std::move(stream)) {
    stream_->start();
  }
  ~HostileSubscription() override { stream_->end(); }

 private:
  std::shared_ptr<Stream> stream_;
};

}  // namespace

std::unique_ptr<client::Subscription> hostile_watch(ProcessNetwork& network, const api::ResourceRef& resource,
                                                    client::WatchReceiver& receiver) {
  auto stream = std::make_shared<Stream>(network, server::stored_as(resource), receiver);
  return std::make_unique<HostileSubscription>(std::move(stream));
}

}  // namespace berth::sim
