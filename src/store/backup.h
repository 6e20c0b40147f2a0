// A store as one file, copied while a server uses it, and a data directory made from such a file.
//
// The file is a database as in a data directory (sqlite_log.h), checked object by object before it gets its
// name. Both functions read and write files only through `disk` and hold no object longer than it is checked;
// when they fail they leave nothing behind. A process that ends in between leaves "<file>.partial", which the
// next try overwrites.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "store/disk.h"
#include "store/store.h"

namespace berth::store {

struct BackupContents {
  std::size_t objects = 0;
  Revision revision = 0;  // the state that it shows
};

// Copies what `directory` holds into the new file `file`: one state, that of a commit during the call. The
// server still writes; its checkpoints wait. NotFound: there is no store. Exists: `file` is there already.
// Unavailable: another backup runs, or the log was replaced during each of kBackupTriesMax copies. Cost:
// reads the database and its log, reads the copy.
Result<BackupContents> back_up(const std::string& directory, const std::string& file, Disk& disk);
inline constexpr int kBackupTriesMax = 5;

// Makes `directory`, which must not hold a store (Exists), from `file`. Its versions continue after those of
// the backup and after `at_least`. The caller passes one that no earlier store there gave out, so clients
// from before the loss see that their versions are gone.
Result<BackupContents> restore(const std::string& file, const std::string& directory, Revision at_least,
                               Disk& disk);

}  // namespace berth::store
