// `berth` with one more binder plugin: every command and flag, and pods that wait for their network.
#include <cstdio>

#include "cli/berth.h"
#include "network_attachment.h"

int main(int argc, char** argv) {
  berth::cli::Plugins plugins;
  const berth::Status added =
      plugins.binder.add(std::string(example::kNetworkAttachmentName), example::make_network_attachment);
  if (!added.ok()) {
    std::fprintf(stderr, "%s\n", added.error().text().c_str());
    return 2;
  }
  return berth::cli::run_berth(argc, argv, plugins);
}
