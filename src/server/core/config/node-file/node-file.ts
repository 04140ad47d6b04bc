/**
 * Node file: configuration of one process. Spec: document 2. Every key is here with its description, default and range; checks
 * beyond the schema are in `node-file-checks.ts`.
 */

import {
  choice,
  duration,
  example,
  flag,
  list,
  object,
  required,
  type TypeOf,
  text,
  verbatimSecret,
  withDefault,
} from "../schema/schema.ts";
import { admin, issuers } from "./node-file-access.ts";
import { tls } from "./node-file-tls.ts";

/** Returns a schema of a node id, short enough for a header, a metric label and a file name. */
const nodeId = (description: string) =>
  text(description, { pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$", examples: ["n1"] });

const path = (description: string, at: string) => text(description, { minLength: 1, maxLength: 4096, examples: [at] });

const MIN_SECRET_LENGTH = 16;

const peer = object(
  "One member of the cluster's first configuration.",
  {
    id: required(nodeId("The id is the `cluster.node_id` of that member.")),
    raft_addr: required(
      text("The address on which that member accepts raft connections, as `host:port`.", {
        format: "address",
        examples: ["gateway-1.internal:7000"],
      }),
    ),
    forward_addr: text(
      "The address on which that member accepts forwarded writes, as `host:port`. It is required if there is more than one peer.",
      { format: "address-or-empty", examples: ["gateway-1.internal:7001"] },
    ),
  },
  {
    examples: [{ id: "n1", raft_addr: "gateway-1.internal:7000", forward_addr: "gateway-1.internal:7001" }],
  },
);

const cluster = object(
  "This section describes how the node takes part in its cluster. A single node is a cluster of one. One of `bootstrap`, `peers` and `join` says how a node without state starts.",
  {
    node_id: required(
      nodeId(
        "The id names this node in the cluster. If the node starts from `peers`, it must be the `id` of one of them.",
      ),
    ),
    data_dir: path(
      "The node keeps its raft log and snapshots in this directory. Only an inspector without other members can do without it. It then keeps its state in memory.",
      "/var/lib/gateway",
    ),
    secret: verbatimSecret(
      text(
        "The secret authenticates members to each other and derives the certificates between them. It also wraps the key that seals stored secrets. Write it as an environment reference, and use the same value on every node.",
        { minLength: MIN_SECRET_LENGTH, maxLength: 4096, examples: ["${GATEWAY_CLUSTER_SECRET}"] },
      ),
    ),
    kek_file: path(
      "This file holds at least 32 bytes of key material. If it is set, sealed secrets can be opened only with both this key and `secret`.",
      "/etc/gateway/kek",
    ),
    advertise: text(
      "Other members reach the raft listener at this address, as `host:port`. It defaults to `raft_addr`.",
      {
        format: "address-or-empty",
        examples: ["gateway-1.internal:7000"],
      },
    ),
    forward_advertise: text(
      "Other members reach the listener for forwarded writes at this address, as `host:port`. It defaults to `forward_addr`.",
      { format: "address-or-empty", examples: ["gateway-1.internal:7001"] },
    ),
    peers: list(
      "The list names the members of the first configuration, including this node, and is the same on every node. It is read only while the node has no state. A list of one entry starts a cluster of one.",
      peer,
      { minItems: 1, maxItems: 15 },
    ),
    bootstrap: example(
      flag(
        "If true, a node without state starts a cluster of one. Beside `join` it does so only after every join address was silent for `bootstrap_wait`.",
      ),
      true,
    ),
    join: list(
      "A node without state asks these forward addresses of existing members to admit it, in this order. It also asks them for re-admission after it was removed.",
      text("One forward address, as `host:port`.", { format: "address", examples: ["gateway-1.internal:7001"] }),
      { minItems: 1, maxItems: 64, uniqueItems: true },
    ),
    bootstrap_wait: withDefault(
      duration(
        "Every join address must be silent for this long before the node starts a cluster of its own. The key is read only if both `join` and `bootstrap` are set.",
      ),
      "5s",
    ),
    rejoin_after: withDefault(
      duration(
        "A node that knows no leader for this long asks its `join` addresses for re-admission. The key is read only if `join` is set.",
      ),
      "30s",
    ),
    dead_after: text(
      "The leader removes a member that was silent for this long. Choose more than the longest restart of a member takes; less than `10s` causes a warning. If it is empty or absent, no member is removed.",
      { format: "duration-or-empty", examples: ["1h"] },
    ),
    raft_addr: text(
      "The node accepts raft connections on this address, as `host:port`. It defaults to the `raft_addr` of the node's entry in `peers`, and a joining node needs it.",
      { format: "address-or-empty", examples: [":7000"] },
    ),
    forward_addr: text(
      "The node accepts forwarded writes on this address, as `host:port`. It defaults to the `forward_addr` of the node's entry in `peers`, and a joining node needs it.",
      { format: "address-or-empty", examples: [":7001"] },
    ),
  },
  {
    exclusive: [
      ["peers", "join"],
      ["peers", "bootstrap"],
    ],
    examples: [
      { node_id: "n1", data_dir: "/var/lib/gateway", secret: "${GATEWAY_CLUSTER_SECRET}", bootstrap: true },
      {
        node_id: "n4",
        data_dir: "/var/lib/gateway",
        secret: "${GATEWAY_CLUSTER_SECRET}",
        raft_addr: ":7000",
        forward_addr: ":7001",
        advertise: "gateway-4.internal:7000",
        forward_advertise: "gateway-4.internal:7001",
        join: ["gateway-1.internal:7001", "gateway-2.internal:7001"],
      },
    ],
  },
);

const extproc = object(
  "This section turns the inspector on. It applies the guardrails to traffic that another proxy routes, over Envoy's ext_proc protocol.",
  {
    inspect_listen: text(
      "The inspector serves plaintext gRPC on this address, so use a loopback address or a private network. The deployment document needs a `guardrails` section.",
      { format: "address", examples: ["127.0.0.1:9002"] },
    ),
    request_body_mode: withDefault(
      choice(
        "The mode tells how the filter of the other proxy sends request bodies. It must be the mode that the filter is configured with. `duplex` is Envoy's `FULL_DUPLEX_STREAMED`.",
        ["streamed", "duplex"],
      ),
      "streamed",
    ),
    inspect_responses: withDefault(
      choice(
        "The mode tells how the filter of the other proxy sends response bodies. It must be the mode that the filter is configured with. If it is empty, responses are not inspected.",
        ["", "streamed", "duplex"],
      ),
      "",
    ),
  },
  {
    examples: [{ inspect_listen: "127.0.0.1:9002", request_body_mode: "duplex", inspect_responses: "duplex" }],
  },
);

const audit = object("This section configures the audit trail of this node.", {
  dir: path(
    "The node keeps the signing key (`audit.key`) and the head of its chain (`audit-head`) in this directory. It defaults to `cluster.data_dir`.",
    "/var/lib/gateway/audit",
  ),
});

export const nodeFileSchema = object(
  "The node file configures one gateway process: its listeners, its part in the cluster, its admin API, and the issuers and certificates that it trusts.",
  {
    listen: withDefault(
      text("The data plane serves clients on this address.", {
        format: "address",
        examples: [":8484", "127.0.0.1:8484"],
      }),
      ":8484",
    ),
    metrics_listen: withDefault(
      text("The node serves `/metrics` on this address, in plain HTTP. `none` turns the metrics listener off.", {
        format: "address-or-none",
        examples: ["127.0.0.1:9464", "none"],
      }),
      ":9464",
    ),
    deployment: path(
      "The path names the deployment document, relative to this file. Leave it out if the document is written through the admin API.",
      "deployment.yaml",
    ),
    cluster: required(cluster),
    issuers,
    admin,
    extproc,
    tls,
    catalog_overlay_paths: withDefault(
      list(
        "The files at these paths or glob patterns change the provider catalog on this node. They are applied before the `catalog_overlays` of the deployment document.",
        path("One path, or one glob pattern.", "overlays/*.yaml"),
        { maxItems: 256 },
      ),
      [],
    ),
    cache_dir: path(
      "The node keeps downloaded model files in this directory, all of which it can download again. It defaults to `/gateway`, or to `cache` in `cluster.data_dir` if `/gateway` cannot be written.",
      "/var/cache/gateway",
    ),
    secrets_dir: path(
      "References such as `${secret:NAME}` and `${file:NAME}` name files in this directory. The node reads them again every ten seconds.",
      "/etc/gateway/secrets",
    ),
    audit,
  },
  {
    examples: [
      {
        listen: ":8484",
        deployment: "deployment.yaml",
        secrets_dir: "/etc/gateway/secrets",
        cluster: {
          node_id: "n1",
          data_dir: "/var/lib/gateway",
          secret: "${GATEWAY_CLUSTER_SECRET}",
          bootstrap: true,
        },
        admin: { local_socket: "/run/gateway/admin.sock" },
      },
    ],
  },
);

export type NodeFile = TypeOf<typeof nodeFileSchema>;
