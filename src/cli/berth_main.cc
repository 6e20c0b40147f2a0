#include "cli/berth.h"

int main(int argc, char** argv) {
  return berth::cli::run_berth(argc, argv);
}
