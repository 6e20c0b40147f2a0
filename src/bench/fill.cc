#include "bench/fill.h"

#include <sys/resource.h>

#include <cstdio>
#include <thread>

#include "bench/load.h"

namespace berth::bench {
namespace {

Json node_object(const FillShape& shape, std::size_t n) {
  const std::string name = "node-" + std::to_string(n);
  Json labels = Json::object({{"kubernetes.io/hostname", name}});
  if (shape.racks > 0) labels["rack"] = "rack-" + std::to_string(n % shape.racks);
  const Json amounts = Json::object({{"cpu", "64"}, {"memory", "256Gi"}, {"pods", "110"}});
  return Json::object({{"apiVersion", "v1"},
                       {"kind", "Node"},
                       {"metadata", Json::object({{"name", name}, {"labels", std::move(labels)}})},
                       {"status", Json::object({{"capacity", amounts}, {"allocatable", amounts}})}});
}

Json slice_object(std::size_t n, std::size_t device_count) {
  const std::string node = "node-" + std::to_string(n);
  JsonArray devices;
  for (std::size_t i = 0; i < device_count; ++i)
    devices.push_back(Json::object(
        {{"name", "instance-" + std::to_string(i)},
         {"attributes", Json::object({{"model", Json::object({{"string", "A100"}})},
                                      {"family", Json::object({{"string", "GPU"}})},
                                      {"driverVersion", Json::object({{"version", "1.2.3"}})},
                                      {"numa", Json::object({{"int", static_cast<std::int64_t>(i)}})}})},
         {"capacity", Json::object({{"memory", Json::object({{"value", "1Gi"}})}})}}));
  return Json::object(
      {{"apiVersion", "resource.k8s.io/v1"},
       {"kind", "ResourceSlice"},
       {"metadata", Json::object({{"name", node + "-slice"}})},
       {"spec",
        Json::object({{"driver", "bench.example.com"},
                      {"nodeName", node},
                      {"pool", Json::object({{"name", node}, {"generation", 1}, {"resourceSliceCount", 1}})},
                      {"devices", std::move(devices)}})}});
}

Json class_object() {
  const Json selector =
      Json::object({{"cel", Json::object({{"expression", "device.driver == 'bench.example.com'"}})}});
  return Json::object({{"apiVersion", "resource.k8s.io/v1"},
                       {"kind", "DeviceClass"},
                       {"metadata", Json::object({{"name", "bench.example.com"}})},
                       {"spec", Json::object({{"selectors", Json::array({selector})}})}});
}

Json template_object() {
  const Json request =
      Json::object({{"name", "gpu"}, {"exactly", Json::object({{"deviceClassName", "bench.example.com"}})}});
  const Json devices = Json::object({{"requests", Json::array({request})}});
  return Json::object({{"apiVersion", "resource.k8s.io/v1"},
                       {"kind", "ResourceClaimTemplate"},
                       {"metadata", Json::object({{"name", "one-gpu"}})},
                       {"spec", Json::object({{"spec", Json::object({{"devices", devices}})}})}});
}

Json pod_object(const FillShape& shape, const std::string& name, const std::string& group) {
  Json container = Json::object(
      {{"name", "work"},
       {"image", "registry.k8s.io/pause:3.10"},
       {"resources", Json::object({{"requests", Json::object({{"cpu", "100m"}, {"memory", "100Mi"}})}})}});
  Json spec = Json::object({{"schedulerName", "berth"}});
  if (shape.devices_per_node > 0) {
    container["resources"]["claims"] = Json::array({Json::object({{"name", "gpu"}})});
    spec["resourceClaims"] =
        Json::array({Json::object({{"name", "gpu"}, {"resourceClaimTemplateName", "one-gpu"}})});
  }
  if (!group.empty()) spec["schedulingGroup"] = Json::object({{"podGroupName", group}});
  spec["containers"] = Json::array({std::move(container)});
  return Json::object({{"apiVersion", "v1"},
                       {"kind", "Pod"},
                       {"metadata", Json::object({{"name", name}})},
                       {"spec", std::move(spec)}});
}

Json group_object(const FillShape& shape, const std::string& name) {
  const Json gang = Json::object({{"minCount", static_cast<std::int64_t>(shape.gang_size)}});
  Json spec = Json::object({{"schedulingPolicy", Json::object({{"gang", gang}})}});
  if (shape.racks > 0)
    spec["schedulingConstraints"] =
        Json::object({{"topology", Json::array({Json::object({{"key", "rack"}})})}});
  return Json::object({{"apiVersion", api::ref_of(api::Kind::PodGroup).api_version()},
                       {"kind", "PodGroup"},
                       {"metadata", Json::object({{"name", name}})},
                       {"spec", std::move(spec)}});
}

void make_cluster(Load& load, const FillShape& shape) {
  const bool devices = shape.devices_per_node > 0;
  if (devices) {
    load.create(api::ref_of(api::Kind::DeviceClass), "", class_object());
    load.create(api::ref_of(api::Kind::ResourceClaimTemplate), "default", template_object());
  }
  for (std::size_t n = 1; n <= shape.nodes; ++n) {
    load.create(api::ref_of(api::Kind::Node), "", node_object(shape, n));
    if (devices)
      load.create(api::ref_of(api::Kind::ResourceSlice), "", slice_object(n, shape.devices_per_node));
  }
  load.wait_for_answers();
  for (std::size_t n = 1; n <= shape.nodes; ++n) load.make_ready("node-" + std::to_string(n));
}

void make_pods(Load& load, const FillShape& shape, const std::string& prefix, std::size_t count,
               std::size_t per_s, const Clock& clock) {
  const Time began = clock.monotonic();
  std::string group;
  for (std::size_t i = 0; i < count; ++i) {
    if (per_s > 0) {
      const Duration due = Duration::micros(static_cast<std::int64_t>(i * 1'000'000 / per_s));
      const Duration left = began + due - clock.monotonic();
      if (left > Duration()) std::this_thread::sleep_for(std::chrono::microseconds(left.micros()));
    }
    if (shape.gang_size > 0 && i % shape.gang_size == 0) {
      group = prefix + "gang-" + std::to_string(i / shape.gang_size);
      load.create(api::ref_of(api::Kind::PodGroup), "default", group_object(shape, group));
    }
    const std::string name = prefix + std::to_string(i);
    load.create_pod(name, pod_object(shape, name, group));
  }
}

std::int64_t resident_kb() {
  std::FILE* file = std::fopen("/proc/self/status", "re");
  if (!file) return 0;
  char line[256];
  long long kb = 0;
  while (std::fgets(line, sizeof line, file))
    if (std::sscanf(line, "VmRSS: %lld kB", &kb) == 1) break;
  std::fclose(file);
  return kb;
}

double cpu_us() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto us = [](const timeval& time) { return time.tv_sec * 1e6 + static_cast<double>(time.tv_usec); };
  return us(usage.ru_utime) + us(usage.ru_stime);
}

}  // namespace

