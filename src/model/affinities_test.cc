// Terms of inter-pod affinity: a pod finds those that mean it, and no others, whoever comes and goes.
#include "model/affinities.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>

namespace berth::model {
namespace {

int number_below(int bound) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, bound));
}

api::Pod pod_of(const std::string& ns, const std::string& labels, const std::string& terms = "") {
  return api::decode_pod(
      *parse_json(R"({"metadata":{"namespace":")" + ns + R"(","labels":{)" + labels +
                  R"(}},"spec":{"affinity":{"podAntiAffinity":{)" +
                  R"("requiredDuringSchedulingIgnoredDuringExecution":[)" + terms + "]}}}}"),
      nullptr);
}

std::shared_ptr<const api::Namespace> namespace_of(const std::string& name, const std::string& team) {
  auto made = std::make_shared<api::Namespace>();
  made->meta.name = name;
  made->meta.labels = {{"kubernetes.io/metadata.name", name}, {"team", team}};
  return made;
}

constexpr const char* kSelectors[] = {
    R"({"matchLabels":{"app":"a"}})",
    R"({"matchLabels":{"app":"b","tier":"x"}})",
    R"({"matchExpressions":[{"key":"app","operator":"In","values":["a","b"]}]})",
    R"({"matchExpressions":[{"key":"app","operator":"NotIn","values":["a"]}]})",
    R"({"matchExpressions":[{"key":"tier","operator":"Exists"}]})",
    "{}",
    "null",
};
constexpr const char* kNamespaces[] = {"", R"(,"namespaces":["two"])", R"(,"namespaceSelector":{})",
                                       R"(,"namespaceSelector":{"matchLabels":{"team":"t"}})"};

std::string some_term() {
  return R"({"topologyKey":")" + std::string(number_below(2) == 0 ? "zone" : "host") +
         R"(","labelSelector":)" + kSelectors[number_below(7)] + kNamespaces[number_below(4)] + "}";
}
api::Pod some_pod(const std::string& terms = "") {
  static const char* const labels[] = {R"("app":"a")", R"("app":"b","tier":"x")", R"("tier":"y")", ""};
  return pod_of(number_below(2) == 0 ? "one" : "two", labels[number_below(4)], terms);
}

TEST(Affinities, FindTheTermsThatMeanAPod) {
  EXPECT_TRUE(rc::check("as a look at every term", [] {
    Affinities affinities;
    std::vector<std::pair<api::Pod, TermUses>> carriers;
    for (int step = 0; step < 30; ++step) {
      if (carriers.empty() || number_below(3) > 0) {
        api::Pod carrier = some_pod(some_term() + (number_below(2) == 0 ? "," + some_term() : ""));
        TermUses uses = affinities.add(carrier);
        carriers.emplace_back(std::move(carrier), std::move(uses));
      } else {
        const auto gone = carriers.begin() + number_below(static_cast<int>(carriers.size()));
        affinities.remove(gone->second);
        carriers.erase(gone);
      }
      const api::Pod pod = some_pod();
      std::set<std::string> expected, found;
      for (const auto& [carrier, uses] : carriers)
        for (const TermUse& use : uses)
          if (affinities.means(affinities.term(use.term), pod)) expected.insert(affinities.bytes(use.term));
      for (const TermId id : affinities.meaning(pod)) {
        RC_ASSERT(affinities.is_carried(id, TermKind::AntiAffinity));
        RC_ASSERT(found.insert(affinities.bytes(id)).second);
      }
      RC_ASSERT(found == expected);
    }
    for (const auto& [carrier, uses] : carriers) affinities.remove(uses);
    RC_ASSERT(affinities.meaning(some_pod()).empty());
  }));
}

TEST(Affinities, EqualTermsAreOneWhoeverCarriesThem) {
  Affinities affinities;
  const std::string term = R"({"topologyKey":"zone","labelSelector":{"matchLabels":{"app":"a"}}})";
  const TermUses first = affinities.add(pod_of("one", R"("app":"a")", term));
  EXPECT_EQ(affinities.add(pod_of("one", R"("app":"b")", term)), first);
  EXPECT_NE(affinities.add(pod_of("two", R"("app":"a")", term)), first) << "it means its own namespace";
}

TEST(Affinities, OnlyANamespaceThatATermSelectsOtherwiseCounts) {
  Affinities affinities;
  const api::Pod pod = pod_of("n", "");
  const TermUses uses = affinities.add(pod_of("one", "",
                                              R"({"topologyKey":"z","labelSelector":{},)"
                                              R"("namespaceSelector":{"matchLabels":{"team":"t"}}})"));
  const auto put = [&](std::shared_ptr<const api::Namespace> live) {
    const std::uint64_t before = affinities.namespaces_stamp();
    affinities.put_namespace("n", std::move(live));
    return affinities.namespaces_stamp() != before;
  };
  EXPECT_FALSE(put(namespace_of("n", "u")));
  EXPECT_TRUE(put(namespace_of("n", "t")));
  EXPECT_EQ(affinities.meaning(pod).size(), 1u);
  EXPECT_FALSE(put(namespace_of("n", "t")));
  EXPECT_TRUE(put(nullptr));
  EXPECT_TRUE(affinities.meaning(pod).empty());
  affinities.remove(uses);
  EXPECT_FALSE(put(namespace_of("n", "t"))) << "nobody asks";
}

// A pod that waits with more terms than are read takes no part; one with a place does.
TEST(Affinities, TooManyTermsOfAWaitingPodAreNotRead) {
  Affinities affinities;
  std::string terms;
  for (std::size_t i = 0; i <= kAffinityTermsMax; ++i)
    terms += std::string(i == 0 ? "" : ",") + R"({"topologyKey":"z)" + std::to_string(i) +
             R"(","labelSelector":{}})";
  api::Pod pod = pod_of("one", "", terms);
  EXPECT_TRUE(affinities.add(pod).empty());
  pod.node_name = "n";
  EXPECT_EQ(affinities.add(pod).size(), kAffinityTermsMax + 1);
}

}  // namespace
}  // namespace berth::model
