#include "health/node_checkpoint.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/fnv.h"
#include "base/hex.h"
#include "base/text_file.h"

namespace berth::health {
namespace {

constexpr const char* kBoot = "5b4d5a4e-boot";

KeptDevice kept(const char* device, Health health, std::string message = "", std::int64_t timeout_s = 30,
                std::int64_t age_s = 1) {
  return {{"pool/of-3-parts", device},
          {health, std::move(message)},
          Duration::seconds(timeout_s),
          Duration::seconds(age_s)};
}

NodeCheckpoint sample() {
  NodeCheckpoint checkpoint{"node-1", kBoot, Time::from_seconds(1800000000), Time::from_seconds(5000), {}};
  checkpoint.drivers["gpu.example.com"].devices = {
      kept("gpu-1", Health::Healthy), kept("gpu-2", Health::Unhealthy, "xid 79 \"\n\u20ac", 86400)};
  checkpoint.drivers["nic.example.com"].unsupported = true;
  checkpoint.claim_drivers = {"gpu.example.com", "nic.example.com"};
  ClaimInfo& claim = checkpoint.claims["uid-1"];
  claim = {{"uid-1", "d", "p-gpus"}, {"pod-1", "pod-2"}, {}};
  claim.drivers["gpu.example.com"] = {NodeOperations::PrepareAndUnprepare,
                                      true,
                                      {{{"big"}, "p", "gpu-1", "share", {"v.com/gpu=1", "v.com/gpu=2"}}}};
  claim.drivers["nic.example.com"].operations = NodeOperations::Prepare;
  return checkpoint;
}

std::string cause(std::string_view text) {
  const Result<NodeCheckpoint> decoded = decode_checkpoint(text);
  return decoded ? "" : decoded.error().message();
}

std::string with_header(const std::string& body, const std::string& version = "1") {
  return "berth-node-health " + version + " " + hex_of(fnv1a(body)) + " " + std::to_string(body.size()) +
         "\n" + body;
}

struct Folder {
  Folder() {
    std::string pattern = testing::TempDir() + "/cXXXXXX";
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    path = pattern;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path;
};

TEST(NodeCheckpoint, ReadsBackAsItWasWritten) {
  const std::string text = encode_checkpoint(sample());
  const Result<NodeCheckpoint> decoded = decode_checkpoint(text);
  ASSERT_TRUE(decoded.ok()) << decoded.error().text();
  EXPECT_EQ(encode_checkpoint(*decoded), text);
  const KeptDevice& second = decoded->drivers.at("gpu.example.com").devices.at(1);
  EXPECT_EQ(second.health, (DeviceHealth{Health::Unhealthy, "xid 79 \"\n\u20ac"}));
  EXPECT_EQ(second.timeout, Duration::seconds(86400));
  EXPECT_TRUE(decoded->drivers.at("nic.example.com").unsupported);
  EXPECT_EQ(decoded->claims, sample().claims);
  EXPECT_EQ(decoded->claim_drivers, sample().claim_drivers);
}

TEST(NodeCheckpoint, OneBitMoreOrLessIsNoticed) {
  const std::string text = encode_checkpoint(sample());
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string torn = text.substr(0, at), flipped = text;
    flipped[at] = static_cast<char>(flipped[at] ^ 4);
    EXPECT_FALSE(decode_checkpoint(torn).ok()) << at;
    EXPECT_FALSE(decode_checkpoint(flipped).ok()) << at;
  }
  EXPECT_FALSE(decode_checkpoint(text + "x").ok());
}

TEST(NodeCheckpoint, RefusalsSayWhy) {
  const std::string device =
      R"({"pool":"p","device":"d","health":"Healthy","timeoutMicros":30000000,"ageMicros":0})";
  const auto of_device = [](const std::string& json) {
    return with_header(R"({"node":"n","wallMicros":1,"monotonicMicros":1,"drivers":{"d.x":{"devices":[)" +
                       json + "]}}}");
  };
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string copy = device;
    return of_device(copy.replace(copy.find(from), from.size(), to));
  };
  ASSERT_TRUE(decode_checkpoint(of_device(device)).ok());
  const std::pair<std::string, std::string> cases[] = {
      {"", "is not a checkpoint of a node agent of Berth"},
      {"{\"gpu.example.com\":{}}\n", "is not a checkpoint of a node agent of Berth"},
      {"berth-node-health x\n", "its header names no version"},
      {with_header("{}", "2"), "was written in version 2 of the format; this program reads 1"},
      {with_header("{}") + " ", "is damaged: checksum or length differ from its header"},
      {with_header("null"), "its document is no JSON object"},
      {with_header(R"({"wallMicros":-1})"), "its time is before 1970"},
      {with_header(R"({"drivers":null})"), "drivers are no map of drivers"},
      {with_header(R"({"drivers":{"../x":{}}})"), "a driver's name is invalid"},
      {changed("\"p\"", "\"\""), "a device's name is invalid"},
      {changed("\"d\"", "\"a/b\""), "a device's name is invalid"},
      {changed("Healthy", "fine"), "a device's health is not one of three"},
      {changed("30000000", "0"), "a device's timeout is out of its bounds"},
      {changed("Micros\":0", "Micros\":-1"), "a device's age is out of its bounds"},
      {changed("Micros\":0", "Micros\":9000000000000000000"), "a device's age is out of its bounds"},
  };
  for (const auto& [text, sentence] : cases) EXPECT_EQ(cause(text), sentence) << text;
}

TEST(NodeCheckpoint, DevicesBeyondTheBoundOfTheFileAreLeftOut) {
  NodeCheckpoint checkpoint = sample();
  for (int driver = 0; driver < 4; ++driver) {
    auto& devices = checkpoint.drivers["d" + std::to_string(driver) + ".example.com"].devices;
    for (std::size_t n = 0; n < kDevicesPerDriverMax; ++n)
      devices.push_back(
          kept(("gpu-" + std::to_string(n)).c_str(), Health::Unhealthy, std::string(1024, 'x')));
  }
  const std::string text = encode_checkpoint(checkpoint);
  EXPECT_LE(text.size(), kCheckpointBytesMax);
  const Result<NodeCheckpoint> decoded = decode_checkpoint(text);
  ASSERT_TRUE(decoded.ok());
  EXPECT_GT(decoded->drivers.at("d0.example.com").devices.size(), 1000u);
  EXPECT_TRUE(decoded->drivers.at("d3.example.com").devices.empty());
}

TEST(NodeCheckpoint, TimeGoesOnWithinOneBootAlone) {
  const NodeCheckpoint checkpoint = sample();
  const auto passed = [&](std::string_view boot, std::int64_t wall, std::int64_t monotonic) {
    const auto since = time_since(checkpoint, boot, checkpoint.wall + Duration::seconds(wall),
                                  checkpoint.monotonic + Duration::seconds(monotonic));
    return since ? since->whole_seconds() : -1;
  };
  EXPECT_EQ(passed(kBoot, 7, 7), 7);
  EXPECT_EQ(passed(kBoot, 9, 7), 9) << "the clock that says more";
  EXPECT_EQ(passed(kBoot, -1, 7), -1) << "a clock that went backwards must not prolong a health";
  EXPECT_EQ(passed(kBoot, 7, -1), -1);
  EXPECT_EQ(passed("another", 7, 7), -1);
  EXPECT_EQ(passed("", 7, 7), -1) << "a machine that tells no boot";
}

TEST(CheckpointFile, WhatIsRefusedIsSetAside) {
  const Folder folder;
  const std::string path = folder.path + "/node-1.checkpoint";
  CheckpointFile file(folder.path, "node-1");
  using From = CheckpointFile::Loaded::From;
  EXPECT_EQ(file.load().from, From::Nothing);
  NodeCheckpoint other = sample();
  other.node = "node-2";
  const std::string future = with_header("{}", "99");
  for (const std::string& bytes : {std::string("garbage"), future, encode_checkpoint(other),
                                   std::string(kCheckpointBytesMax + 1, 'x')}) {
    std::ofstream(path) << bytes;
    EXPECT_EQ(file.load().from, From::Refused);
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_EQ(std::filesystem::file_size(path + ".refused"), bytes.size());
  }
  EXPECT_TRUE(file.save(sample()).ok());
  const CheckpointFile::Loaded loaded = file.load();
  ASSERT_EQ(loaded.from, From::File);
  EXPECT_EQ(loaded.checkpoint.drivers.size(), 2u);
  file.remove();
  EXPECT_EQ(file.load().from, From::Nothing);
}

// A process that is killed while it writes, again and again: what is read is always one of its checkpoints.
TEST(CheckpointFile, AKilledWriterLeavesAWholeCheckpoint) {
  const Folder folder;
  CheckpointFile file(folder.path, "node-1");
  std::int64_t newest = 0;
  for (int round = 0; round < 25; ++round) {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t writer = ::fork();
    if (writer == 0) {
      NodeCheckpoint checkpoint = sample();
      for (std::int64_t n = newest + 1;; ++n) {
        checkpoint.monotonic = Time::from_micros(n);
        checkpoint.drivers["gpu.example.com"].devices.resize(static_cast<std::size_t>(n % 50 + 1),
                                                             kept("gpu-1", Health::Healthy));
        if (!file.save(checkpoint).ok()) ::_exit(1);
        if (::write(ready[1], "x", 1) != 1) ::_exit(1);
      }
    }
    char byte = 0;
    for (int n = 0; n <= round % 5; ++n) ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    ::kill(writer, SIGKILL);
    ::waitpid(writer, nullptr, 0);
    ::close(ready[0]);
    ::close(ready[1]);
    const CheckpointFile::Loaded loaded = file.load();
    ASSERT_EQ(loaded.from, CheckpointFile::Loaded::From::File) << round;
    EXPECT_GT(loaded.checkpoint.monotonic.micros(), newest);
    newest = loaded.checkpoint.monotonic.micros();
  }
  std::ofstream(folder.path + "/node-1.checkpoint.new") << "half a dra";
  EXPECT_EQ(file.load().checkpoint.monotonic.micros(), newest)
      << "a draft without its rename is no checkpoint";
}

}  // namespace
}  // namespace berth::health
