/**
 * Node file: configuration of one process. Spec: document 2. Every key is here with its description, default and range; checks
 * beyond the schema are in `node-file-checks.ts`.
 */

import { admin, issuers } from "./node-file-access.ts";
import { tls } from "./node-file-tls.ts";
import {
  choice,
  duration,
  flag,
  list,
  object,
  required,
  type TypeOf,
  text,
  verbatimSecret,
  withDefault,
} from "./schema.ts";

/** Short enough for a header, a metric label and a file name. */
const nodeId = (description: string) =>
  text(description, { pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$", examples: ["node-1"] });

const path = (description: string) => text(description, { minLength: 1, maxLength: 4096 });

const MIN_SECRET_LENGTH = 16;

const peer = object("A member of the first configuration.", {
  id: required(nodeId("The peer's own `cluster.node_id`.")),
  raft_addr: required(text("Where the peer's raft transport listens, `host:port`.", { format: "address" })),
  forward_addr: text("Where the peer accepts forwarded writes, `host:port`.", { format: "address-or-empty" }),
});

const cluster = object(
  "How this node is part of its cluster; a single node is a cluster of one.",
  {
    node_id: required(nodeId("Names this node; one of `peers` where the node starts from peers.")),
    data_dir: path(
      "Directory of the raft log and its snapshots. May be left out of a node of one that only inspects: its state is in memory then.",
    ),
    secret: verbatimSecret(
      text(
        "Authenticates members to each other and derives their certificates; wraps the data key of sealed secrets. Normally an environment reference.",
        { minLength: MIN_SECRET_LENGTH, maxLength: 4096 },
      ),
    ),
    kek_file: path("File of at least 32 bytes of key material, a second key-encryption key beside `secret`."),
    advertise: text("Raft address told to peers, `host:port`; left out, `raft_addr`.", { format: "address-or-empty" }),
    forward_advertise: text("Forward address told to peers, `host:port`; left out, `forward_addr`.", {
      format: "address-or-empty",
    }),
    peers: list(
      "Members of the first configuration, this node among them; the same on every node. One entry is a cluster of one.",
      peer,
      { minItems: 1, maxItems: 15 },
    ),
    bootstrap: flag("Starts a cluster of one; with `join`, only after every join address stayed silent."),
    join: list(
      "Forward addresses of existing members, tried in order; read while the node has no state, and for re-admission.",
      text("A forward address, `host:port`.", { format: "address" }),
      { minItems: 1, maxItems: 64, uniqueItems: true },
    ),
    bootstrap_wait: withDefault(
      duration("Silence required of every join address before a cluster is started; read beside `join` only."),
      "5s",
    ),
    rejoin_after: withDefault(
      duration("Time without a known leader before the join list is asked for re-admission; read beside `join` only."),
      "30s",
    ),
    dead_after: text(
      "Silence after which the leader removes a member, at least `10s`; longer than the longest restart a member may take. Empty is never.",
      { format: "duration-or-empty" },
    ),
    raft_addr: text("Where this node's raft transport listens, `host:port`; left out, that of its `peers` entry.", {
      format: "address-or-empty",
    }),
    forward_addr: text("Where this node accepts forwarded writes, `host:port`; left out, that of its `peers` entry.", {
      format: "address-or-empty",
    }),
  },
  {
    exclusive: [
      ["peers", "join"],
      ["peers", "bootstrap"],
    ],
  },
);

const extproc = object("Inspector: guardrails for traffic that another proxy routes.", {
  inspect_listen: text(
    "gRPC address of the inspector, plaintext: on a loopback address or in a private network. Needs `guardrails`.",
    { format: "address" },
  ),
  request_body_mode: withDefault(
    choice("How the peer filter sends request bodies; must be the filter's own mode.", ["streamed", "duplex"]),
    "streamed",
  ),
  inspect_responses: withDefault(
    choice("How the peer filter sends response bodies; empty leaves responses alone.", ["", "streamed", "duplex"]),
    "",
  ),
});

const audit = object("The audit trail of this node.", {
  dir: path("Directory of `audit.key` and `audit-head`; left out, `cluster.data_dir`."),
});

export const nodeFileSchema = object("What configures one process of the gateway.", {
  listen: withDefault(text("Address of the data plane.", { format: "address" }), ":8484"),
  metrics_listen: withDefault(
    text("Address of `/metrics`, plain HTTP; `none` serves no metrics.", { format: "address-or-none" }),
    ":9464",
  ),
  deployment: path("Path of the deployment document, relative to this file; left out where it arrives by the API."),
  cluster: required(cluster),
  issuers,
  admin,
  extproc,
  tls,
  catalog_overlay_paths: withDefault(
    list(
      "Paths or glob patterns of catalog overlay files, applied before inline overlays.",
      path("A path, or a glob pattern such as `overlays/*.yaml`."),
      {
        maxItems: 256,
      },
    ),
    [],
  ),
  cache_dir: path(
    "Where model artifacts and manifests are kept, all of which can be fetched again; left out, `/gateway`, or `cache` below `cluster.data_dir` where that cannot be written.",
  ),
  secrets_dir: path("Directory of the files that `${secret:NAME}` and `${file:NAME}` name."),
  audit,
});

export type NodeFile = TypeOf<typeof nodeFileSchema>;
