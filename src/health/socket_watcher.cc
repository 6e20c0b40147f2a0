#include "health/socket_watcher.h"

#include <dirent.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/log.h"

namespace berth::health {
namespace {

constexpr unsigned kEvents = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;

Error failed(const std::string& path, const char* what) {
  return Error(ErrorCode::Internal, path, std::string(what) + ": " + std::strerror(errno));
}

std::vector<std::string> names_in(const std::string& path) {
  std::vector<std::string> names;
  DIR* folder = ::opendir(path.c_str());
  if (!folder) return names;
  while (const dirent* entry = ::readdir(folder))
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  ::closedir(folder);
  return names;
}

}  // namespace

Status make_folder(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) return failed(part, "the folder cannot be made");
    if (end == std::string::npos) return {};
  }
}

Status remove_sockets(const std::string& folder) {
  for (const std::string& name : names_in(folder)) {
    const std::string path = folder + "/" + name;
    struct stat about{};
    if (::lstat(path.c_str(), &about) != 0 || !S_ISSOCK(about.st_mode)) continue;
    if (::unlink(path.c_str()) != 0 && errno != ENOENT)
      return failed(path, "an old socket cannot be removed");
  }
  return {};
}

Result<std::unique_ptr<SocketWatcher>> SocketWatcher::open(std::string root, std::vector<std::string> nodes) {
  std::unique_ptr<SocketWatcher> watcher(new SocketWatcher(std::move(root)));
  if (Status made = make_folder(watcher->root_); !made) return made.error();
  watcher->descriptor_ = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (watcher->descriptor_ < 0) return failed(watcher->root_, "folders cannot be watched");
  watcher->nodes_.insert(nodes.begin(), nodes.end());
  if (Status watched = watcher->watch({"", watcher->root_, 0}); !watched) return watched.error();
  for (std::size_t n = 0; n < nodes.size() && n < kNodeFoldersMax; ++n)
    if (Status served = watcher->serve(nodes[n]); !served) return served.error();
  for (const std::string& name : names_in(watcher->root_))
    if (watcher->nodes_.count(name) > 0)
      if (Status served = watcher->serve(name); !served) return served.error();
  return watcher;
}

Result<std::unique_ptr<SocketWatcher>> SocketWatcher::open_registry(const std::string& kubelet_directory,
                                                                    const std::string& node) {
  std::unique_ptr<SocketWatcher> watcher(new SocketWatcher(kubelet_directory));
  watcher->registry_ = kubelet_directory + "/plugins_registry";
  watcher->descriptor_ = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (watcher->descriptor_ < 0) return failed(watcher->registry_, "folders cannot be watched");
  watcher->nodes_.insert(node);
  watcher->find_registry();
  if (watcher->folders_.empty())
    log(LogLevel::Warning, "the kubelet's folder of plugins is not there yet",
        {{"folder", watcher->registry_}});
  return watcher;
}

void SocketWatcher::find_registry() {
  for (const auto& [watch, folder] : folders_)
    if (folder.path == registry_) return;
  struct stat about{};
  if (::stat(registry_.c_str(), &about) != 0 || !S_ISDIR(about.st_mode)) return;
  if (Status watched = watch({*nodes_.begin(), registry_, 1}); !watched)
    log(LogLevel::Warning, "the kubelet's folder of plugins cannot be watched",
        {{"cause", watched.error().text()}});
}

SocketWatcher::~SocketWatcher() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status SocketWatcher::serve(const std::string& node) {
  const std::string folder = root_ + "/" + node;
  // As a kubelet's folder: drivers keep their sockets and checkpoints in `plugins`.
  for (const char* part : {"/device-plugins", "/plugins", "/plugins_registry"})
    if (Status made = make_folder(folder + part); !made) return made;
  TRY(watch({node, folder + "/plugins_registry", 1}));
  with_folders_.insert(node);
  return {};
}

Status SocketWatcher::add(const std::string& node) {
  if (!nodes_.insert(node).second) return {};
  struct stat about{};
  const bool wanted = ::lstat((root_ + "/" + node).c_str(), &about) == 0;
  if (with_folders_.size() >= kNodeFoldersMax && !wanted) return {};
  return serve(node);
}

