// Probes of containers: one handler, and numbers that are not negative.
#include "api/kinds/core_parts.h"
#include "api/kinds/pod.h"

namespace berth::api {
namespace {

FieldErrors check_port_or_name(const FieldPath& path, const Json* port) {
  if (port && port->is_string()) return check_format(path, port->as_string(), port_name_problems);
  return check_port(path, port && port->is_int() ? port->as_int() : 0);
}

FieldErrors check_exec(const FieldPath& at, const Json& exec) {
  if (!items(&exec, "command").empty()) return {};
  return {required(at.child("command"))};
}

FieldErrors check_http_get(const FieldPath& at, const Json& get) {
  FieldErrors errors;
  if (get.string_at("path").empty()) errors.push_back(required(at.child("path")));
  append(errors, check_port_or_name(at.child("port"), present(get, "port")));
  append(errors, check_one_of(at.child("scheme"), get.string_at("scheme"), {"HTTP", "HTTPS"}));
  return errors;
}

FieldErrors check_tcp_socket(const FieldPath& at, const Json& socket) {
  return check_port_or_name(at.child("port"), present(socket, "port"));
}

FieldErrors check_grpc(const FieldPath& at, const Json& grpc) {
  return check_port(at.child("port"), grpc.int_at("port"));
}

struct Handler {
  std::string_view member;
  FieldErrors (*check)(const FieldPath& at, const Json& handler);
};
constexpr Handler kHandlers[] = {
    {"exec", check_exec}, {"httpGet", check_http_get}, {"tcpSocket", check_tcp_socket}, {"grpc", check_grpc}};

FieldErrors check_handler(const FieldPath& at, const Json& probe) {
  FieldErrors errors;
  bool any = false;
  for (const Handler& row : kHandlers) {
    const Json* handler = present(probe, row.member);
    if (!handler) continue;
    if (any)
      errors.push_back(forbidden(at.child(row.member), "may not specify more than 1 handler type"));
    else
      append(errors, row.check(at.child(row.member), *handler));
    any = true;
  }
  if (!any) errors.push_back(required(at, "must specify a handler type"));
  return errors;
}

FieldErrors check_probe(const FieldPath& at, const Json& probe, bool must_succeed_once) {
  FieldErrors errors = check_handler(at, probe);
  for (std::string_view number :
       {"initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"})
    if (probe.int_at(number) < 0)
      errors.push_back(invalid(at.child(number), probe.int_at(number), "must be greater than or equal to 0"));
  if (const Json* grace = present(probe, "terminationGracePeriodSeconds"); grace && grace->as_int() <= 0)
    errors.push_back(
        invalid(at.child("terminationGracePeriodSeconds"), grace->as_int(), "must be greater than 0"));
  if (must_succeed_once && probe.int_at("successThreshold") != 1)
    errors.push_back(invalid(at.child("successThreshold"), probe.int_at("successThreshold"), "must be 1"));
  return errors;
}

}  // namespace

FieldErrors check_probes(const FieldPath& at, const Json& container) {
  FieldErrors errors;
  for (std::string_view name : {"livenessProbe", "readinessProbe", "startupProbe"})
    if (const Json* probe = present(container, name))
      append(errors, check_probe(at.child(name), *probe, name != "readinessProbe"));
  return errors;
}

}  // namespace berth::api
