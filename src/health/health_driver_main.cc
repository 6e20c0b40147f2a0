// health-driver: plays a DRA driver's node side by hand. Devices start Healthy; lines on stdin change them:
// "gpu-1 Unhealthy xid 79", "gpu-1 Healthy", "gpu-1 Unknown", "restart" (serves the socket anew), "silence"
// (stops the heartbeat), "speak" (resumes it), "claims fail TEXT" and "claims succeed" (the answers about
// claims), "calls" (prints the calls for claims so far, on one line). Ends at the end of stdin.
#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "health/health_driver.h"

namespace berth::health {
namespace {

constexpr int kHeartbeatMillis = 5000;
constexpr std::string_view kClaimsFail = "claims fail ";

int complain(const std::string& text) {
  std::fprintf(stderr, "health-driver: %s\n", text.c_str());
  return 2;
}

struct Driver {
  HealthDriverOptions options;
  std::string pool = "node-1";
  Reports devices;
  bool silent = false;
  std::string claim_error;
  std::chrono::milliseconds claim_delay{};
  std::unique_ptr<HealthDriver> served;

  Status start() {
    served.reset();
    served = TRY(HealthDriver::serve(options));
    served->report(devices);
    served->answer_claims(claim_error, claim_delay);
    return {};
  }
  static void print(const std::vector<std::string>& lines) {
    for (const std::string& line : lines) std::printf("%s; ", line.c_str());
    std::printf("\n");
    std::fflush(stdout);
  }
  Status obey(const std::string& line);
};

Status Driver::obey(const std::string& line) {
  if (line == "restart") return start();
  if (line == "silence" || line == "speak") {
    silent = line == "silence";
    return {};
  }
  if (line == "calls") return print(served->calls()), Status();
  if (line == "answers") return print(served->answers()), Status();
  if (line == "claims succeed" || line.starts_with(kClaimsFail)) {
    claim_error = line.starts_with(kClaimsFail) ? line.substr(kClaimsFail.size()) : "";
    served->answer_claims(claim_error, claim_delay);
    return {};
  }
  const std::size_t name_end = line.find(' ');
  if (name_end == std::string::npos)
    return Error(ErrorCode::Invalid, "a line is \"DEVICE HEALTH [MESSAGE]\"");
  const std::size_t health_end = std::min(line.find(' ', name_end + 1), line.size());
  const std::string word = line.substr(name_end + 1, health_end - name_end - 1);
  for (const Health health : {Health::Healthy, Health::Unhealthy, Health::Unknown}) {
    if (name_of(health) != word) continue;
    for (DeviceReport& report : devices)
      if (report.name.device == line.substr(0, name_end))
        report.health = {health, health_end < line.size() ? line.substr(health_end + 1) : ""};
    served->report(devices);
    return {};
  }
  return Error(ErrorCode::Invalid, "the health is Healthy, Unhealthy or Unknown");
}

int run(Driver& driver) {
  if (Status started = driver.start(); !started) return complain(started.error().text());
  std::printf("serving %s\n", driver.options.socket.c_str());
  std::fflush(stdout);
  std::string text;
  char buffer[4096];
  for (;;) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (::poll(&input, 1, kHeartbeatMillis) == 0) {
      if (!driver.silent) driver.served->report({});
      continue;
    }
    const ssize_t size = ::read(STDIN_FILENO, buffer, sizeof(buffer));
    if (size <= 0) return 0;
    text.append(buffer, static_cast<std::size_t>(size));
    for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
      if (Status done = driver.obey(text.substr(0, end)); !done) complain(done.error().text());
      text.erase(0, end + 1);
    }
  }
}

}  // namespace
}  // namespace berth::health

int main(int count, char** words) {
  using namespace berth::health;
  Driver driver;
  std::string folder, instance;
  std::vector<std::string> devices;
  std::int64_t timeout_s = 0;
  for (int n = 1; n < count; n += 2) {
    const std::string flag = words[n], value = n + 1 < count ? words[n + 1] : "";
    if (value.empty()) return complain("a flag needs a value: " + flag);
    if (flag == "--registry")
      folder = value;
    else if (flag == "--driver")
      driver.options.name = value;
    else if (flag == "--pool")
      driver.pool = value;
    else if (flag == "--device")
      devices.push_back(value);
    else if (flag == "--instance")
      instance = "-" + value;
    else if (flag == "--timeout-seconds")
      timeout_s = std::atoll(value.c_str());
    else if (flag == "--claim-delay-ms")
      driver.claim_delay = std::chrono::milliseconds(std::atoll(value.c_str()));
    else if (flag == "--claim-error")
      driver.claim_error = value;
    else
      return complain(
          "flags: --registry DIR [--driver D] [--pool P] [--device NAME]... [--instance I] "
          "[--timeout-seconds N] [--claim-delay-ms N] [--claim-error TEXT], not " +
          flag);
  }
  if (folder.empty()) return complain("--registry names the plugins_registry folder");
  driver.options.socket = folder + "/" + driver.options.name + instance + "-reg.sock";
  for (const std::string& device : devices)
    driver.devices.push_back({{driver.pool, device}, {Health::Healthy, ""}, timeout_s});
  return run(driver);
}
