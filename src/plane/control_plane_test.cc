#include "plane/control_plane.h"

#include <gtest/gtest.h>

namespace berth::plane {
namespace {

// Answers nothing.
class SilentServer final : public client::ApiClient {
 public:
  void submit(client::ApiRequest, std::function<void(client::ApiReply)>) override {}
  std::unique_ptr<client::Subscription> list_and_watch(api::ResourceRef, client::WatchReceiver&) override {
    return nullptr;
  }
};

struct Row {
  const char* what;
  bool scheduler, binder, controllers;
  BindRequests requests;
  enum { None, Scheduling, Controllers } binds_on;
  bool has_second_engine;
};

TEST(ControlPlane, TheBinderSharesTheSchedulersEngineWhereItsRequestsAreInMemory) {
  constexpr auto kAlways = BindRequests::Always, kWaiting = BindRequests::WhenWaiting;
  const Row rows[] = {
      {"scheduler and binder of a real cluster", true, true, false, kWaiting, Row::Scheduling, false},
      {"the same with objects", true, true, false, kAlways, Row::Controllers, true},
      {"a whole control plane", true, true, true, kWaiting, Row::Scheduling, true},
      {"the same with objects", true, true, true, kAlways, Row::Controllers, true},
      {"a binder alone has objects in any case", false, true, false, kWaiting, Row::Controllers, true},
      {"a scheduler alone", true, false, false, kWaiting, Row::None, false},
  };
  const api::Gates gates(api::GateDefaults::Up);
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    SilentServer server;
    ControlPlaneOptions options;
    options.scheduler = row.scheduler;
    options.binder = row.binder;
    options.controllers = row.controllers;
    options.simulated_nodes = false;
    options.bind_requests = row.requests;
    ControlPlane plane(server, gates, options);
    const engine::Engine* const expected[] = {nullptr, plane.scheduling(), plane.controllers()};
    EXPECT_EQ(plane.binding(), expected[row.binds_on]);
    EXPECT_EQ(plane.binder() != nullptr, row.binder);
    EXPECT_EQ(plane.scheduling() != nullptr, row.scheduler);
    EXPECT_EQ(plane.controllers() != nullptr, row.has_second_engine);
  }
}

}  // namespace
}  // namespace berth::plane
