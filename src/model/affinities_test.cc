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

// `count` terms, each of key z<i mod keys>, for the value v<i mod values> of `app`; without a value for all.
std::string many_terms(std::size_t count, std::size_t keys, std::size_t values) {
  std::string terms;
  for (std::size_t i = 0; i < count; ++i)
    terms += std::string(i == 0 ? "" : ",") + R"({"topologyKey":"z)" + std::to_string(i % keys) +
             R"(","labelSelector":{)" +
             (values == 0 ? "" : R"("matchLabels":{"app":"v)" + std::to_string(i % values) + "\"}") + "}}";
  return terms;
}

// A pod that waits with more than is read takes no part; one with a place does.
TEST(Affinities, TooManyTermsOfAWaitingPodAreNotRead) {
  const std::string of_one_key = R"({"topologyKey":"z","labelSelector":{"matchExpressions":[)";
  std::string alike;  // different terms without a value
  for (std::size_t i = 0; i <= kAffinityTermsAlikeMax; ++i)
    alike += (i == 0 ? "" : ",") + of_one_key + R"({"key":"k)" + std::to_string(i) +
             R"(","operator":"Exists"}]}})";
  const struct {
    std::string terms;
    const char* beyond;  // "": all are read
    std::size_t distinct;
  } kCases[] = {
      {many_terms(1000, 1, 1000), "", 1000},
      {many_terms(1000, 1, 1), "", 1},
      {many_terms(1000, 1, 0), "", 1},
      {many_terms(kAffinityTermsMax, 8, 4096), "", 4096},
      {many_terms(kAffinityTermsMax + 1, 1, 1), "more than 4096 terms of spec.affinity between pods", 1},
      {many_terms(kAffinityKeysMax, 64, 0), "", 64},
      {many_terms(kAffinityKeysMax + 1, 65, 0),
       "more than 64 topology keys in terms of spec.affinity between pods", 65},
      {alike,
       "more than 64 different terms of spec.affinity between pods that ask for the same label and value, or "
       "for none,",
       65},
  };
  for (const auto& one : kCases) {
    Affinities affinities;
    api::Pod pod = pod_of("one", "", one.terms);
    EXPECT_EQ(beyond_affinity_bounds(pod), one.beyond);
    const bool is_read = *one.beyond == '\0';
    EXPECT_EQ(affinities.add(pod).size(), is_read ? one.distinct : 0) << one.beyond;
    pod.node_name = "n";
    EXPECT_EQ(affinities.add(pod).size(), one.distinct) << one.beyond;
  }
}

}  // namespace
}  // namespace berth::model
