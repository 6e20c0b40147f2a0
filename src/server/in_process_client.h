// An ApiClient in the server's process: no sockets, the same requests, checks and responses.
#pragma once

#include <memory>

#include "client/api_client.h"
#include "server/api_server.h"

namespace berth::server {

// `server` outlives the client. Requests run on the server's executor; watch events come from the store's
// committer. `user` appears in the audit log.
std::unique_ptr<client::ApiClient> make_in_process_client(ApiServer& server, std::string user);

}  // namespace berth::server
