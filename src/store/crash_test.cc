// Kills a program that writes to a store, at random moments, and checks that every acknowledgement still
// holds.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "base/random.h"
#include "store/test_tools.h"

namespace berth::store {
namespace {

constexpr int kRounds = 200;
constexpr std::uint64_t kLinesBeforeKillMax = 400;
constexpr int kRoundsOfOneDirectory = 25;

// BERTH_CRASH_ROUNDS sets the number.
int rounds() {
  const char* asked = getenv("BERTH_CRASH_ROUNDS");
  return asked == nullptr ? kRounds : atoi(asked);
}

// The promises in the child's lines. Names are used once, so a deleted object never reappears.
struct Promises {
  Revision newest = 0;
  std::map<std::string, Revision> versions;  // by name: the newest acknowledged one
  std::set<std::string> deleting;            // may be gone
  std::set<std::string> deleted;             // must be gone
  std::set<Revision> revisions;
  std::string broken;

  void hear(const std::string& line) {
    std::istringstream words(line);
    std::string fact, name;
    Revision revision = 0;
    words >> fact;
    if (fact == "open") {
      words >> revision;
      if (revision < newest)
        broken = "opened at " + std::to_string(revision) + " behind " + std::to_string(newest);
      return;
    }
    words >> name;
    if (fact == "deleting") {
      deleting.insert(name);
      return;
    }
    words >> revision;
    if (!revisions.insert(revision).second) broken = "a revision was used twice: " + line;
    newest = std::max(newest, revision);
    if (fact == "deleted") {
      deleted.insert(name);
    } else {
      versions[name] = revision;
    }
  }

  std::string check(const Store& store) const {
    if (!broken.empty()) return broken;
    if (store.revision() < newest) return "revision " + std::to_string(newest) + " is lost";
    for (const auto& [name, revision] : versions) {
      const ObjectPtr object = store.get({"pods", "crash", name});
      if (deleted.contains(name) && object != nullptr) return name + " came back";
      if (object == nullptr && !deleting.contains(name)) return name + " is lost";
      if (object == nullptr) continue;
      if (object->revision < revision) return name + " fell back to " + std::to_string(object->revision);
      if (!object->bytes.ends_with("c@" + std::to_string(object->revision))) return name + " is mangled";
    }
    return "";
  }
};

// Starts the child, reads `lines_before_kill` lines, kills it, and reads the lines that it had already
// written.
void run_and_kill(const std::string& program, const std::string& directory, int run,
                  std::uint64_t lines_before_kill, Promises& promises) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::string name = std::to_string(run);
  const std::string descriptor = std::to_string(ends[1]);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    close(ends[0]);
    execl(program.c_str(), program.c_str(), directory.c_str(), name.c_str(), descriptor.c_str(),
          static_cast<char*>(nullptr));
    _exit(127);
  }
  close(ends[1]);
  std::string heard;
  char buffer[4096];
  std::uint64_t lines = 0;
  for (ssize_t count = 0; (count = read(ends[0], buffer, sizeof(buffer))) > 0;) {
    heard.append(buffer, static_cast<std::size_t>(count));
    const std::uint64_t before = lines;
    lines += static_cast<std::uint64_t>(std::count(buffer, buffer + count, '\n'));
    if (before < lines_before_kill && lines >= lines_before_kill) kill(child, SIGKILL);
  }
  close(ends[0]);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "the child ended by itself: " << status;
  std::istringstream all(heard);
  for (std::string line; std::getline(all, line);) promises.hear(line);
}

TEST(Crash, KeepsEveryPromiseWhenKilled) {
  const std::string program =
      (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "store-crash-child").string();
  ASSERT_TRUE(std::filesystem::exists(program)) << program;
  SeededRandom random(11);
  for (int round = 0; round < rounds();) {
    TemporaryDirectory directory;
    Promises promises;
    for (int i = 0; i < kRoundsOfOneDirectory && round < rounds(); ++i, ++round) {
      SCOPED_TRACE("round " + std::to_string(round));
      const std::uint64_t lines = 1 + random.below(kLinesBeforeKillMax);
      ASSERT_NO_FATAL_FAILURE(run_and_kill(program, directory.path(), round, lines, promises));
      const auto store = open_store({.directory = directory.path(), .synchronous = true});
      ASSERT_TRUE(store.ok()) << store.error().text();
      ASSERT_EQ(promises.check(**store), "");
    }
  }
}

}  // namespace
}  // namespace berth::store
