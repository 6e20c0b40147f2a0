#include "client/volumes.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace berth::client {
namespace {

using api::Kind;

void put(View& view, Kind kind, const std::string& text) {
  const auto typed = api::decode_typed(kind, std::make_shared<const std::string>(text));
  ASSERT_TRUE(typed.ok());
  const api::ObjectMeta& meta = api::meta_of(*typed);
  view.put({kind, meta.ns, meta.name, {}}, *typed);
}

api::Pod pod_with(const std::string& volumes) {
  const auto object = parse_json(
      R"({"metadata":{"namespace":"d","name":"p","uid":"u-p"},"spec":{"volumes":[)" + volumes + "]}}");
  return api::decode_pod(*object, nullptr);
}

std::string claim_text(const std::string& name, const std::string& spec, const std::string& meta = "",
                       const std::string& status = "") {
  return R"({"metadata":{"namespace":"d","name":")" + name + R"(","uid":"u-)" + name + R"(")" + meta +
         R"(},"spec":{)" + spec + R"(},"status":{)" + status + "}}";
}

View view_with_classes() {
  View view;
  put(view, Kind::StorageClass,
      R"({"metadata":{"name":"late"},"provisioner":"drv","volumeBindingMode":"WaitForFirstConsumer"})");
  put(view, Kind::StorageClass, R"({"metadata":{"name":"now"},"provisioner":"drv"})");
  return view;
}

constexpr const char* kUsesC = R"({"name":"v","persistentVolumeClaim":{"claimName":"c"}})";
constexpr const char* kEphemeral = R"({"name":"c","ephemeral":{}})";

TEST(Volumes, ClassifiesTheClaimsOfAPod) {
  const struct {
    const char* name;
    const char* volume;
    std::string claim;
    ClaimProblem problem;
    std::size_t bound, delayed;
  } cases[] = {
      {"no claim", R"({"name":"v","emptyDir":{}})", "", ClaimProblem::None, 0, 0},
      {"absent", kUsesC, "", ClaimProblem::NotFound, 0, 0},
      {"not made yet", kEphemeral, "", ClaimProblem::NotMadeYet, 0, 0},
      {"of another owner", kEphemeral, claim_text("p-c", R"("storageClassName":"late")"),
       ClaimProblem::NotOwned, 0, 0},
      {"of the pod", kEphemeral,
       claim_text("p-c", R"("storageClassName":"late")",
                  R"(,"ownerReferences":[{"kind":"Pod","name":"p","uid":"u-p","controller":true}])"),
       ClaimProblem::None, 0, 1},
      {"lost", kUsesC, claim_text("c", R"("volumeName":"x")", "", R"("phase":"Lost")"), ClaimProblem::Lost, 0,
       0},
      {"deleting", kUsesC, claim_text("c", "", R"(,"deletionTimestamp":"2027-01-15T08:00:00Z")"),
       ClaimProblem::Deleting, 0, 0},
      {"bound", kUsesC,
       claim_text("c", R"("volumeName":"x")", R"(,"annotations":{"pv.kubernetes.io/bind-completed":"yes"})"),
       ClaimProblem::None, 1, 0},
      {"named by hand, not completed", kUsesC,
       claim_text("c", R"("volumeName":"x","storageClassName":"late")"), ClaimProblem::Unbound, 0, 1},
      {"immediate", kUsesC, claim_text("c", R"("storageClassName":"now")"), ClaimProblem::Unbound, 0, 1},
      {"without a class", kUsesC, claim_text("c", ""), ClaimProblem::Unbound, 0, 1},
      {"delayed", kUsesC, claim_text("c", R"("storageClassName":"late")"), ClaimProblem::None, 0, 1},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    View view = view_with_classes();
    if (!test.claim.empty()) put(view, Kind::PersistentVolumeClaim, test.claim);
    const PodVolumeClaims claims = volume_claims_of(view, pod_with(test.volume));
    EXPECT_EQ(claims.problem, test.problem);
    EXPECT_EQ(claims.bound.size(), test.bound);
    EXPECT_EQ(claims.delayed.size(), test.delayed);
  }
}

TEST(Volumes, AClaimOfTwoVolumesCountsOnceAndTheSmallestRequestIsFirst) {
  View view = view_with_classes();
  const auto sized = [](const char* size) {
    return std::string(R"("storageClassName":"late","resources":{"requests":{"storage":")") + size + R"("}})";
  };
  put(view, Kind::PersistentVolumeClaim, claim_text("large", sized("9Gi")));
  put(view, Kind::PersistentVolumeClaim, claim_text("small", sized("1Gi")));
  const auto claims =
      volume_claims_of(view, pod_with(R"({"name":"a","persistentVolumeClaim":{"claimName":"large"}},)"
                                      R"({"name":"b","persistentVolumeClaim":{"claimName":"small"}},)"
                                      R"({"name":"c","persistentVolumeClaim":{"claimName":"large"}})"));
  ASSERT_EQ(claims.delayed.size(), 2u);
  EXPECT_EQ(claims.delayed[0]->meta.name, "small");
}

TEST(Volumes, ProvisioningNeedsAProvisionerItsTopologyAndSpace) {
  const struct {
    const char* name;
    const char* storage_class;
    const char* driver;
    const char* capacity;
    Provisioning answer;
  } cases[] = {
      {"no driver object", R"("provisioner":"drv")", "", "", Provisioning::Possible},
      {"no provisioner", R"("provisioner":"kubernetes.io/no-provisioner")", "", "", Provisioning::Impossible},
      {"in the topology",
       R"("provisioner":"drv","allowedTopologies":[{"matchLabelExpressions":[{"key":"zone",)"
       R"("values":["a"]}]}])",
       "", "", Provisioning::Possible},
      {"outside of it",
       R"("provisioner":"drv","allowedTopologies":[{"matchLabelExpressions":[{"key":"zone",)"
       R"("values":["b"]}]}])",
       "", "", Provisioning::Impossible},
      {"capacities are not published", R"("provisioner":"drv")", R"("spec":{"storageCapacity":false})", "",
       Provisioning::Possible},
      {"none is published yet", R"("provisioner":"drv")", R"("spec":{"storageCapacity":true})", "",
       Provisioning::NotEnoughSpace},
      {"enough", R"("provisioner":"drv")", R"("spec":{"storageCapacity":true})",
       R"("capacity":"2Gi","nodeTopology":{"matchLabels":{"zone":"a"}})", Provisioning::Possible},
      {"the largest volume is smaller", R"("provisioner":"drv")", R"("spec":{"storageCapacity":true})",
       R"("capacity":"9Gi","maximumVolumeSize":"1Gi","nodeTopology":{})", Provisioning::NotEnoughSpace},
      {"elsewhere", R"("provisioner":"drv")", R"("spec":{"storageCapacity":true})",
       R"("capacity":"9Gi","nodeTopology":{"matchLabels":{"zone":"b"}})", Provisioning::NotEnoughSpace},
      {"no node has access", R"("provisioner":"drv")", R"("spec":{"storageCapacity":true})",
       R"("capacity":"9Gi")", Provisioning::NotEnoughSpace},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    View view;
    put(view, Kind::Node, R"({"metadata":{"name":"n","labels":{"zone":"a"}}})");
    put(view, Kind::StorageClass, std::string(R"({"metadata":{"name":"k"},)") + test.storage_class + "}");
    if (*test.driver)
      put(view, Kind::CSIDriver, std::string(R"({"metadata":{"name":"drv"},)") + test.driver + "}");
    if (*test.capacity)
      put(view, Kind::CSIStorageCapacity,
          std::string(R"({"metadata":{"namespace":"d","name":"x"},"storageClassName":"k",)") + test.capacity +
              "}");
    put(view, Kind::PersistentVolumeClaim,
        claim_text("c", R"("storageClassName":"k","resources":{"requests":{"storage":"2Gi"}})"));
    EXPECT_EQ(
        Provisioner(view, *view.volume_claims.find("d", "c")).ask(*view.nodes.find("", "n")).provisioning,
        test.answer);
  }
}

// --- the search against a slow twin
// -------------------------------------------------------------------------

// What a volume may have or lack, as small numbers; the twin reads these, the search the objects.
struct RandomVolume {
  int gib, storage_class, mode, access, label, reserved, phase, deleting, named_by_claim, zone, decided;
};

std::string volume_text(int index, const RandomVolume& volume) {
  const char* const refs[] = {"", R"(,"claimRef":{"namespace":"d","name":"c","uid":"u-c"})",
                              R"(,"claimRef":{"namespace":"d","name":"c"})",
                              R"(,"claimRef":{"namespace":"d","name":"c","uid":"u-old"})",
                              R"(,"claimRef":{"namespace":"d","name":"x"})"};
  return R"({"metadata":{"name":"v)" + std::to_string(index) + R"(","labels":{"tier":")" +
         std::to_string(volume.label) + R"("})" +
         (volume.deleting ? R"(,"deletionTimestamp":"2027-01-15T08:00:00Z")" : "") +
         R"(},"status":{"phase":")" + (volume.phase ? "Released" : "Available") +
         R"("},"spec":{"capacity":{"storage":")" + std::to_string(volume.gib) +
         R"(Gi"},"storageClassName":"k)" + std::to_string(volume.storage_class) + R"(","volumeMode":")" +
         (volume.mode ? "Block" : "Filesystem") + R"(","accessModes":[)" +
         (volume.access ? R"("ReadWriteOnce","ReadOnlyMany")" : R"("ReadOnlyMany")") + "]" +
         refs[volume.reserved] +
         (volume.zone == 0
              ? std::string()
              : R"(,"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"zone",)"
                R"("operator":"In","values":["z)" +
                    std::to_string(volume.zone) + R"("]}]}]}})") +
         "}}";
}

