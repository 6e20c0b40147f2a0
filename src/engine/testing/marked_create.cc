#include "engine/testing/marked_create.h"

namespace berth::engine::testing {

class MarkedCreate::Creator final : public client::Reconciler {
 public:
  explicit Creator(bool& ok) : ok_(ok) {}
  std::string_view name() const override { return "creator"; }
  std::vector<client::Interest> interests() const override { return {client::itself(api::Kind::Pod)}; }
  client::Effects reconcile(const client::View&, const api::ObjectKey& key, Time) override {
    if (key.name != "a" || created_) return client::Effects::nothing();
    created_ = true;
    client::Write write =
        client::create(api::Kind::Pod, "d",
                       *parse_json(R"({"metadata":{"namespace":"d","name":"made"},"spec":{"said":"mine"}})"));
    write.mark = client::Write::Mark{{"spec", "said"}, "mine"};
    return client::Effects::write({api::Kind::Pod, "d", "made", {}}, std::move(write));
  }
  void on_outcome(const client::View&, const api::ObjectKey&, const client::Outcome& outcome, Time) override {
    ok_ = outcome.chains.front().ok;
  }

 private:
  bool& ok_;
  bool created_ = false;
};

MarkedCreate::MarkedCreate(std::vector<InjectedFault> faults) : faults_(std::move(faults)) {
  fixture.api.put(api::Kind::Pod, R"({"metadata":{"namespace":"d","name":"a"}})");
  fixture.engine.add(std::make_unique<Creator>(ok));
  fixture.api.fault = [this](const client::ApiRequest& request) {
    if (request.name != "made" || next_ >= faults_.size()) return InjectedFault::None;
    return faults_[next_++];
  };
  fixture.start();
}

std::string MarkedCreate::said() const {
  const Json* made = fixture.api.find(api::Kind::Pod, "d", "made");
  return made ? made->find_path({"spec", "said"})->as_string() : "";
}

}  // namespace berth::engine::testing
