#include "cli/placements.h"

#include <cstdio>
#include <map>
#include <mutex>

#include "api/serialized.h"
#include "base/printable.h"

namespace berth::cli {
namespace {

// The state in a pod's line; the pod is printed again when it changes. For an unschedulable pod its event has
// the reason, with more detail than its condition.
std::string state_of(const api::Pod& pod) {
  if (pod.meta.deleting()) return "";
  if (pod.bound()) return pod.phase + " on " + pod.node_name;
  const api::Condition* scheduled = api::find_condition(pod.conditions, "PodScheduled");
  const bool waits = scheduled && scheduled->status == "False" && scheduled->reason != "Unschedulable";
  return waits ? "waits: " + scheduled->message : "";
}

}  // namespace

// The printed state of existing pods, by UID. Thread-safe: receivers are called on any thread.
class PlacementPrinter::Lines {
 public:
  void see(const api::Pod& pod) {
    const std::lock_guard lock(mutex_);
    ShownPod& shown = pods_[pod.meta.uid];
    shown.name = pod.meta.ns + "/" + pod.meta.name;
    shown.placed = pod.bound();
    print(shown, state_of(pod));
  }
  void forget(const std::string& uid) {
    const std::lock_guard lock(mutex_);
    pods_.erase(uid);
  }
  void refused(const std::string& uid, std::string_view message) {
    const std::lock_guard lock(mutex_);
    const auto found = pods_.find(uid);
    if (found != pods_.end() && !found->second.placed) print(found->second, "waits: " + std::string(message));
  }

 private:
  struct ShownPod {
    std::string name;
    std::string state;
    bool placed = false;
  };

  static void print(ShownPod& shown, std::string state) {
    if (state.empty() || state == shown.state) return;
    shown.state = std::move(state);
    std::printf("  %-32s %s\n", shown.name.c_str(), printable_line(shown.state).c_str());
    std::fflush(stdout);
  }

  std::mutex mutex_;
  std::map<std::string, ShownPod> pods_;
};

class PlacementPrinter::PodReceiver final : public client::WatchReceiver {
 public:
  explicit PodReceiver(Lines& lines) : lines_(lines) {}
  void on_list(client::RawList list) override {
    for (api::RawPtr& object : list.objects) take(client::ChangeKind::Added, std::move(object));
  }
  void on_changes(std::vector<client::RawChange> changes) override {
    for (client::RawChange& change : changes) take(change.kind, std::move(change.object));
  }
  void on_trouble(std::string) override {}

 private:
  void take(client::ChangeKind kind, api::RawPtr raw) {
    const Result<api::TypedObject> object = api::decode_typed(api::Kind::Pod, std::move(raw));
    if (!object) return;
    if (kind == client::ChangeKind::Deleted) return lines_.forget(api::meta_of(*object).uid);
    lines_.see(*std::get<std::shared_ptr<const api::Pod>>(*object));
  }

  Lines& lines_;
};

class PlacementPrinter::EventReceiver final : public client::WatchReceiver {
 public:
  explicit EventReceiver(Lines& lines) : lines_(lines) {}
  // Events from before the list do not describe the current state.
  void on_list(client::RawList) override {}
  void on_changes(std::vector<client::RawChange> changes) override {
    for (const client::RawChange& change : changes) {
      if (change.kind == client::ChangeKind::Deleted) continue;
      const Result<Json> event = api::parse_object(*change.object);
      if (event && event->string_at("reason") == "FailedScheduling")
        lines_.refused(std::string(event->part("involvedObject").string_at("uid")),
                       event->string_at("message"));
    }
  }
  void on_trouble(std::string) override {}

 private:
  Lines& lines_;
};

PlacementPrinter::PlacementPrinter(client::ApiClient& client)
    : lines_(std::make_unique<Lines>()),
      pods_(std::make_unique<PodReceiver>(*lines_)),
      events_(std::make_unique<EventReceiver>(*lines_)),
      pod_subscription_(client.list_and_watch(api::ref_of(api::Kind::Pod), *pods_)),
      event_subscription_(client.list_and_watch({"", "v1", "events"}, *events_)) {}

PlacementPrinter::~PlacementPrinter() = default;

}  // namespace berth::cli