void SocketWatcher::remove(const std::string& node) {
  nodes_.erase(node);
  with_folders_.erase(node);
  std::erase_if(sockets_, [&](const auto& socket) { return socket.second == node; });
  std::erase_if(found_, [&](const SocketChange& change) { return change.node == node; });
  for (auto folder = folders_.begin(); folder != folders_.end();) {
    if (folder->second.node == node) {
      ::inotify_rm_watch(descriptor_, folder->first);
      folder = folders_.erase(folder);
    } else {
      ++folder;
    }
  }
}

bool SocketWatcher::has_folders(const std::string& node) const {
  return with_folders_.contains(node);
}

Status SocketWatcher::watch(Folder folder) {
  if (folders_.size() >= kFolderWatchesMax)
    return Error(ErrorCode::TooLarge, folder.path, "more folders with plugins than can be watched");
  const int watch = ::inotify_add_watch(descriptor_, folder.path.c_str(), kEvents | IN_ONLYDIR);
  if (watch < 0) return failed(folder.path, "the folder cannot be watched");
  if (!folders_.try_emplace(watch, folder).second) return {};
  if (!folder.node.empty()) walk(folder);
  return {};
}

void SocketWatcher::walk(const Folder& folder) {
  for (const std::string& name : names_in(folder.path)) on_name(folder, name, 0);
}

// Events were lost: compares the existing sockets with the known ones.
void SocketWatcher::look_again() {
  for (const auto& [path, node] : std::map(sockets_)) {
    struct stat about{};
    if (::lstat(path.c_str(), &about) == 0 && S_ISSOCK(about.st_mode)) continue;
    sockets_.erase(path);
    found_.push_back({SocketChange::What::Vanished, node, path});
  }
  for (const auto& [watch, folder] : std::map(folders_))
    for (const std::string& name : names_in(folder.path)) on_name(folder, name, 0);
}

void SocketWatcher::on_name(const Folder& folder, const std::string& name, unsigned mask) {
  if (name.empty() || name.front() == '.') return;
  const std::string path = folder.path + "/" + name;
  if (mask & (IN_DELETE | IN_MOVED_FROM)) {
    if (sockets_.erase(path) > 0) found_.push_back({SocketChange::What::Vanished, folder.node, path});
    return;
  }
  if (folder.node.empty()) {
    if (nodes_.count(name) == 0) return;
    if (Status served = serve(name); !served)
      log(LogLevel::Warning, "a node's plugins cannot be watched", {{"cause", served.error().text()}});
    return;
  }
  struct stat about{};
  if (::lstat(path.c_str(), &about) != 0) return;
  if (S_ISDIR(about.st_mode) && folder.depth < kFolderDepthMax) {
    if (Status watched = watch({folder.node, path, folder.depth + 1}); !watched)
      log(LogLevel::Warning, "a folder of plugins cannot be watched", {{"cause", watched.error().text()}});
    return;
  }
  if (!S_ISSOCK(about.st_mode)) return;
  const bool known = !sockets_.emplace(path, folder.node).second;
  // Without an event the socket is the known one; with an event it was replaced.
  if (!known || mask != 0) found_.push_back({SocketChange::What::Appeared, folder.node, path});
}

std::vector<SocketChange> SocketWatcher::changes() {
  alignas(inotify_event) char buffer[64 * 1024];
  if (!registry_.empty()) find_registry();
  for (;;) {
    const ssize_t size = ::read(descriptor_, buffer, sizeof(buffer));
    if (size <= 0) return std::exchange(found_, {});
    for (ssize_t at = 0; at < size;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
      if (event->mask & IN_Q_OVERFLOW) {
        look_again();
        continue;
      }
      const auto found = folders_.find(event->wd);
      if (found == folders_.end()) continue;
      if (event->mask & IN_IGNORED) {
        folders_.erase(found);
        if (!registry_.empty()) look_again();  // a folder that was moved away leaves its sockets behind
        continue;
      }
      const Folder folder = found->second;
      on_name(folder, event->len > 0 ? event->name : "", event->mask & kEvents);
    }
  }
}

}  // namespace berth::health
