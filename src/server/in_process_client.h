// ApiClient of the same process: no sockets, the same requests, checks and answers.
#pragma once

#include <memory>

#include "client/api_client.h"
#include "server/api_server.h"

namespace berth::server {

// `server` outlives the client. Requests run on the server's executor; watches come from the store's
// committer. `user` is what the audit log shows.
std::unique_ptr<client::ApiClient> make_in_process_client(ApiServer& server, std::string user);

}  // namespace berth::server
