/** Environment variables that the program reads, as data: `gateway help environment` and the reference print them. */

interface EnvironmentVariable {
  readonly name: string;
  /** Default in words; empty if there is none. */
  readonly default: string;
  /** Meaning of the variable, in full sentences. */
  readonly meaning: string;
  /** Part of the program that reads it. */
  readonly of: keyof typeof ENVIRONMENT_GROUPS;
}

export const ENVIRONMENT_GROUPS = {
  node: "Read by a node",
  both: "Read by a node and the verbs",
  verbs: "Read by the verbs",
} as const;

export const ENVIRONMENT: readonly EnvironmentVariable[] = [
  {
    name: "GATEWAY_CLUSTER_SECRET",
    default: "",
    meaning:
      "The cluster secret, if the node file refers to it as `${GATEWAY_CLUSTER_SECRET}`. `gateway cluster prune` reads it too.",
    of: "both",
  },
  {
    name: "GATEWAY_CLUSTER_SECRET_PREVIOUS",
    default: "",
    meaning: "The previous cluster secret, while the nodes are restarted one by one with a new one.",
    of: "node",
  },
  {
    name: "GATEWAY_LOG",
    default: "info",
    meaning:
      "The least severe level that is logged: `debug`, `info`, `warn` or `error`. The log goes to stderr, as JSON lines or, on a terminal, as plain lines.",
    of: "both",
  },
  {
    name: "GATEWAY_WORKERS",
    default: "auto",
    meaning:
      "The number of worker processes, from 1 to 64, with `-config`. `auto` uses one per core, at most 8, and fewer if memory is short.",
    of: "node",
  },
  {
    name: "GATEWAY_MAX_IN_FLIGHT",
    default: "4096",
    meaning: "The maximum number of requests that are served at once. Further requests are refused with `overloaded`.",
    of: "node",
  },
  {
    name: "GATEWAY_MAX_BUFFERED_BYTES",
    default: "536870912",
    meaning:
      "The maximum number of bytes that are buffered at once for requests, answers and WebSocket messages. Further requests are refused with `overloaded`.",
    of: "node",
  },
  {
    name: "GATEWAY_RESPONSES_MEMORY",
    default: "67108864",
    meaning:
      "The memory in bytes for output items of responses. They are kept for an hour, so that requests can refer to them. `0` keeps none.",
    of: "node",
  },
  {
    name: "GATEWAY_REHEARSAL_MEMORY",
    default: "67108864",
    meaning: "The memory in bytes for records of the last requests, on which changes are rehearsed. `0` keeps none.",
    of: "node",
  },
  {
    name: "GATEWAY_MIN_FREE_BYTES",
    default: "268435456",
    meaning: "Admin writes are refused with `disk_low` while the disk of `cluster.data_dir` has less free space.",
    of: "node",
  },
  {
    name: "GATEWAY_DRAIN",
    default: "30s",
    meaning: "The time that a stopping node gives requests in flight, from `0` to `24h`.",
    of: "node",
  },
  {
    name: "GATEWAY_STREAM_HEARTBEAT",
    default: "15s",
    meaning:
      "A translated or inspected stream that is silent for this long gets an SSE comment, so that its connection stays open. The value is at most `1h`, and `0` turns it off.",
    of: "node",
  },
  {
    name: "GATEWAY_USAGE_REPORT",
    default: "60s",
    meaning:
      "The interval at which a node adds its usage to the ledger, from `100ms` to `60s`. A node that is killed loses the usage since the last report.",
    of: "node",
  },
  {
    name: "GATEWAY_CORS_ORIGINS",
    default: "any origin with `auth`, otherwise loopback origins",
    meaning:
      "The origins of browser pages that may send requests, separated by commas, such as `https://app.example.com`. `none` allows no page.",
    of: "node",
  },
  {
    name: "GATEWAY_DNS_SERVERS",
    default: "the system's",
    meaning:
      "The name servers that resolve members of pools and ACME challenges, as `address` or `address:port`, separated by commas.",
    of: "node",
  },
  {
    name: "GATEWAY_DNS_API_URL",
    default: "Cloudflare's API, version 4",
    meaning: "The API that `tls.dns` with `provider: hosted_api` uses. It receives the token.",
    of: "node",
  },
  {
    name: "OTEL_*",
    default: "",
    meaning:
      "The standard variables of OpenTelemetry, such as `OTEL_EXPORTER_OTLP_ENDPOINT`, say where metrics, traces, logs and audit records are sent. Without them nothing is exported.",
    of: "node",
  },
  {
    name: "HTTPS_PROXY, HTTP_PROXY, NO_PROXY",
    default: "",
    meaning:
      "The forward proxies for outgoing connections, and the hosts that are reached without one. Lower case works too.",
    of: "both",
  },
  {
    name: "NODE_EXTRA_CA_CERTS",
    default: "",
    meaning: "A PEM file with further certificate authorities, such as a company's. Node.js reads it at the start.",
    of: "both",
  },
  {
    name: "NODE_TLS_REJECT_UNAUTHORIZED",
    default: "",
    meaning:
      "`0` turns off the verification of certificates, so that credentials can be intercepted. The gateway warns.",
    of: "both",
  },
  {
    name: "AWS_*",
    default: "",
    meaning:
      "The standard variables of the AWS SDK, such as `AWS_PROFILE` and `AWS_REGION`, apply to requests that are signed (`cloudsig`) with the platform's own keys.",
    of: "node",
  },
  {
    name: "NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID",
    default: "",
    meaning:
      "systemd sets these variables. The node reports to it when it is ready, when it stops, and that it is alive.",
    of: "node",
  },
  {
    name: "GATEWAY_ADMIN_SOCKET",
    default: "",
    meaning: "The admin socket of the gateway that verbs call if neither `-socket` nor `-url` is given.",
    of: "verbs",
  },
  {
    name: "GATEWAY_ADMIN_URL",
    default: "",
    meaning:
      "The URL of the gateway that verbs call if neither `-socket` nor `-url` is given. Sign in first with `gateway login`.",
    of: "verbs",
  },
  {
    name: "HUB_TOKEN",
    default: "",
    meaning: "The token for repositories of a model hub with restricted access, for `gateway models pin`.",
    of: "verbs",
  },
  {
    name: "VISUAL, EDITOR",
    default: "vi",
    meaning: "The editor that `gateway config edit` and the console open.",
    of: "verbs",
  },
  {
    name: "BROWSER",
    default: "the system's",
    meaning: "The browser that `gateway login` opens. `none` shows a code to enter on another machine.",
    of: "verbs",
  },
  {
    name: "XDG_STATE_HOME, XDG_CONFIG_HOME, XDG_CACHE_HOME",
    default: "~/.local/state, ~/.config, ~/.cache",
    meaning:
      "The folders for sign-ins and statements of the console, for its settings, and for model files of `guardrails eval`.",
    of: "verbs",
  },
  {
    name: "NO_COLOR, FORCE_COLOR",
    default: "",
    meaning: "Turns colors off, or on. Otherwise a terminal gets colors unless its `TERM` is `dumb`.",
    of: "verbs",
  },
  {
    name: "INK_SCREEN_READER",
    default: "false",
    meaning: "`true` makes the console print lines for a screen reader instead of a full screen.",
    of: "verbs",
  },
];