Result<FillResult> measure_fill(const FillShape& shape, const MeasuredPlane& plane) {
  Load load(plane.user, plane.clock);
  const auto subscription = plane.user.list_and_watch(api::ref_of(api::Kind::Pod), load);
  make_cluster(load, shape);

  make_pods(load, shape, "before-", shape.pods_before, 0, plane.clock);
  TRY(load.wait_until_bound(shape.pods_before));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const std::uint64_t writes_before = plane.writes_accepted();
  const double cpu_before_us = cpu_us();
  make_pods(load, shape, "measured-", shape.pods_measured, shape.offered_per_s, plane.clock);
  TRY(load.wait_until_bound(shape.pods_before + shape.pods_measured));

  FillResult result;
  const std::vector<double> latencies = load.latencies_ms("measured-");
  result.pods_per_s = static_cast<double>(latencies.size()) / load.seconds_of("measured-");
  result.p50_ms = latencies[latencies.size() / 2];
  result.p99_ms = latencies[latencies.size() * 99 / 100];
  std::this_thread::sleep_for(std::chrono::milliseconds(1000));
  result.writes_per_pod =
      static_cast<double>(plane.writes_accepted() - writes_before) / static_cast<double>(shape.pods_measured);
  result.cpu_us_per_pod = (cpu_us() - cpu_before_us) / static_cast<double>(shape.pods_measured);
  result.resident_kb = resident_kb();
  return result;
}

}  // namespace berth::bench
