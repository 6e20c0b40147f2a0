// Which names a request may call a server by where every request is the administrator's.
//
// A page of another site gets a browser to ask such a server under the page's own name, once that name's
// address is changed to loopback (DNS rebinding); the browser then lets the page read the answers. It cannot
// change what an address is, nor a name without a dot, which nobody can register.
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
