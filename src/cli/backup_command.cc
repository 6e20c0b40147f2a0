#include "cli/backup_command.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>

#include "base/clock.h"
#include "cli/complain.h"
#include "cli/server_options.h"
#include "store/backup.h"

namespace berth::cli {
namespace {

struct Places {
  std::string directory = state_directory();
  std::string file;
};

std::shared_ptr<Places> add_places(CLI::App* command, const char* file) {
  auto places = std::make_shared<Places>();
  command->add_option("--data-dir", places->directory, "the data directory of `up` or `apiserver`")
      ->capture_default_str();
  command->add_option("file", places->file, file)->required();
  return places;
}

int tell(const char* done, const Result<store::BackupContents>& made, const std::string& where) {
  if (!made) return complain(made.error());
  std::printf("%s %zu objects, version %llu: %s\n", done, made->objects,
              static_cast<unsigned long long>(made->revision), where.c_str());
  return 0;
}

int run_backup(const Places& places) {
  return tell("Copied", store::back_up(places.directory, places.file, store::machine_disk()), places.file);
}

// The microseconds since 1970 are more than the writes that any store has accepted.
int run_restore(const Places& places) {
  const auto now = static_cast<store::Revision>(SystemClock().now().micros());
  return tell("Restored", store::restore(places.file, places.directory, now, store::machine_disk()),
              places.directory);
}

}  // namespace

void add_backup(CLI::App& app, Commands& commands) {
  CLI::App* command =
      app.add_subcommand("backup", "copy the objects of a data directory, which may be in use");
  const auto places = add_places(command, "the copy, a file that does not exist yet");
  add_tool(command, commands, [places] { return run_backup(*places); });
}

void add_restore(CLI::App& app, Commands& commands) {
  CLI::App* command = app.add_subcommand("restore", "create a data directory from a backup");
  const auto places = add_places(command, "a file that `berth backup` wrote");
  add_tool(command, commands, [places] { return run_restore(*places); });
}

}  // namespace berth::cli
