#include "health/report_publisher.h"

#include "api/serialized.h"
#include "api/types/node_device_health.h"
#include "base/backoff.h"

namespace berth::health {

using client::ApiReply;
using client::ApiRequest;
using client::Verb;

void ReportPublisher::observe(const HealthSnapshot& health, Time wall) {
  ReportedDevices next;
  for (const auto& [driver, known] : health.drivers)
    for (const auto& [name, device] : known.devices) {
      ReportedHealth reported{device, wall};
      for (const ReportedDevices* before : {&devices_, &remembered_}) {
        const auto of_driver = before->find(driver);
        if (of_driver == before->end()) continue;
        const auto old = of_driver->second.find(name);
        if (old == of_driver->second.end()) continue;
        if (old->second.health.health == device.health) reported.since = old->second.since;
        break;
      }
      next[driver].emplace(name, std::move(reported));
    }
  devices_ = std::move(next);
  silent_ = silent_drivers(health);
  wanted_ = report_spec(devices_, silent_);
}

std::optional<ApiRequest> ReportPublisher::next_request(Time wall, Time now) {
  const std::optional<Time> due = next_wake();
  if (!due || now < *due) return std::nullopt;
  retry_at_.reset();
  under_way_ = true;
  sent_ = wanted_;
  return request_for(step_, wall);
}

std::optional<Time> ReportPublisher::next_wake() const {
  if (under_way_) return std::nullopt;
  if (retry_at_) return retry_at_;
  if (step_ != Step::Write || !written_at_) return Time();
  return *written_at_ + (wanted_ == accepted_ ? kReportRenewPeriod : kReportPeriod);
}

ApiRequest ReportPublisher::request_for(Step step, Time wall) const {
  ApiRequest request;
  request.resource = api::node_device_health_resource();
  request.name = node_;
  if (step == Step::ReadReport) return request;
  if (step == Step::ReadNode) {
    request.resource = api::ref_of(api::Kind::Node);
    return request;
  }
  Json object = Json::object({{"spec", sent_}});
  object["spec"]["observed"] = format_time(wall);
  request.verb = step == Step::Create ? Verb::Create : Verb::MergePatch;
  if (step == Step::Create) {
    Json& spec = object["spec"];
    for (const char* member : {"omitted", "devices", "silentDrivers"})
      if (spec.find(member)->is_null()) spec.as_object().erase(member);
    const api::OwnerReference owner{"v1", "Node", node_, node_uid_, false, false};
    object["apiVersion"] = request.resource.api_version();
    object["kind"] = api::kNodeDeviceHealthKind;
    object["metadata"] =
        Json::object({{"name", node_}, {"ownerReferences", Json::array({api::to_json(owner)})}});
  }
  request.body = to_string(object);
  return request;
}

void ReportPublisher::answered(const ApiReply& reply, Time now) {
  under_way_ = false;
  const bool missing = reply.delivery == client::Delivery::Answered && reply.code == 404;
  switch (step_) {
    case Step::ReadReport:
      if (reply.ok()) {
        adopt(reply);
        step_ = Step::Write;
      } else if (missing) {
        step_ = Step::ReadNode;
      } else {
        return failed(reply, now);
      }
      return;
    case Step::ReadNode:
      if (!reply.ok()) return failed(reply, now);  // missing too: the node is not registered yet
      if (const auto node = reply.object ? api::parse_object(*reply.object) : Result<Json>(Json()); node)
        node_uid_ = node->part("metadata").string_at("uid");
      step_ = Step::Create;
      return;
    case Step::Create:
      if (reply.ok()) return written(reply, now);
      // Somebody made it, or an earlier request of this process did; a Node that is gone gets another UID.
      step_ = reply.reason == "AlreadyExists" ? Step::ReadReport : Step::ReadNode;
      return failed(reply, now);
    case Step::Write:
      if (reply.ok()) return written(reply, now);
      if (missing) step_ = Step::ReadNode;
      return failed(reply, now);
  }
}

// Devices that are as they were told before have their dates.
void ReportPublisher::adopt(const ApiReply& reply) {
  const auto object = reply.object ? api::parse_object(*reply.object) : Result<Json>(Json());
  if (!object) return;
  remembered_ = read_report(*object);
  for (auto& [driver, names] : devices_) {
    const auto known = remembered_.find(driver);
    if (known == remembered_.end()) continue;
    for (auto& [name, reported] : names) {
      const auto old = known->second.find(name);
      if (old != known->second.end() && old->second.health.health == reported.health.health)
        reported.since = old->second.since;
    }
  }
  wanted_ = report_spec(devices_, silent_);
}

void ReportPublisher::written(const ApiReply&, Time now) {
  step_ = Step::Write;
  accepted_ = sent_;
  written_at_ = now;
  published_ = true;
  failures_ = 0;
  trouble_.clear();
}

void ReportPublisher::failed(const ApiReply& reply, Time now) {
  trouble_ = reply.message.empty() ? "answer " + std::to_string(reply.code) : reply.message;
  const Duration wait = backoff(kReportBackoffBase, kReportBackoffMax, ++failures_);
  retry_at_ = now + std::max(wait, Duration::seconds(reply.retry_after_s));
}

}  // namespace berth::health
