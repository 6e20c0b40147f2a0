// Which names a request may call a server by where every request is the administrator's.
//
// DNS rebinding: a page of another site changes its own name's address to loopback. A browser then asks such
// a server under that name, and lets the page read the answers. The page can change neither an address nor a
// name without a dot, which nobody can register.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace berth::server {

// The host of "NAME:PORT" or "[ADDRESS]:PORT", as it is written; empty when there is none.
std::string_view host_of(std::string_view authority);

// Whether a Host header names this machine: an address, localhost or a name below it, a name without a dot,
// or one of `more`. Also without a header, which every browser sends.
bool may_be_called(std::string_view host_header, std::span<const std::string> more);

}  // namespace berth::server
