// What people are told when a node has no devices for a claim: the true cause, by name and number.
#include <gtest/gtest.h>

#include "dra/cel_selectors.h"
#include "dra/test_world.h"

namespace berth::dra {
namespace {

constexpr const char* kSliceHead =
    R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"NAME"},"spec":)"
    R"({"driver":"gpu.test","nodeName":"w1",)"
    R"("pool":{"name":"w1","generation":GENERATION,"resourceSliceCount":COUNT},REST}})";

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  return text.replace(text.find(from), from.size(), to);
}

std::string slice_text(std::string_view name, int generation, int count, std::string_view rest) {
  std::string text = replaced(kSliceHead, "NAME", name);
  text = replaced(std::move(text), "GENERATION", std::to_string(generation));
  text = replaced(std::move(text), "COUNT", std::to_string(count));
  return replaced(std::move(text), "REST", rest);
}

struct Refusal {
  std::string reason;
  Certificate certificate;
};

// Of a claim with this spec.devices on node w1, which is all that needs to be there beside the slices.
Refusal refusal_of(const std::vector<std::string>& slices, const std::string& devices,
                   const DeviceGates& gates = {}) {
  TestWorld world;
  const auto put = [&](const std::string& text) { world.put(parse_json(text).value()); };
  put(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"w1"}})");
  put(R"({"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass","metadata":{"name":"gpu"},"spec":)"
      R"({"selectors":[{"cel":{"expression":"device.driver == 'gpu.test'"}}]}})");
  for (const std::string& slice : slices) put(slice);
  put(R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"c","namespace":"d",)"
      R"("uid":"c"},"spec":{"devices":)" +
      devices + "}}");
  CelSelectors selectors;
  SeededRandom random(1);
  Allocator allocator(world.cluster, selectors, random, gates);
  const ClaimPtr claim = world.view.claims.find_shared("d", "c");
  const auto request = allocator.prepare(std::span(&claim, 1));
  EXPECT_TRUE(request.ok()) << devices;
  AllocationVerdict verdict = allocator.allocate(**request, world.cluster.find_node("w1"));
  if (auto* failed = std::get_if<AllocationError>(&verdict)) return {failed->error + "; " + failed->hint, {}};
  auto* no = std::get_if<Impossible>(&verdict);
  EXPECT_NE(no, nullptr) << devices;
  return no ? Refusal{no->reason, no->certificate.value_or(Certificate{})} : Refusal{};
}

std::string request(const std::string& more = "") {
  return R"({"requests":[{"name":"r","exactly":{"deviceClassName":"gpu")" + more + "}}]}";
}

std::string selector(const std::string& expression) {
  return R"({"cel":{"expression":")" + expression + "\"}}";
}

const std::string kTwoDevices = R"("devices":[{"name":"g0"},{"name":"g1"}])";

