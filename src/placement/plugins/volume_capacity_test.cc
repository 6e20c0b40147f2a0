// The score by storage: numbers worked out by hand, and a slow twin on random worlds.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "placement/plugins/resource_arithmetic.h"
#include "placement/test_cluster.h"

namespace berth::placement {
namespace {

using api::Kind;

constexpr int kStorageNodes = 4;

struct Disk {
  std::string name, storage_class;
  std::int64_t size;
  int node;  // -1: all reach it
};
struct Published {
  std::string storage_class;
  std::int64_t size;
  int node;
};
struct Wanted {
  std::string storage_class;
  std::int64_t size;
};

// Classes l1 and l2 have disks alone; m1 and m2 are provisioned from what their driver publishes.
class StorageWorld {
 public:
  StorageWorld() {
    for (int i = 0; i < kStorageNodes; ++i)
      bench.put_node(node(i), R"("host":"h)" + std::to_string(i) + "\"");
    for (const std::string name : {"l1", "l2", "m1", "m2"})
      bench.put(Kind::StorageClass, R"({"metadata":{"name":")" + name +
                                        R"("},"volumeBindingMode":"WaitForFirstConsumer","provisioner":")" +
                                        (name[0] == 'm' ? "drv" : "kubernetes.io/no-provisioner") + "\"}");
    bench.put(Kind::CSIDriver, R"({"metadata":{"name":"drv"},"spec":{"storageCapacity":true}})");
  }
  static std::string node(int i) { return "n" + std::to_string(i); }
  void put(const Disk& disk) {
    const std::string affinity =
        disk.node < 0 ? ""
                      : R"(,"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":)"
                        R"("host","operator":"In","values":["h)" +
                            std::to_string(disk.node) + R"("]}]}]}})";
    bench.put(Kind::PersistentVolume, R"({"metadata":{"name":")" + disk.name +
                                          R"("},"status":{"phase":"Available"},"spec":{)" +
                                          R"("storageClassName":")" + disk.storage_class +
                                          R"(","accessModes":["ReadWriteOnce"],"capacity":{"storage":")" +
                                          std::to_string(disk.size) + "\"}" + affinity + "}}");
    disks.push_back(disk);
  }
  // One for each class and node.
  void put(const Published& one) {
    bench.put(Kind::CSIStorageCapacity,
              R"({"metadata":{"namespace":"ns","name":")" + one.storage_class + "-" +
                  std::to_string(one.node) + R"("},"storageClassName":")" + one.storage_class +
                  R"(","nodeTopology":{"matchLabels":{"host":"h)" + std::to_string(one.node) +
                  R"("}},"capacity":")" + std::to_string(one.size) + "\"}");
    published.push_back(one);
  }
  const api::Pod& put_pod(const std::vector<Wanted>& claims) {
    std::string volumes;
    for (const Wanted& one : claims) {
      const std::string name = "c" + std::to_string(wanted.size());
      bench.put(Kind::PersistentVolumeClaim,
                R"({"metadata":{"namespace":"ns","name":")" + name + R"("},"spec":{"storageClassName":")" +
                    one.storage_class + R"(","accessModes":["ReadWriteOnce"],"resources":{"requests":{)" +
                    R"("storage":")" + std::to_string(one.size) + "\"}}}}");
      volumes += (volumes.empty() ? "" : ",") + std::string(R"({"name":")") + name +
                 R"(","persistentVolumeClaim":{"claimName":")" + name + R"("}})";
      wanted.push_back(one);
    }
    return bench.put_pod("w", "", R"(,"volumes":[)" + volumes + "]");
  }
  // What VolumeBinding gives each node.
  std::map<std::string, std::int64_t> scores(const api::Pod& pod) {
    bench.begin(pod);
    EXPECT_TRUE(bench.pods.prepare(bench.state));
    std::map<std::string, std::int64_t> scores;
    for (const auto& row : bench.pods.scores_by_plugin(bench.state, bench.domains.nodes(bench.cluster)))
      for (std::size_t i = 0; row.plugin == "VolumeBinding" && i < row.scores.size(); ++i)
        scores[bench.cluster.node(bench.state.candidates[i]).name] = row.scores[i];
    return scores;
  }
  // Of the node, as kube-scheduler's source describes it; 0 where a claim gets nothing.
  std::int64_t twin(int at) const {
    std::vector<Wanted> claims = wanted;
    std::stable_sort(claims.begin(), claims.end(), [](auto& a, auto& b) { return a.size < b.size; });
    std::map<std::string, plugins::StorageUse> of_disks, made;
    std::set<std::string> taken;
    for (const Wanted& claim : claims) {
      const Disk* best = nullptr;
      for (const Disk& disk : disks)
        if (disk.storage_class == claim.storage_class && disk.size >= claim.size &&
            (disk.node < 0 || disk.node == at) && !taken.contains(disk.name) &&
            (!best || std::pair(disk.size, disk.name) < std::pair(best->size, best->name)))
          best = &disk;
      const Published* from = nullptr;
      for (const Published& one : published)
        if (one.storage_class == claim.storage_class && one.node == at && one.size >= claim.size) from = &one;
      if (!best && !from) return 0;
      if (best) {
        taken.insert(best->name);
        of_disks[claim.storage_class].requested += claim.size;
        of_disks[claim.storage_class].capacity += best->size;
      } else {
        made[claim.storage_class].requested += claim.size;
        made[claim.storage_class].capacity = from->size;
      }
    }
    const auto& classes = of_disks.empty() ? made : of_disks;
    double sum = 0;
    for (const auto& [name, use] : classes)
      sum += use.requested > use.capacity ? 0 : 100 - static_cast<int>(use.requested * 100 / use.capacity);
    return classes.empty() ? 0 : std::lround(sum / static_cast<double>(classes.size()));
  }

  PluginBench bench;
  std::vector<Disk> disks;
  std::vector<Published> published;
  std::vector<Wanted> wanted;
};

