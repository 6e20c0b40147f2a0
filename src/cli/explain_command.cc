#include "cli/explain_command.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <optional>

#include "api/kinds.h"
#include "api/types/bind_request.h"
#include "api/types/pod.h"
#include "api/yaml_write.h"
#include "base/clock.h"
#include "cli/apiserver_command.h"
#include "cli/version.h"
#include "client/http_fetch.h"
#include "client/kubeconfig.h"
#include "explain/decision_history.h"
#include "explain/explanation.h"

namespace berth::cli {
namespace {

using scheduling::DecisionKind;

struct KindWord {
  std::string_view word;
  api::Kind kind;
};
constexpr KindWord kKinds[] = {
    {"pod", api::Kind::Pod},           {"pods", api::Kind::Pod},           {"po", api::Kind::Pod},
    {"podgroup", api::Kind::PodGroup}, {"podgroups", api::Kind::PodGroup},
};

std::string escaped(std::string_view segment) {
  constexpr std::string_view kHex = "0123456789ABCDEF", kPlain = "-._~";
  std::string out;
  for (const char c : segment) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || kPlain.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

// "/apis/GROUP/VERSION/namespaces/NS/RESOURCE", of all namespaces without one.
std::string collection(api::Kind kind, const std::string& ns) {
  const api::ResourceRef ref = api::ref_of(kind);
  return (ref.group.empty() ? "/api/" : "/apis/" + ref.group + "/") + ref.version +
         (ns.empty() ? "" : "/namespaces/" + escaped(ns)) + "/" + ref.resource;
}

// Blocking reads from one server.
class Reads {
 public:
  static Result<Reads> of(client::ClusterAccess access, const Clock& clock) {
    client::HttpFetcherOptions options;
    options.user_agent = std::string("berth-explain/") + kBerthVersion;
    std::string server = access.server;
    return Reads(std::move(server), TRY(client::HttpFetcher::open(std::move(access), options, clock)));
  }

  // Null for what is not there.
  Result<Json> get(std::string target) {
    std::promise<client::HttpReply> answered;
    client::HttpFetch fetch;
    fetch.target = std::move(target);
    fetcher_->submit(std::move(fetch),
                     [&](client::HttpReply reply) { answered.set_value(std::move(reply)); });
    const client::HttpReply reply = answered.get_future().get();
    if (reply.delivery != client::Delivery::Answered)
      return Error(ErrorCode::Unavailable, server_, "does not answer: " + reply.trouble);
    if (reply.status == 404) return Json();
    Result<Json> json = parse_json(reply.body);
    if (reply.status != 200)
      return Error(ErrorCode::Forbidden, server_,
                   "answers " + std::to_string(reply.status) + ": " +
                       (json ? std::string(json->string_at("message")) : reply.body.substr(0, 200)));
    return json;
  }

 private:
  Reads(std::string server, std::unique_ptr<client::HttpFetcher> fetcher)
      : server_(std::move(server)), fetcher_(std::move(fetcher)) {}
  std::string server_;
  std::unique_ptr<client::HttpFetcher> fetcher_;
};

struct Question {
  Reads& api;
  Reads& record;
  std::string ns;
  std::string name;
};

Result<Json> read_record(const Question& question, DecisionKind kind, const std::string& name) {
  const char* page = kind == DecisionKind::Pod ? "pods/" : "podgroups/";
  return question.record.get(std::string(explain::kDecisionPages) + page + escaped(question.ns) + "/" +
                             escaped(name));
}

Error not_found(const Question& question, api::Kind kind) {
  const api::ResourceRef ref = api::ref_of(kind);
  const std::string what = kind == api::Kind::Pod ? "pod " : "podgroup ";
  std::string text = what + question.ns + "/" + question.name + " does not exist";
  const Result<Json> same =
      question.api.get(collection(kind, "") + "?fieldSelector=metadata.name%3D" + escaped(question.name));
  if (same && !same->items_at("items").empty()) {
    const Json& first = same->items_at("items").front();
    return Error(ErrorCode::NotFound, text + "; one of that name is in namespace " +
                                          std::string(first.part("metadata").string_at("namespace")) +
                                          ": say so with -n");
  }
  return Error(ErrorCode::NotFound,
               text + "; `kubectl get " + ref.resource + " -n " + question.ns + "` lists those that do");
}

Result<Json> read_object(const Question& question, api::Kind kind, const std::string& name) {
  return question.api.get(collection(kind, question.ns) + "/" + escaped(name));
}

Result<Json> ask_pod(const Question& question, Time now) {
  explain::PodFacts facts;
  facts.pod = TRY(read_object(question, api::Kind::Pod, question.name));
  if (facts.pod.is_null()) return not_found(question, api::Kind::Pod);
  const api::Pod pod = api::decode_pod(facts.pod, nullptr);
  facts.record = TRY(read_record(question, DecisionKind::Pod, pod.meta.name));
  if (!pod.group.empty()) facts.group_record = TRY(read_record(question, DecisionKind::Group, pod.group));
  facts.bind_request =
      TRY(read_object(question, api::Kind::BindRequest, api::bind_request_name(pod.meta.name, pod.meta.uid)));
  std::vector<std::string> names;
  for (const api::PodClaim& claim : pod.claims) names.push_back(api::claim_object_name(pod, claim));
  names.push_back(pod.extended_claim);
  for (const std::string& name : names) {
    if (name.empty()) continue;
    Json claim = TRY(read_object(question, api::Kind::ResourceClaim, name));
    if (!claim.is_null()) facts.claims.push_back(std::move(claim));
  }
  return explain::explain_pod(facts, now);
}

Result<Json> ask_group(const Question& question, Time now) {
  explain::GroupFacts facts;
  facts.group = TRY(read_object(question, api::Kind::PodGroup, question.name));
  if (facts.group.is_null()) return not_found(question, api::Kind::PodGroup);
  facts.record = TRY(read_record(question, DecisionKind::Group, question.name));
  const Json pods = TRY(question.api.get(collection(api::Kind::Pod, question.ns)));
  const Json requests = TRY(question.api.get(collection(api::Kind::BindRequest, question.ns)));
  std::map<std::string, const Json*> by_pod;
  for (const Json& request : requests.items_at("items"))
    by_pod[std::string(request.part("spec").string_at("podUID"))] = &request;
  for (const Json& pod : pods.items_at("items")) {
    if (pod.part("spec").part("schedulingGroup").string_at("podGroupName") != question.name) continue;
    explain::PodFacts& member = facts.members.emplace_back();
    member.pod = pod;
    const auto request = by_pod.find(std::string(pod.part("metadata").string_at("uid")));
    if (request != by_pod.end()) member.bind_request = *request->second;
  }
  return explain::explain_group(facts, now);
}

Result<Json> ask(const ExplainCommand& command, api::Kind kind, const Clock& clock) {
  client::ClusterAccess access =
      TRY(client::read_kubeconfig(command.kubeconfig, "", client::KubeEnvironment::of_process()));
  const std::string ns = command.ns.empty() ? access.ns : command.ns;
  Reads api = TRY(Reads::of(std::move(access), clock));
  std::optional<Reads> own;
  if (!command.server.empty()) {
    client::ClusterAccess component;
    component.server = command.server;
    while (component.server.ends_with('/')) component.server.pop_back();
    own = TRY(Reads::of(std::move(component), clock));
  }
  const Question question{api, own ? *own : api, ns, command.name};
  return kind == api::Kind::Pod ? ask_pod(question, clock.now()) : ask_group(question, clock.now());
}

explain::Colour colour_wanted() {
  return ::isatty(STDOUT_FILENO) != 0 && !std::getenv("NO_COLOR") ? explain::Colour::Yes
                                                                  : explain::Colour::No;
}

std::string shown(const ExplainCommand& command, api::Kind kind, const Json& explanation) {
  if (command.output == "json") return to_pretty_string(explanation) + "\n";
  if (command.output == "yaml") return api::to_yaml(explanation);
  if (command.output == "name") return (kind == api::Kind::Pod ? "pod/" : "podgroup/") + command.name + "\n";
  const explain::Detail detail = command.output == "wide" ? explain::Detail::Wide : explain::Detail::Table;
  return explain::explanation_text(explanation, detail, colour_wanted());
}

}  // namespace

int run_explain(const ExplainCommand& command) {
  const auto* row = std::find_if(std::begin(kKinds), std::end(kKinds),
                                 [&](const KindWord& known) { return known.word == command.kind; });
  if (row == std::end(kKinds)) {
    std::fprintf(stderr, "berth: explain: \"%s\" is neither pod nor podgroup\n", command.kind.c_str());
    return 2;
  }
  const SystemClock clock;
  const Result<Json> explanation = ask(command, row->kind, clock);
  if (!explanation) return complain(explanation.error()), 1;
  std::fputs(shown(command, row->kind, *explanation).c_str(), stdout);
  return 0;
}

}  // namespace berth::cli