TEST(RefusalTexts, APoolThatIsNotUsedIsNamedWithItsFault) {
  struct Case {
    std::vector<std::string> slices;
    std::string claim;
    const char* reason;
    DeviceGates gates = {};
  };
  DeviceGates no_partitions;
  no_partitions.partitionable_devices = false;
  const std::string counters = R"("sharedCounters":[{"name":"s","counters":{"m":{"value":"8"}}}])";
  const std::string drawing =
      R"("devices":[{"name":"g0","consumesCounters":[{"counterSet":"s","counters":{"n":{"value":"8"}}}]}])";
  for (const Case& one : std::vector<Case>{
           {{slice_text("a", 2, 2, kTwoDevices)},
            request(),
            "w1 has no usable devices; pool w1 of driver gpu.test has 1 of 2 ResourceSlices of generation 2"},
           {{slice_text("a", 2, 2, kTwoDevices), slice_text("b", 2, 2, kTwoDevices)},
            request(),
            "w1 has no usable devices; pool w1 of driver gpu.test has device g0 twice (in ResourceSlices a "
            "and "
            "b)"},
           {{slice_text("a", 1, 2, counters), slice_text("b", 1, 2, drawing)},
            request(),
            "w1 has no usable devices; pool w1 of driver gpu.test has device g0, which consumes counter s/n, "
            "and "
            "no ResourceSlice of the pool declares it"},
           {{slice_text("a", 1, 3, counters), slice_text("b", 1, 3, counters),
             slice_text("c", 1, 3, kTwoDevices)},
            request(),
            "w1 has no usable devices; pool w1 of driver gpu.test declares counter set s twice"},
           {{slice_text("a", 1, 2, counters), slice_text("b", 1, 2, kTwoDevices)},
            request(),
            "w1 has no usable devices; pool w1 of driver gpu.test has 1 of 2 ResourceSlices of generation 1; "
            "1 "
            "more needs feature gate DRAPartitionableDevices, which is off",
            no_partitions},
           {{slice_text("a", 1, 1, counters)},
            request(),
            "w1 has no usable devices; pool w1 of driver gpu.test has no usable ResourceSlices: 1 needs "
            "feature "
            "gate DRAPartitionableDevices, which is off",
            no_partitions},
           {{slice_text("a", 1, 2, kTwoDevices),
             replaced(slice_text("b", 3, 1, kTwoDevices), R"("nodeName":"w1")", R"("nodeName":"w2")")},
            request(),
            "w1 has no usable devices; pool w1 of driver gpu.test has here ResourceSlices of generation 1 "
            "only, "
            "and elsewhere of generation 3"},
           {{slice_text("a", 2, 2, kTwoDevices),
             replaced(slice_text("o", 1, 1, kTwoDevices), "gpu.test", "other.test")},
            request(),
            "none of the 2 devices on w1 is of class gpu; pool w1 of driver gpu.test has 1 of 2 "
            "ResourceSlices "
            "of generation 2"},
           {{slice_text("a", 2, 2, kTwoDevices)},
            request(R"(,"allocationMode":"All")"),
            "claim d/c, request r: asks for all devices, but resource pool gpu.test/w1 is currently being "
            "updated; pool w1 of driver gpu.test has 1 of 2 ResourceSlices of generation 2"},
       })
    EXPECT_EQ(refusal_of(one.slices, one.claim, one.gates).reason, one.reason);
}

// The reason of the node is "offers device pools that break the rules".
TEST(RefusalTexts, AnInvalidPoolIsNamedWhateverItsDevicesAre) {
  const auto other = [](const char* name) {
    return replaced(slice_text(name, 1, 2, kTwoDevices), "gpu.test", "other.test");
  };
  EXPECT_EQ(
      refusal_of({other("a"), other("b")}, request()).reason,
      "w1 has no usable devices; pool w1 of driver other.test has device g0 twice (in ResourceSlices a and "
      "b)");
}

TEST(RefusalTexts, APoolOfOtherDevicesIsNotBlamed) {
  const std::string other = replaced(slice_text("o", 1, 2, kTwoDevices), "gpu.test", "other.test");
  EXPECT_EQ(refusal_of({slice_text("a", 1, 1, kTwoDevices), other}, request(R"(,"count":3)")).reason,
            "needs 3 devices of class gpu, 2 are free");
}

const std::string kCards =
    R"("devices":[{"name":"g0","attributes":{"productName":{"string":"A100"},"index":{"int":0}},)"
    R"("capacity":{"memory":{"value":"40Gi"}}},)"
    R"({"name":"g1","attributes":{"productName":{"string":"H100"},"index":{"int":1}},)"
    R"("capacity":{"memory":{"value":"80Gi"}}}])";

