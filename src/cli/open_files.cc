#include "cli/open_files.h"

#include <sys/resource.h>

#include <string>

namespace berth::cli {

Status raise_open_files(std::size_t connections) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  ::getrlimit(RLIMIT_NOFILE, &files);
  const std::size_t needed = connections + kOtherFilesMax;
  if (files.rlim_cur >= needed) return {};
  return Error(ErrorCode::Unavailable, "only " + std::to_string(files.rlim_cur) +
                                           " files may be open, so not all of " +
                                           std::to_string(connections) +
                                           " connections can be: `ulimit -Hn`, or LimitNOFILE of a service, "
                                           "must be at least " +
                                           std::to_string(needed));
}

}  // namespace berth::cli
