#include "cli/placements.h"

#include <cstdio>
#include <map>

namespace berth::cli {
namespace {

// What a line says about a pod; a pod is printed again when this changes.
std::string state_of(const api::Pod& pod) {
  if (pod.meta.deleting()) return "";
  if (!pod.node_name.empty()) return pod.phase + " on " + pod.node_name;
  const api::Condition* scheduled = api::find_condition(pod.conditions, "PodScheduled");
  return scheduled && scheduled->status == "False" ? "waits: " + scheduled->message : "";
}

}  // namespace

class PlacementPrinter::Receiver final : public client::WatchReceiver {
 public:
  void on_list(std::vector<api::RawPtr> objects, std::uint64_t) override {
    for (api::RawPtr& object : objects) show(std::move(object));
  }
  void on_changes(std::vector<client::RawChange> changes) override {
    for (client::RawChange& change : changes) {
      if (change.kind == client::ChangeKind::Deleted)
        forget(std::move(change.object));
      else
        show(std::move(change.object));
    }
  }
  void on_trouble(std::string) override {}

 private:
  void show(api::RawPtr raw) {
    const Result<api::TypedObject> object = api::decode_typed(api::Kind::Pod, std::move(raw));
    if (!object) return;
    const api::Pod& pod = *std::get<std::shared_ptr<const api::Pod>>(*object);
    const std::string state = state_of(pod);
    std::string& shown = shown_[pod.meta.uid];
    if (state.empty() || state == shown) return;
    shown = state;
    std::printf("  %-32s %s\n", (pod.meta.ns + "/" + pod.meta.name).c_str(), state.c_str());
    std::fflush(stdout);
  }

  void forget(api::RawPtr raw) {
    if (const Result<api::TypedObject> object = api::decode_typed(api::Kind::Pod, std::move(raw)))
      shown_.erase(api::meta_of(*object).uid);
  }

  std::map<std::string, std::string> shown_;  // by UID; of pods that exist
};

PlacementPrinter::PlacementPrinter(client::ApiClient& client)
    : receiver_(std::make_unique<Receiver>()),
      subscription_(client.list_and_watch(api::ref_of(api::Kind::Pod), *receiver_)) {}

PlacementPrinter::~PlacementPrinter() = default;

}  // namespace berth::cli