TEST(RefusalTexts, ACapacityThatIsTooSmallIsNamedWithItsAmounts) {
  const auto shared = [](const std::string& policy) {
    return R"("devices":[{"name":"g0","allowMultipleAllocations":true,)"
           R"("capacity":{"memory":{"value":"40Gi")" +
           policy + "}}}]";
  };
  const std::string whole = R"("devices":[{"name":"g0","capacity":{"memory":{"value":"40Gi"}}}])";
  const std::string range =
      shared(R"(,"requestPolicy":{"default":"4Gi","validRange":{"min":"4Gi","max":"19Gi","step":"4Gi"}})");
  const std::string values =
      shared(R"(,"requestPolicy":{"default":"8Gi","validValues":["8Gi","32Gi","64Gi"]})");
  const auto asks = [](const std::string& name, const std::string& amount) {
    return request(R"(,"capacity":{"requests":{")" + name + R"(":")" + amount + R"("}})");
  };
  struct Case {
    std::string devices, claim;
    const char* reason;
  };
  for (const Case& one : std::vector<Case>{
           {whole, asks("memory", "80Gi"), "g0 on w1: its capacity memory is 40Gi, 80Gi is asked for"},
           {whole, asks("memroy", "8Gi"), "g0 on w1: it has no capacity memroy (nearest: memory)"},
           {whole, asks("gpu.test/memory", "8Gi"),
            "g0 on w1: it has no capacity gpu.test/memory (nearest: memory)"},
           {shared(""), asks("cores", "8"), "g0 on w1: it has no capacity cores"},
           {range, asks("memory", "18Gi"),
            "g0 on w1: a share of its capacity memory is 16Gi at most, 18Gi is asked for"},
           {values, asks("memory", "65Gi"),
            "g0 on w1: a share of its capacity memory is 64Gi at most, 65Gi is asked for"},
           {values, asks("memory", "33Gi"),
            "g0 on w1: capacity memory has 40Gi of 40Gi left, 64Gi is needed (33Gi, rounded up)"},
           {shared(""), asks("memory", "41Gi"),
            "g0 on w1: capacity memory has 40Gi of 40Gi left, 41Gi is needed"},
           {shared(R"(,"requestPolicy":{"default":"64Gi"})"), request(),
            "g0 on w1: capacity memory has 40Gi of 40Gi left, 64Gi is needed (its default: the request names "
            "no amount)"},
       })
    EXPECT_EQ(refusal_of({slice_text("a", 1, 1, one.devices)}, one.claim).reason, one.reason);
}

TEST(RefusalTexts, TheSelectorThatRefusesIsNamedWithANearValue) {
  struct Case {
    std::string more;
    const char* reason;
  };
  const std::string product = "device.attributes['gpu.test'].productName",
                    memory = "device.capacity['gpu.test'].memory";
  for (const Case& one : std::vector<Case>{
           {R"(,"selectors":[)" + selector(product + " == 'A200'") + "]",
            "2 devices on w1 are of class gpu; selector #0 of request r refuses all of them (g0 has "
            "productName "
            "\"A100\")"},
           {R"(,"selectors":[)" +
                selector(product + " == 'A100' && " + memory + ".compareTo(quantity('80Gi')) >= 0") + "]",
            "2 devices on w1 are of class gpu; selector #0 of request r refuses all of them (g0 has memory "
            "40Gi)"},
           {R"(,"selectors":[)" + selector(product + " == 'H100'") + "," +
                selector("device.attributes['gpu.test'].index == 7") + "]",
            "2 devices on w1 are of class gpu; selector #1 of request r refuses 1 of the 1 that passes those "
            "before (g1 has index 1)"},
           {R"(,"selectors":[)" + selector("has(device.attributes['gpu.test'].nvlink)") + "]",
            "2 devices on w1 are of class gpu; selector #0 of request r refuses all of them (g0 has no "
            "nvlink)"},
           {R"(,"count":2,"selectors":[)" + selector(product + " == 'H100'") + "]",
            "needs 2 devices; 2 devices on w1 are of class gpu; selector #0 of request r refuses 1 of them "
            "(g0 "
            "has productName \"A100\")"},
       })
    EXPECT_EQ(refusal_of({slice_text("a", 1, 1, kCards)}, request(one.more)).reason, one.reason);
}

TEST(RefusalTexts, TheProofOfASelectorNamesDevicesOfTheClass) {
  const std::string other = replaced(slice_text("o", 1, 1, kTwoDevices), "gpu.test", "a.test");
  const Refusal refusal = refusal_of({other, slice_text("a", 1, 1, kCards)},
                                     request(R"(,"selectors":[)" + selector("false") + "]"));
  EXPECT_EQ(refusal.certificate.kind, CertificateKind::Selector);
  EXPECT_EQ(refusal.certificate.items, (std::vector<std::string>{"gpu.test/w1/g0", "gpu.test/w1/g1"}));
}

