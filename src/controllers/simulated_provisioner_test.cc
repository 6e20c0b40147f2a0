#include "controllers/simulated_provisioner.h"

#include <gtest/gtest.h>

#include "controllers/controllers.h"
#include "engine/testing/engine_fixture.h"

namespace berth::controllers {
namespace {

using engine::testing::EngineFixture;

// A class with these parameters, and a claim of it for node n1.
void fill(EngineFixture& fixture, const std::string& parameters, const std::string& more = "") {
  fixture.api.put(Kind::Node,
                  R"({"metadata":{"name":"n1","labels":{"kubernetes.io/hostname":"n1","zone":"a"}}})");
  fixture.api.put(Kind::StorageClass, R"({"metadata":{"name":"k"},"provisioner":"simulated.berth.dev",)"
                                      R"("volumeBindingMode":"WaitForFirstConsumer","parameters":{)" +
                                          parameters + "}" + more + "}");
  fixture.api.put(Kind::PersistentVolumeClaim,
                  R"({"metadata":{"namespace":"d","name":"c","uid":"u-c","annotations":{)"
                  R"("volume.kubernetes.io/selected-node":"n1"}},"spec":{"storageClassName":"k",)"
                  R"("accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"5Gi"}}}})");
  fixture.engine.add(make_simulated_provisioner());
  fixture.start();
  fixture.run_until_idle();
}

const Json* made_volume(const EngineFixture& fixture) {
  return fixture.api.find(Kind::PersistentVolume, "", "pvc-u-c");
}

std::string selected_node(const EngineFixture& fixture) {
  return std::string(fixture.api.find(Kind::PersistentVolumeClaim, "d", "c")
                         ->part("metadata")
                         .part("annotations")
                         .string_at(api::kSelectedNodeAnnotation));
}

TEST(SimulatedProvisioner, MakesTheVolumeAfterItsDelay) {
  EngineFixture fixture;
  fill(fixture, R"("berth.dev/provision-after":"3s")");
  fixture.advance(Duration::millis(2999));
  EXPECT_EQ(made_volume(fixture), nullptr);
  fixture.advance(Duration::millis(1));
  ASSERT_NE(made_volume(fixture), nullptr);
  const Json& spec = made_volume(fixture)->part("spec");
  EXPECT_EQ(spec.part("claimRef").string_at("uid"), "u-c");
  EXPECT_EQ(spec.part("capacity").string_at("storage"), "5Gi");
  EXPECT_EQ(spec.string_at("persistentVolumeReclaimPolicy"), "Delete");
  EXPECT_EQ(to_string(*spec.find_path({"nodeAffinity", "required"})),
            R"({"nodeSelectorTerms":[{"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In",)"
            R"("values":["n1"]}]}]})");
}

TEST(SimulatedProvisioner, TheTopologyIsThatOfTheClass) {
  EngineFixture fixture;
  fill(fixture, "",
       R"(,"allowedTopologies":[{"matchLabelExpressions":[{"key":"zone","values":["a","b"]}]}])");
  ASSERT_NE(made_volume(fixture), nullptr);
  EXPECT_EQ(
      to_string(*made_volume(fixture)->part("spec").find_path({"nodeAffinity", "required"})),
      R"({"nodeSelectorTerms":[{"matchExpressions":[{"key":"zone","operator":"In","values":["a"]}]}]})");
}

TEST(SimulatedProvisioner, GivesUpByTakingTheNodeAway) {
  EngineFixture fixture;
  fill(fixture, R"("berth.dev/provision-after":"3s","berth.dev/provision-fails-on":"n0,n1")");
  EXPECT_EQ(selected_node(fixture), "n1");
  fixture.advance(Duration::seconds(3));
  EXPECT_EQ(selected_node(fixture), "");
  EXPECT_EQ(made_volume(fixture), nullptr);
}

TEST(SimulatedProvisioner, GivesUpForANodeThatIsGone) {
  EngineFixture fixture;
  fill(fixture, R"("berth.dev/provision-after":"never")");
  fixture.advance(Duration::minutes(60));
  EXPECT_EQ(selected_node(fixture), "n1");
  EXPECT_EQ(made_volume(fixture), nullptr);
  fixture.api.remove(api::ref_of(Kind::Node), "", "n1");
  fixture.run_until_idle();
  EXPECT_EQ(selected_node(fixture), "");
}

TEST(SimulatedProvisioner, DeletesOnlyItsOwnReleasedVolumes) {
  for (const char* maker : {"simulated.berth.dev", "other.example.com"}) {
    EngineFixture fixture;
    fixture.api.put(
        Kind::PersistentVolume,
        std::string(R"({"metadata":{"name":"v","annotations":{"pv.kubernetes.io/provisioned-by":")") + maker +
            R"("}},"spec":{"persistentVolumeReclaimPolicy":"Delete"},"status":{"phase":"Bound"}})");
    fixture.engine.add(make_simulated_provisioner());
    fixture.start();
    fixture.run_until_idle();
    EXPECT_NE(fixture.api.find(Kind::PersistentVolume, "", "v"), nullptr);
    fixture.api.change(Kind::PersistentVolume, "", "v", R"({"status":{"phase":"Released"}})");
    fixture.run_until_idle();
    EXPECT_EQ(fixture.api.find(Kind::PersistentVolume, "", "v") == nullptr, maker == kSimulatedProvisioner);
  }
}

}  // namespace
}  // namespace berth::controllers
