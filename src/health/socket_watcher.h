// The plugin sockets in the plugins_registry folders of many nodes: one inotify instance for all.
//
// Owner: one thread. Creates the folders of the first kNodeFoldersMax nodes; those of another node are
// created and watched once <root>/<node> exists. Names with a leading dot and files that are no socket are
// ignored; sub-folders are watched too, to a depth of kFolderDepthMax. Existing sockets are reported at once.
// A kubelet's folder is read alone: nothing is created, and it is looked for again while it is not there.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"

namespace berth::health {

inline constexpr std::size_t kNodeFoldersMax = 1024;
inline constexpr std::size_t kFolderWatchesMax = 8192;
inline constexpr int kFolderDepthMax = 3;

struct SocketChange {
  enum class What { Appeared, Vanished };
  What what = What::Appeared;
  std::string node;
  std::string path;
};

// Creates the folder and its parents; new ones are readable by their owner alone.
Status make_folder(const std::string& path);
// Removes the sockets that a process of before left: plugins watch for that and register again.
Status remove_sockets(const std::string& folder);

class SocketWatcher {
 public:
  // Refuses a folder that cannot be created or watched.
  static Result<std::unique_ptr<SocketWatcher>> open(std::string root, std::vector<std::string> nodes);
  // Watches <kubelet_directory>/plugins_registry, of one node.
  static Result<std::unique_ptr<SocketWatcher>> open_registry(const std::string& kubelet_directory,
                                                              const std::string& node);
  ~SocketWatcher();

  // A node came or went. The sockets of one that went are forgotten without a change.
  Status add(const std::string& node);
  void remove(const std::string& node);
  // Whether the node's folders are made.
  bool has_folders(const std::string& node) const;

  // Readable when changes() has a result.
  int descriptor() const { return descriptor_; }
  // The changes since the previous call, in order. Does not wait.
  std::vector<SocketChange> changes();

 private:
  struct Folder {
    std::string node;  // empty: the root
    std::string path;
    int depth = 0;
  };
  explicit SocketWatcher(std::string root) : root_(std::move(root)) {}
  Status serve(const std::string& node);
  Status watch(Folder folder);
  void walk(const Folder& folder);
  void look_again();
  void on_name(const Folder& folder, const std::string& name, unsigned mask);

  // Watches the kubelet's folder, if it is there and is not watched.
  void find_registry();

  std::string root_;
  std::string registry_;  // the kubelet's folder; empty: the nodes' folders are below the root
  int descriptor_ = -1;
  std::set<std::string, std::less<>> nodes_;
  std::set<std::string, std::less<>> with_folders_;
  std::map<int, Folder> folders_;
  std::map<std::string, std::string> sockets_;  // path to node
  std::vector<SocketChange> found_;
};

}  // namespace berth::health
