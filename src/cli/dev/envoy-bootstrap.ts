/** Builds a complete Envoy configuration that sends each request to an inspector first. */
import { parseAddress } from "../../base/index.ts";
import { filterSettings } from "../../server/inspector/index.ts";

export interface EnvoySettings {
  /** Listener of Envoy. This and the next three addresses have the form `host:port`. */
  readonly listen: string;
  readonly admin: string;
  readonly inspector: string;
  readonly upstream: string;
  readonly modes: Parameters<typeof filterSettings>[0];
}

const TYPES = "type.googleapis.com/envoy.extensions";
const H2 = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";

/** Returns the configuration as YAML. */
export function envoyBootstrap({ listen, admin, inspector, upstream, modes }: EnvoySettings): string {
  const { processing_mode: mode, allow_mode_override: mayOverride } = filterSettings(modes);
  const processing = Object.entries(mode).map(([key, value]) => `                      ${key}: ${value}`);
  return `\
# Envoy 1.36 or later: envoy -c envoy.yaml
admin:
  address: ${socketAddress(admin)}
static_resources:
  listeners:
    - name: in
      address: ${socketAddress(listen)}
      filter_chains:
        - filters:
            - name: envoy.filters.network.http_connection_manager
              typed_config:
                "@type": ${TYPES}.filters.network.http_connection_manager.v3.HttpConnectionManager
                stat_prefix: in
                http_filters:
                  - name: envoy.filters.http.ext_proc
                    typed_config:
                      "@type": ${TYPES}.filters.http.ext_proc.v3.ExternalProcessor
                      grpc_service: { envoy_grpc: { cluster_name: inspector } }
                      # Requests that cannot be inspected are refused. With true they pass without inspection.
                      failure_mode_allow: false
                      # Time limit of each answer of the inspector; detectors that call servers may need more.
                      message_timeout: 5s
                      allow_mode_override: ${mayOverride}
                      processing_mode:
${processing.map((line) => `  ${line}`).join("\n")}
                  - name: envoy.filters.http.router
                    typed_config: { "@type": ${TYPES}.filters.http.router.v3.Router }
                route_config:
                  virtual_hosts:
                    - name: all
                      domains: ["*"]
                      routes:
                        # No time limit: models can answer for minutes.
                        - { match: { prefix: / }, route: { cluster: upstream, timeout: 0s } }
  clusters:
    - name: inspector
      type: STRICT_DNS
      connect_timeout: 1s
      typed_extension_protocol_options:
        ${H2}:
          "@type": type.googleapis.com/${H2}
          # Detects an inspector that hangs, since a duplex filter has no other time limit.
          explicit_http_config: { http2_protocol_options: { connection_keepalive: { interval: 10s, timeout: 5s } } }
      # An inspector that stops fails its health check before it closes.
      health_checks:
        - timeout: 1s
          interval: 5s
          unhealthy_threshold: 2
          healthy_threshold: 1
          grpc_health_check: { service_name: envoy.service.ext_proc.v3.ExternalProcessor }
      load_assignment:
        cluster_name: inspector
        endpoints:
          - lb_endpoints:
              - endpoint: { address: ${socketAddress(inspector)} }
    - name: upstream
      type: STRICT_DNS
      connect_timeout: 5s
      load_assignment:
        cluster_name: upstream
        endpoints:
          - lb_endpoints:
              - endpoint: { address: ${socketAddress(upstream)} }
`;
}

function socketAddress(text: string): string {
  const { host = "127.0.0.1", port = 0 } = parseAddress(text) ?? {};
  return `{ socket_address: { address: ${JSON.stringify(host)}, port_value: ${port} } }`;
}
