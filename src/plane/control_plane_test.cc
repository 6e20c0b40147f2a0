#include "plane/control_plane.h"

#include <gtest/gtest.h>

#include "client/api_path.h"
#include "client/refused_requests.h"

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

// Lists nothing. Refuses one list, as an authorizer does.
class RefusingServer final : public client::ApiClient {
 public:
  explicit RefusingServer(api::ResourceRef refused) : refused_(std::move(refused)) {}
  void submit(client::ApiRequest, std::function<void(client::ApiReply)>) override {}
  std::unique_ptr<client::Subscription> list_and_watch(api::ResourceRef resource,
                                                       client::WatchReceiver& receiver) override {
    const std::string sentence = "User \"u\" cannot list resource \"" + resource.resource + "\"";
    if (resource == refused_)
      receiver.on_refused("list", client::refused_reply(403, "Forbidden", sentence));
    else
      receiver.on_list({{}, 1});
    return std::make_unique<client::Subscription>();
  }

 private:
  const api::ResourceRef refused_;
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

TEST(ControlPlane, AnOlderClusterRoleKeepsNoSchedulerFromItsWork) {
  ControlPlaneOptions options;
  options.controllers = options.simulated_nodes = false;
  options.bind_requests = BindRequests::WhenWaiting;
  const api::Gates gates(api::GateDefaults::Up);
  const auto begins = [&](const api::ResourceRef& refused) {
    ManualClock clock(Time::from_seconds(1));
    RefusingServer server(refused);
    client::RefusalReporter reporter(server, std::make_shared<client::RefusedRequests>(clock),
                                     optional_resources(options));
    ControlPlane plane(reporter, gates, options);
    plane.start();
    plane.step(clock.now());
    return plane.scheduling()->synced();
  };
  const std::vector<api::ResourceRef> optional = optional_resources(options);
  EXPECT_EQ(optional.size(), 8u);
  for (const api::ResourceRef& resource : optional) EXPECT_TRUE(begins(resource)) << resource.resource;
  for (const api::Kind kind : {api::Kind::Topology, api::Kind::PlacementPolicy, api::Kind::Node})
    EXPECT_FALSE(begins(api::ref_of(kind))) << api::ref_of(kind).resource;
  options.controllers = true;
  EXPECT_TRUE(optional_resources(options).empty()) << "a controller would make what it does not see";
}

}  // namespace
}  // namespace berth::plane
