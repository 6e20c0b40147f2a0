#include "cli/control_plane.h"

#include "control/loop.h"

namespace berth::cli {

struct ControlPlaneLoops::Parts {
  Parts(client::ApiClient& client, const api::Gates& gates, control::ControlPlaneOptions options)
      : plane(client, gates, std::move(options)) {}
  control::ControlPlane plane;
  std::unique_ptr<control::Loop> scheduling;
  std::unique_ptr<control::Loop> controllers;
};

ControlPlaneLoops::ControlPlaneLoops(client::ApiClient& client, const Clock& clock, const api::Gates& gates,
                                     control::ControlPlaneOptions options)
    : parts_(std::make_unique<Parts>(client, gates, std::move(options))) {
  if (control::Engine* engine = parts_->plane.scheduling())
    parts_->scheduling = std::make_unique<control::Loop>(*engine, clock, "berth-scheduler");
  if (control::Engine* engine = parts_->plane.controllers())
    parts_->controllers = std::make_unique<control::Loop>(*engine, clock, "berth-control");
  parts_->plane.start();
}

ControlPlaneLoops::~ControlPlaneLoops() {
  stop(Duration());
}

bool ControlPlaneLoops::synced() const {
  return (!parts_->scheduling || parts_->scheduling->synced()) &&
         (!parts_->controllers || parts_->controllers->synced());
}

void ControlPlaneLoops::stop(Duration grace) {
  for (auto* loop : {&parts_->scheduling, &parts_->controllers})
    if (*loop) (*loop)->stop(grace);
  parts_->plane.stop_watching();
}

}  // namespace berth::cli
