// device-plugin: plays a device plugin by hand. Devices start Healthy; lines on stdin change them: "gpu-1
// Unhealthy", "gpu-1 Healthy", "gpu-1 gone", "restart" (serves the socket anew and registers). Registers
// again when the agent's socket is replaced. Ends at the end of stdin.
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "health/device_plugin.h"

namespace berth::health {
namespace {

constexpr int kLookMillis = 200;

int complain(const std::string& text) {
  std::fprintf(stderr, "device-plugin: %s\n", text.c_str());
  return 2;
}

// Tells a socket from the one before it: a file system may give a new file the number of one that is gone.
struct SocketId {
  ino_t number = 0;
  std::int64_t changed_s = 0, changed_ns = 0;
  bool operator==(const SocketId&) const = default;
};

struct Program {
  DevicePluginOptions options;
  std::unique_ptr<DevicePlugin> served;
  std::optional<SocketId> registered_at;

  // The agent removes the sockets of plugins when it starts, so a new agent's plugin serves anew.
  void look() {
    struct stat about{};
    if (::lstat((options.folder + "/kubelet.sock").c_str(), &about) != 0) return;
    const SocketId found{about.st_ino, about.st_ctim.tv_sec, about.st_ctim.tv_nsec};
    if (registered_at == found) return;
    registered_at.reset();
    served.reset();
    auto fresh = DevicePlugin::serve(options);
    if (!fresh) return (void)complain(fresh.error().text());
    served = std::move(*fresh);
    if (Status told = served->register_again(); !told) return (void)complain(told.error().text());
    registered_at = found;
    std::printf("registered %s\n", options.resource.c_str());
    std::fflush(stdout);
  }
  Status obey(const std::string& line);
};

Status Program::obey(const std::string& line) {
  if (line == "restart") {
    registered_at.reset();
    look();
    return {};
  }
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string id = line.substr(0, end), word = line.substr(std::min(end + 1, line.size()));
  if (word == "gone")
    options.devices.erase(id);
  else if (word == "Healthy" || word == "Unhealthy")
    options.devices[id] = word == "Healthy";
  else
    return Error(ErrorCode::Invalid, "a line is \"DEVICE Healthy|Unhealthy|gone\" or \"restart\"");
  if (served) served->list(options.devices);
  return {};
}

int run(Program& program) {
  std::string text;
  char buffer[4096];
  for (;;) {
    program.look();
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (::poll(&input, 1, kLookMillis) == 0) continue;
    const ssize_t size = ::read(STDIN_FILENO, buffer, sizeof(buffer));
    if (size <= 0) return 0;
    text.append(buffer, static_cast<std::size_t>(size));
    for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
      if (Status done = program.obey(text.substr(0, end)); !done) complain(done.error().text());
      text.erase(0, end + 1);
    }
  }
}

}  // namespace
}  // namespace berth::health

int main(int count, char** words) {
  using namespace berth::health;
  Program program;
  for (int n = 1; n < count; n += 2) {
    const std::string flag = words[n], value = n + 1 < count ? words[n + 1] : "";
    if (value.empty()) return complain("a flag needs a value: " + flag);
    if (flag == "--folder")
      program.options.folder = value;
    else if (flag == "--resource")
      program.options.resource = value;
    else if (flag == "--endpoint")
      program.options.endpoint = value;
    else if (flag == "--device")
      program.options.devices[value] = true;
    else
      return complain("flags: --folder DIR [--resource R] [--endpoint FILE] [--device ID]..., not " + flag);
  }
  if (program.options.folder.empty()) return complain("--folder names the node's device-plugins folder");
  return run(program);
}
