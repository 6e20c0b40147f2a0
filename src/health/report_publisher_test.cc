#include "health/report_publisher.h"

#include <gtest/gtest.h>

#include "api/types/node_device_health.h"
#include "health/node_reports.h"

namespace berth::health {
namespace {

using client::ApiReply;
using client::Verb;

// An API server with one Node and one report, and a publisher that talks to it.
struct PublisherBench {
  ReportPublisher publisher{"node-1"};
  HealthCache cache;
  Time now = Time::from_seconds(500), wall = Time::from_seconds(1800000000);
  std::optional<Json> report;
  std::string node_uid = "n1";
  std::vector<std::string> log;
  std::vector<ApiReply> next;  // instead of the server's own

  void say(const char* device, Health health, std::string message = "") {
    cache.update("gpu.example.com", {{{"pool", device}, {health, std::move(message)}, 86400}}, now);
    publisher.observe(*cache.snapshot(), wall);
  }
  void pass(Duration time) {
    now = now + time;
    wall = wall + time;
  }
  static ApiReply answer(int code, const std::string& reason, const Json& object = Json()) {
    ApiReply reply;
    reply.code = code;
    reply.reason = reason;
    if (!object.is_null()) reply.object = std::make_shared<const std::string>(to_string(object));
    return reply;
  }
  ApiReply serve(const client::ApiRequest& request) {
    const bool about_node = request.resource.resource == "nodes";
    if (about_node)
      return node_uid.empty()
                 ? answer(404, "NotFound")
                 : answer(200, "", Json::object({{"metadata", Json::object({{"uid", node_uid}})}}));
    if (request.verb == Verb::Get) return report ? answer(200, "", *report) : answer(404, "NotFound");
    const Json body = *parse_json(request.body);
    if (request.verb == Verb::Create) {
      if (report) return answer(409, "AlreadyExists");
      report = body;
      return answer(201, "", body);
    }
    if (!report) return answer(404, "NotFound");
    for (const JsonMember& member : body.find("spec")->as_object())
      if (member.value.is_null())
        (*report)["spec"].as_object().erase(member.key);
      else
        (*report)["spec"][member.key] = member.value;
    return answer(200, "", *report);
  }
  // Sends what is due until nothing is; "GET report" and so on.
  std::string talk() {
    std::string text;
    while (auto request = publisher.next_request(wall, now)) {
      EXPECT_FALSE(publisher.next_request(wall, now)) << "one at a time";
      const char* verbs[] = {"CREATE", "PUT", "PATCH", "STRATEGIC", "JSON", "DELETE", "GET"};
      text += std::string(verbs[static_cast<int>(request->verb)]) +
              (request->resource.resource == "nodes" ? " node; " : " report; ");
      ApiReply reply;
      if (next.empty()) {
        reply = serve(*request);
      } else {
        reply = next.front();
        next.erase(next.begin());
      }
      publisher.answered(reply, now);
    }
    return text;
  }
  std::string devices() const {
    std::string text;
    for (const Json& device : report->part("spec").items_at("devices"))
      text += std::string(device.string_at("device")) + "=" + std::string(device.string_at("health")) + "@" +
              std::string(device.string_at("since")).substr(11, 8) + " ";
    return text;
  }
};

TEST(ReportPublisherTest, MakesTheNodesReportOnceAndThenWritesChangesAlone) {
  PublisherBench bench;
  bench.say("gpu-1", Health::Healthy);
  EXPECT_EQ(bench.talk(), "GET report; GET node; CREATE report; ");
  EXPECT_TRUE(bench.publisher.published());
  EXPECT_EQ(to_string(bench.report->part("metadata")),
            R"({"name":"node-1","ownerReferences":)"
            R"([{"apiVersion":"v1","kind":"Node","name":"node-1","uid":"n1"}]})");
  EXPECT_EQ(bench.devices(), "gpu-1=Healthy@08:00:00 ");
  EXPECT_EQ(bench.talk(), "");
  bench.pass(Duration::seconds(10));
  EXPECT_EQ(bench.talk(), "") << "nothing changed";
  bench.say("gpu-1", Health::Unhealthy, "xid 79");
  EXPECT_EQ(bench.talk(), "PATCH report; ");
  EXPECT_EQ(bench.devices(), "gpu-1=Unhealthy@08:00:10 ");
  EXPECT_EQ(bench.report->part("spec").int_at("unhealthy"), 1);
}

TEST(ReportPublisherTest, WritesAtMostOnceASecondAndTheLastStateArrives) {
  PublisherBench bench;
  bench.say("gpu-1", Health::Healthy);
  bench.talk();
  int writes = 0;
  for (int tenth = 0; tenth < 100; ++tenth) {
    bench.pass(Duration::millis(100));
    bench.say("gpu-1", tenth % 2 ? Health::Healthy : Health::Unhealthy);
    writes += bench.talk().empty() ? 0 : 1;
  }
  EXPECT_LE(writes, 10);
  EXPECT_GE(writes, 4);
  bench.say("gpu-1", Health::Unhealthy, "last");
  bench.pass(kReportPeriod);
  bench.talk();
  EXPECT_EQ(bench.devices().substr(0, 15), "gpu-1=Unhealthy");
}

TEST(ReportPublisherTest, RenewsItsReportSoThatReadersBelieveIt) {
  PublisherBench bench;
  bench.say("gpu-1", Health::Healthy);
  bench.talk();
  ASSERT_TRUE(bench.publisher.next_wake());
  EXPECT_EQ(*bench.publisher.next_wake(), bench.now + kReportRenewPeriod);
  bench.pass(kReportRenewPeriod);
  EXPECT_EQ(bench.talk(), "PATCH report; ");
  EXPECT_EQ(bench.report->part("spec").string_at("observed"), format_time(bench.wall));
  EXPECT_EQ(bench.devices(), "gpu-1=Healthy@08:00:00 ");
}

TEST(ReportPublisherTest, ARestartKeepsTheDatesOfWhatIsAsBefore) {
  PublisherBench bench;
  bench.say("gpu-1", Health::Unhealthy);
  bench.say("gpu-2", Health::Unhealthy);
  bench.talk();
  bench.pass(Duration::seconds(30));
  bench.publisher = ReportPublisher("node-1");
  bench.say("gpu-1", Health::Unhealthy);
  bench.say("gpu-2", Health::Healthy);
  EXPECT_EQ(bench.talk(), "GET report; PATCH report; ");
  EXPECT_EQ(bench.devices(), "gpu-1=Unhealthy@08:00:00 gpu-2=Healthy@08:00:30 ");
}

TEST(ReportPublisherTest, EveryFailureEndsInTheRightReport) {
  const ApiReply lost = [] {
    ApiReply reply;
    reply.delivery = client::Delivery::Lost;
    return reply;
  }();
  struct Case {
    const char* what;
    std::vector<ApiReply> answers;
    std::function<void(PublisherBench&)> meanwhile = [](PublisherBench&) {};
  };
  const Case cases[] = {
      {"refused reads", {PublisherBench::answer(403, "Forbidden"), PublisherBench::answer(500, "")}},
      {"a lost create that was carried out",
       {},
       [lost](PublisherBench& bench) {
         bench.report = Json::object({{"spec", Json::object()}});
         bench.next = {
             PublisherBench::answer(404, "NotFound"),
             PublisherBench::answer(200, "", Json::object({{"metadata", Json::object({{"uid", "n1"}})}})),
             lost};
       }},
      {"somebody deleted it",
       {},
       [](PublisherBench& bench) {
         bench.talk();
         bench.report.reset();
       }},
      {"the Node was made anew",
       {},
       [](PublisherBench& bench) {
         bench.talk();
         bench.report.reset();
         bench.node_uid = "n2";
       }},
      {"the Node is not there yet",
       {},
       [](PublisherBench& bench) {
         bench.node_uid.clear();
         bench.talk();
         bench.node_uid = "n2";
       }},
      {"nobody serves the kind",
       {PublisherBench::answer(404, ""), PublisherBench::answer(200, "", Json::object()),
        PublisherBench::answer(404, "")}},
  };
  for (const Case& c : cases) {
    PublisherBench bench;
    bench.next = c.answers;
    bench.say("gpu-1", Health::Healthy);
    c.meanwhile(bench);
    for (int n = 0; n < 10; ++n) {
      bench.talk();
      bench.pass(Duration::seconds(20));
    }
    ASSERT_TRUE(bench.report) << c.what;
    EXPECT_EQ(bench.devices().substr(0, 13), "gpu-1=Healthy") << c.what;
    EXPECT_EQ(bench.publisher.trouble(), "") << c.what;
    for (const Json& owner : bench.report->part("metadata").items_at("ownerReferences"))
      EXPECT_EQ(owner.string_at("uid"), bench.node_uid) << c.what;
  }
}

TEST(NodeReport, IsBoundedAndTheSickAreInIt) {
  HealthCache cache(Duration::minutes(60));
  const Time now = Time::from_seconds(1000);
  Reports reports;
  for (int n = 0; n < 5000; ++n)
    reports.push_back({{std::string(200, 'p'), "gpu-" + std::to_string(n)},
                       {n % 100 == 7 ? Health::Unhealthy : Health::Healthy, std::string(1000, 'm')},
                       3600});
  cache.update("gpu.example.com", reports, now);
  ReportPublisher publisher("node-1");
  publisher.observe(*cache.snapshot(), now);
  ReportedDevices devices;
  const auto snapshot = cache.snapshot();
  for (const auto& [name, health] : snapshot->drivers.at("gpu.example.com").devices)
    devices["gpu.example.com"][name] = {health, now};
  const Json spec = report_spec(devices, {});
  EXPECT_LE(to_string(spec).size(), kNodeReportBytesMax);
  EXPECT_LE(spec.items_at("devices").size(), api::kNodeHealthDevicesMax);
  std::size_t sick = 0;
  for (const Json& device : spec.items_at("devices")) {
    sick += device.string_at("health") == "Unhealthy";
    EXPECT_LE(device.string_at("message").size(), api::kNodeHealthMessageBytesMax);
  }
  EXPECT_EQ(sick, 50u);
  EXPECT_EQ(spec.int_at("unhealthy"), 50);
  EXPECT_EQ(spec.int_at("omitted"), 5000 - static_cast<std::int64_t>(spec.items_at("devices").size()));
}

TEST(NodeReport, WhatIsWrittenReadsBackAndNonsenseIsLeftOut) {
  ReportedDevices devices;
  devices["a.example.com"][{"racks/r1", "gpu-1"}] = {{Health::Unhealthy, "xid 79"}, Time::from_seconds(77)};
  devices["b.example.com"][{"p", "gpu-1"}] = {{Health::Unknown, ""}, Time::from_seconds(78)};
  const ReportedDevices read = read_report(Json::object({{"spec", report_spec(devices, {})}}));
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read.at("a.example.com").at({"racks/r1", "gpu-1"}).health,
            (DeviceHealth{Health::Unhealthy, "xid 79"}));
  EXPECT_EQ(read.at("a.example.com").at({"racks/r1", "gpu-1"}).since, Time::from_seconds(77));
  const Json odd =
      *parse_json(R"({"spec":{"devices":[{},{"driver":"d","pool":"p","device":"a/b","health":"Healthy"},
      {"driver":"d","pool":"p","device":"a","health":"Fine"},7,
      {"driver":"d","pool":"p","device":"a","health":"Unhealthy","since":"yesterday"}]}})");
  EXPECT_EQ(read_report(odd).size(), 1u);
  EXPECT_EQ(read_report(Json()).size(), 0u);
}