using Scores = std::map<std::string, std::int64_t>;

// n1: 20 of 100 are used, n2: 20 of 30 (66 percent). The others have the 200 that all reach: 10 percent.
TEST(VolumeCapacityScore, PrefersDisksThatAreUsedLess) {
  StorageWorld world;
  world.put(Disk{"d1", "l1", 100, 1});
  world.put(Disk{"d2", "l1", 30, 2});
  world.put(Disk{"d3", "l1", 200, -1});
  const api::Pod& pod = world.put_pod({{"l1", 20}});
  EXPECT_EQ(world.scores(pod), (Scores{{"n0", 90}, {"n1", 80}, {"n2", 34}, {"n3", 90}}));
  EXPECT_EQ(world.bench.choose(pod), "n0");
}

// Two claims of 30 from one capacity of 100: 60 percent. m2: 10 of 40. (40 + 75) / 2 is rounded to 58.
// n2's capacity is enough for each claim, not for both; n3's other class lacks room.
TEST(VolumeCapacityScore, CountsACapacityOnceAndTheMeanOfClasses) {
  StorageWorld world;
  world.put(Published{"m1", 100, 1});
  world.put(Published{"m2", 40, 1});
  world.put(Published{"m1", 50, 2});
  world.put(Published{"m2", 40, 2});
  world.put(Published{"m1", 100, 3});
  world.put(Published{"m2", 5, 3});
  const api::Pod& pod = world.put_pod({{"m1", 30}, {"m2", 10}, {"m1", 30}});
  EXPECT_EQ(world.scores(pod), (Scores{{"n0", 0}, {"n1", 58}, {"n2", 38}, {"n3", 0}}));
  EXPECT_EQ(world.bench.choose(pod), "n1");
}

// A disk of 90 percent use on n1 counts alone: what is provisioned beside it does not.
TEST(VolumeCapacityScore, DisksThatExistCountAlone) {
  StorageWorld world;
  world.put(Disk{"d1", "m1", 10, 1});
  world.put(Published{"m1", 100, 1});
  world.put(Published{"m2", 100, 1});
  const api::Pod& pod = world.put_pod({{"m1", 9}, {"m2", 50}});
  EXPECT_EQ(world.scores(pod).at("n1"), 10);
}

TEST(VolumeCapacityScore, EqualsASlowTwin) {
  EXPECT_TRUE(rc::check("twin and plugin agree on every node", [] {
    StorageWorld world;
    const auto size = [] { return std::int64_t{1} << random_below(6); };
    for (int i = random_below(9); i > 0; --i)
      world.put(Disk{"d" + std::to_string(i),
                     one_in(2)   ? "l1"
                     : one_in(2) ? "l2"
                                 : "m1",
                     size(), random_below(kStorageNodes + 1) - 1});
    for (const char* storage_class : {"m1", "m2"})
      for (int at = 0; at < kStorageNodes; ++at)
        if (!one_in(4)) world.put(Published{storage_class, size() * 3, at});
    std::vector<Wanted> claims;
    static const char* const kClasses[] = {"l1", "l2", "m1", "m2"};
    for (int i = 1 + random_below(3); i > 0; --i) claims.push_back({kClasses[random_below(4)], size()});
    const api::Pod& pod = world.put_pod(claims);
    const Scores scores = world.scores(pod);
    for (int at = 0; at < kStorageNodes; ++at) RC_ASSERT(scores.at(StorageWorld::node(at)) == world.twin(at));
  }));
}

}  // namespace
}  // namespace berth::placement
