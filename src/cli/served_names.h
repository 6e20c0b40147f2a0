// Under which names and addresses a server can be reached: what its certificate has, and what kubeconfigs
// say.
#pragma once

#include <string>
#include <vector>

#include "cli/listen_address.h"

namespace berth::cli {

// The addresses of this machine's interfaces that are up, without loopback and link-local ones, and its host
// name: in the order of the operating system, the name last. Empty when they cannot be read.
std::vector<std::string> machine_addresses();

// For the certificate: the given names, the address, and of a server on all interfaces `machine`.
std::vector<std::string> names_of(const ListenAddress& listen, const std::vector<std::string>& given,
                                  const std::vector<std::string>& machine);
// For kubeconfigs: the address; of a server on all interfaces the first given name, else the machine's first
// address, else loopback.
std::string reachable_address(const ListenAddress& listen, const std::vector<std::string>& given,
                              const std::vector<std::string>& machine);

// For the endpoints of the Service `kubernetes`: the address; of a server on all interfaces the machine's
// first one, else loopback.
std::string endpoint_address(const ListenAddress& listen, const std::vector<std::string>& machine);

// The port that a server without a fixed one had at its last start, kept in `file`; 0: none.
std::uint16_t remembered_port(const std::string& file);
// Makes the folder of the file if it is missing. Unavailable with the operating system's message.
Status remember_port(const std::string& file, std::uint16_t port);

}  // namespace berth::cli