TEST(RefusalTexts, AnAttributeThatIsMissingIsNotADifferentValue) {
  const std::string one_with =
      R"("devices":[{"name":"g0"},{"name":"g1","attributes":{"d.net/numa":{"int":0}}}])";
  const std::string constraint = R"(,"constraints":[{"matchAttribute":"d.net/numa"}])";
  const auto with = [](std::string claim, const std::string& more) {
    return claim.insert(claim.size() - 1, more);
  };
  EXPECT_EQ(
      refusal_of({slice_text("a", 1, 1, R"("devices":[{"name":"g0"}])")}, with(request(), constraint)).reason,
      "g0 on w1: it has no attribute d.net/numa");
  // A slip in the name: nothing has it.
  const Refusal typo =
      refusal_of({slice_text("a", 1, 1, kCards)},
                 with(request(R"(,"count":2)"), R"(,"constraints":[{"matchAttribute":"gpu.test/indx"}])"));
  EXPECT_EQ(to_words(typo.certificate),
            "needs 2 devices with the same gpu.test/indx; none that it may take has this attribute (nearest: "
            "gpu.test/index)");
  EXPECT_EQ(typo.reason, to_words(typo.certificate));
  const Refusal distinct =
      refusal_of({slice_text("a", 1, 1, one_with)},
                 with(request(R"(,"count":2)"), R"(,"constraints":[{"distinctAttribute":"d.net/numa"}])"));
  EXPECT_NE(distinct.reason.find("g0: it has no attribute d.net/numa"), std::string::npos) << distinct.reason;
}

// Kubernetes' sentence about a device that an All request must take does not name the constraint.
TEST(RefusalTexts, AllDevicesComeWithTheConstraintThatOneBreaks) {
  const std::string wanted =
      R"({"requests":[{"name":"r","exactly":{"deviceClassName":"gpu","allocationMode":)"
      R"("All"}}],"constraints":[{"matchAttribute":"gpu.test/index"}]})";
  EXPECT_EQ(refusal_of({slice_text("a", 1, 1, kCards)}, wanted).reason,
            "claim d/c, request r: cannot add device gpu.test/w1/g1 because a claim constraint would not be "
            "satisfied; g1: it differs in gpu.test/index from the devices chosen before");
}

TEST(RefusalTexts, AlternativesWithOneReasonAreOneClause) {
  std::string alternatives;
  for (int i = 0; i < 3; ++i)
    alternatives += std::string(i ? "," : "") + R"({"name":"card)" + std::to_string(i) +
                    R"(","deviceClassName":"gpu","selectors":[)" + selector("false") + "]}";
  const std::string wanted = R"({"requests":[{"name":"nics","firstAvailable":[)" + alternatives + "]}]}";
  EXPECT_EQ(
      refusal_of({slice_text("a", 1, 1, kTwoDevices)}, wanted).reason,
      "2 devices on w1 are of class gpu; selector #0 of requests nics/card0, nics/card1, nics/card2 refuses "
      "all of them");
}

TEST(RefusalTexts, TheProofNamesTheCounterOfTheRefusal) {
  const std::string counters =
      R"("sharedCounters":[{"name":"g0","counters":{"engines":{"value":"1"},"memory":{"value":"1"}}},)"
      R"({"name":"g1","counters":{"engines":{"value":"1"},"memory":{"value":"1"}}}])";
  const auto device = [](const std::string& name, const std::string& set) {
    return R"({"name":")" + name + R"(","consumesCounters":[{"counterSet":")" + set +
           R"(","counters":{"engines":{"value":"4"},"memory":{"value":"2"}}}]})";
  };
  const Refusal refusal = refusal_of(
      {slice_text("a", 1, 2, counters),
       slice_text("b", 1, 2, R"("devices":[)" + device("d0", "g0") + "," + device("d1", "g1") + "]")},
      request());
  EXPECT_EQ(refusal.certificate.kind, CertificateKind::Counter);
  EXPECT_EQ(refusal.certificate.subject, "g0/engines");
  EXPECT_EQ(refusal.certificate.items, std::vector<std::string>{"d0"});
  EXPECT_EQ(to_words(refusal.certificate), "needs 4 of counter g0/engines; 1 is left: d0");
  EXPECT_NE(refusal.reason.find("counter g0/engines on w1 has 1 of 1 left, 4 is needed"), std::string::npos)
      << refusal.reason;
}

}  // namespace
}  // namespace berth::dra
