#include "cli/doctor_command.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>

#include "base/clock.h"
#include "base/printable.h"
#include "cli/complain.h"
#include "cli/server_calls.h"
#include "client/kubeconfig.h"
#include "install/doctor.h"

namespace berth::cli {
namespace {

struct DoctorCommand {
  std::string kubeconfig;  // empty: the same search as kubectl's
  install::DoctorOptions options;
};

Result<bool> examine(const DoctorCommand& command) {
  const SystemClock clock;
  ServerCalls server = TRY(ServerCalls::open(
      TRY(client::read_kubeconfig(command.kubeconfig, "", client::KubeEnvironment::of_process())), "doctor",
      clock));
  const install::Diagnosis diagnosis = install::diagnose(
      command.options, [&](client::HttpFetch fetch) { return server.call(std::move(fetch)); }, clock);
  for (const install::Finding& finding : diagnosis.findings)
    std::printf("%s\n", printable_line(install::to_line(finding)).c_str());
  if (diagnosis.findings.empty())
    std::printf("Berth can schedule on %s (Kubernetes %s)\n", server.server().c_str(),
                diagnosis.kubernetes.c_str());
  return !diagnosis.blocks();
}

int run_doctor(const DoctorCommand& command) {
  const Result<bool> healthy = examine(command);
  if (!healthy) return complain(healthy.error()), 1;
  return *healthy ? 0 : 1;
}

}  // namespace

void add_doctor(CLI::App& app, Commands& commands) {
  CLI::App* doctor = app.add_subcommand("doctor", "report what keeps Berth from scheduling on a cluster");
  auto given = std::make_shared<DoctorCommand>();
  doctor->add_option("--kubeconfig", given->kubeconfig, "file; default: as kubectl");
  doctor->add_option("-n,--namespace", given->options.ns, "namespace of Berth")->capture_default_str();
  doctor
      ->add_option("--scheduler-name", given->options.scheduler_name,
                   "schedulerName of a Berth that was not installed as a Deployment")
      ->capture_default_str();
  add_tool(doctor, commands, [given] { return run_doctor(*given); });
}

}  // namespace berth::cli
