// Carries out CustomResourceDefinitions: their names and conditions, what is served, the objects of deleted
// ones.
//
// Level-triggered: a run reads all definitions and does what is missing. It runs before the answer to each
// write of a definition, and again while something is left to do (tick). Owner: ApiServer. Thread-safe: one
// run at a time; a call during a run makes that one start over. Source: the naming, establishing and
// finalizing controllers of apiextensions-apiserver 1.37.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "server/registry.h"
#include "server/served.h"

namespace berth::server {

// Deletes of a run; the next one continues.
inline constexpr std::size_t kObjectDeletesPerRunMax = 500;
// Runs of one call: each one after the first has something new to do.
inline constexpr int kDefinitionRunsMax = 64;

class CustomResources {
 public:
  // Both outlive it. Serves at once what stored definitions say.
  CustomResources(Registry& registry, ServedResources& served);

  // Definitions or objects of deleted ones have changed. Any thread but the committer's.
  void run();
  // About every 200 ms: runs while definitions or namespaces wait for their objects.
  void tick();
  // A namespace is being deleted: the next tick looks at its objects, and again until it is gone.
  void wake() { waiting_ = true; }
  // Whether objects of custom resources are in the namespace: it is not gone before them.
  bool has_objects_in(const std::string& ns) const;

 private:
  // A definition as it is stored, and as it should be.
  struct Entry {
    store::ObjectPtr object;
    Json stored, wanted;
  };

  void run_once();
  std::vector<Entry> entries() const;
  static void judge(std::vector<Entry>& entries, Time now);
  std::vector<DefinitionPtr> definitions_of(const std::vector<Entry>& entries);
  void write_status(const Entry& entry);
  void clean_up(const Entry& entry);
  void release(const Entry& entry);
  // False when there are none.
  bool delete_objects(const crd::Definition& definition, const std::string& ns);
  bool has_pods_in(const std::string& ns) const;
  void clean_namespaces();
  void written(const ApiResult<Answer>& made);

  Registry& registry_;
  ServedResources& served_;
  std::mutex mutex_;
  bool running_ = false, again_ = false;
  std::atomic<bool> waiting_{false};           // something is left to do
  std::map<std::string, DefinitionPtr> made_;  // of the run before, by name
};

}  // namespace berth::server