// kube-scheduler's loop over all volumes, rule by rule. -1: none.
int twin(const std::vector<RandomVolume>& volumes, int gib, bool selects, int node_zone) {
  int best = -1;
  for (int i = 0; i < static_cast<int>(volumes.size()); ++i) {
    const RandomVolume& one = volumes[i];
    if (one.storage_class != 0 || one.gib < gib || one.mode != 0 || one.deleting) continue;
    const bool reached = one.zone == 0 || one.zone == node_zone;
    if (one.reserved == 1 || one.reserved == 2) return reached ? i : -1;
    const bool free = one.reserved == 0 && one.phase == 0 && !one.named_by_claim && !one.decided;
    if (!free || !one.access || (selects && one.label != 1) || !reached) continue;
    if (best < 0 || one.gib < volumes[best].gib) best = i;
  }
  return best;
}

RC_GTEST_PROP(Volumes, TheSearchFindsWhatASlowTwinFinds, ()) {
  const int count = *rc::gen::inRange(0, 9);
  const bool selects = *rc::gen::arbitrary<bool>();
  const int gib = *rc::gen::inRange(1, 5);
  const auto rare = [] { return *rc::gen::inRange(0, 5) == 0 ? 1 : 0; };
  View view;
  std::vector<RandomVolume> volumes;
  for (int i = 0; i < count; ++i) {
    const int reserved = rare() ? *rc::gen::inRange(1, 5) : 0;
    volumes.push_back({*rc::gen::inRange(1, 7), rare(), rare(), 1 - rare(), *rc::gen::inRange(0, 2), reserved,
                       rare(), rare(), rare(), *rc::gen::inRange(0, 3), rare()});
    put(view, Kind::PersistentVolume, volume_text(i, volumes.back()));
    if (volumes.back().named_by_claim)
      put(view, Kind::PersistentVolumeClaim,
          claim_text("other" + std::to_string(i), R"("volumeName":"v)" + std::to_string(i) + R"(")"));
  }
  put(view, Kind::PersistentVolumeClaim,
      claim_text("c", R"("storageClassName":"k0","accessModes":["ReadWriteOnce"],"resources":{"requests":{)"
                      R"("storage":")" +
                          std::to_string(gib) + R"(Gi"}})" +
                          (selects ? R"(,"selector":{"matchLabels":{"tier":"1"}})" : "")));
  const auto found = volumes_for(
      view, *view.volume_claims.find("d", "c"),
      [&](const api::PersistentVolume& one) { return volumes[one.meta.name.back() - '0'].decided != 0; });
  for (int zone = 1; zone <= 2; ++zone) {
    const api::StringMap labels = {{"zone", "z" + std::to_string(zone)}};
    int first = -1;
    for (const api::PersistentVolume* volume : found)
      if (first < 0 && api::reaches(*volume, labels)) first = volume->meta.name.back() - '0';
    RC_ASSERT(first == twin(volumes, gib, selects, zone));
  }
}

}  // namespace
}  // namespace berth::client
