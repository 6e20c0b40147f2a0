#include "cli/live_what_if.h"

#include <functional>

#include "cli/cluster_objects.h"
#include "cli/configuration_page.h"
#include "cli/what_if_answer.h"
#include "dra/cel_selectors.h"
#include "planning/defragmentation.h"

namespace berth::cli {
namespace {

constexpr std::string_view kConfigurationUnknown =
    "The scheduler's configuration is not served here, so the defaults of berth scheduler are assumed: name "
    "the scheduler's own address (its --listen) with --server.";

void add_note(Json& answer, std::string_view text) {
  std::string note(answer.string_at("note"));
  answer["note"] = note.append(note.empty() ? "" : " ").append(text);
}

// How the scheduler decides; without its page as `berth scheduler` does by itself.
Result<DecidingConfiguration> deciding_configuration(const explain::PageReader& decisions,
                                                     const placement::MakePlugins& make, Json& answer) {
  const Json page = TRY(decisions(std::string(kConfigurationPage)));
  if (!page.is_null()) return read_configuration_page(page, make);
  add_note(answer, kConfigurationUnknown);
  return DecidingConfiguration{Component::Scheduler, default_configuration(Component::Scheduler)};
}

struct LiveCluster {
  std::vector<planning::Document> documents;
  planning::PlanOptions options;
  std::string level;  // of defragmentation
};

// `decide` is called with the cluster while what its options refer to lives.
Status read_cluster(ServerCalls& api, const explain::PageReader& decisions, Time now,
                    const placement::MakePlugins& make, Json& answer,
                    const std::function<Status(LiveCluster)>& decide) {
  const DecidingConfiguration deciding = TRY(deciding_configuration(decisions, make, answer));
  const api::Gates gates = gates_of(deciding.component, deciding.configuration);
  LiveCluster cluster{
      {}, plan_options(deciding.configuration, gates, make), deciding.configuration.defragmentation_level};
  cluster.options.now = now;
  const std::size_t before = api.bytes_read();
  cluster.documents = TRY(cluster_documents(
      {[&](const std::string& path) { return api.get(path); }, [&] { return api.bytes_read() - before; }}));
  return decide(std::move(cluster));
}

Status decide_live(ServerCalls& api, const explain::PageReader& decisions, const explain::Question& question,
                   Time now, const placement::MakePlugins& make, Json& answer) {
  return read_cluster(api, decisions, now, make, answer, [&](LiveCluster cluster) {
    return add_what_if({question, std::move(cluster.documents), std::move(cluster.options)}, answer);
  });
}

}  // namespace

void add_live_what_if(ServerCalls& api, const explain::PageReader& decisions,
                      const explain::Question& question, Time now, const placement::MakePlugins& make,
                      Json& answer) {
  const std::string_view what = what_if_about(answer);
  if (what.empty()) return;
  if (const Status put = decide_live(api, decisions, question, now, make, answer); !put)
    add_note(answer, "There are no " + std::string(what) + ": " + put.error().text());
}

Result<Json> live_moves(ServerCalls& api, const explain::PageReader& decisions, Time now,
                        const placement::MakePlugins& make) {
  Json notes = Json::object(), answer;
  TRY(read_cluster(api, decisions, now, make, notes, [&](LiveCluster cluster) -> Status {
    dra::CelSelectors selectors;
    const auto plan =
        planning::plan_defragmentation(std::move(cluster.documents), cluster.options,
                                       {std::move(cluster.level), {}, "defragmentation.level"}, selectors);
    answer = plan ? planning::to_json(*plan) : Json::object({{"problem", plan.error().text()}});
    return {};
  }));
  if (!notes.as_object().empty()) answer["note"] = notes.string_at("note");
  return answer;
}

}  // namespace berth::cli