TEST(NodeReports, AReportThatNobodyRenewsSaysNothingAnyMore) {
  NodeReports reports;
  Time now = Time::from_seconds(1000);
  const api::ObjectKey key{api::Kind::Other, "", "node-1", api::node_device_health_resource()};
  int version = 0;
  const auto note = [&](const char* health) {
    const std::string object =
        R"({"metadata":{"name":"node-1","uid":"r","resourceVersion":")" + std::to_string(++version) +
        R"("},"spec":{"devices":[{"driver":"d","pool":"p","device":"gpu-1","health":")" + health + R"("}]}})";
    auto typed = api::decode_typed(api::Kind::Other, std::make_shared<const std::string>(object));
    reports.note({key, std::nullopt, *typed});
    reports.refresh(now);
  };
  note("Healthy");
  const auto first = reports.all().at("node-1");
  now = now + kReportRenewPeriod;
  note("Healthy");
  EXPECT_EQ(reports.all().at("node-1"), first) << "a renewal is no change";
  EXPECT_EQ(reports.next_wake(), now + kReportSilenceMax);
  now = now + kReportSilenceMax;
  reports.refresh(now);
  EXPECT_EQ(reports.all().at("node-1")->of("d", {"p", "gpu-1"}),
            (DeviceHealth{Health::Unknown, "the node agent has not reported for more than 180s"}));
  EXPECT_EQ(reports.next_wake(), std::nullopt);
  note("Unhealthy");
  EXPECT_EQ(reports.all().at("node-1")->of("d", {"p", "gpu-1"}).health, Health::Unhealthy);
  reports.note({key, std::nullopt, std::nullopt});
  reports.refresh(now);
  EXPECT_TRUE(reports.all().empty());
}

}  // namespace
}  // namespace berth::health
