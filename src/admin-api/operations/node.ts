/** Operations about the queried node and its caller. */

import {
  anything,
  choice,
  flag,
  integer,
  list,
  map,
  nullable,
  object,
  optional,
  type TypeOf,
  text,
  time,
} from "../../base/index.ts";
import { answers, NO_BODY, NOTHING, type Operation } from "../operation-definition.ts";

const resource = { kind: "Node", name: "node" } as const;

export const nodeStatus = object("State of the queried node.", {
  node: text("Node id."),
  version: text("Version of the node's build."),
  started_at: time("Time at which the process started."),
  uptime_seconds: integer("Seconds since the process started."),
  role: choice("Role of the node in raft.", ["leader", "follower", "candidate", "learner", "removed"]),
  leader: nullable(text("Node id of the leader. Null if the node knows none.")),
  term: integer("Current raft term."),
  commit_index: integer("Last raft log index that is known to be committed."),
  applied_index: integer("Raft log index that this node has applied. Reads reflect the state up to it."),
  cluster_id: nullable(text("Id of the cluster. Null if it is not known.")),
  ready: flag("Whether the node can serve requests."),
  reasons: list("Why the node cannot serve.", text("Reason.")),
  listeners: list(
    "Listeners of the node.",
    object("A listener.", {
      name: text("Purpose of the listener."),
      address: text("Bound address, or path of the socket."),
    }),
  ),
  configuration: object("State of the node's configuration.", {
    state: choice("`refused`: the node cannot compile an accepted source and serves the previous configuration.", [
      "running",
      "refused",
    ]),
    message: nullable(text("Why the source was refused. Null if none was.")),
  }),
  // Optional, since earlier builds do not send it.
  feature: optional(
    object("Feature level of the cluster, which the builds of all members determine.", {
      level: integer("Feature level in force. It rises automatically and never falls."),
      highest: integer("Highest level that the build of the queried node supports."),
      waiting: nullable(
        text("Members, with their versions, that must be upgraded before the level can rise. Null if there are none."),
      ),
    }),
  ),
  // Optional, since earlier builds do not send it.
  time: optional(
    object(
      "Cluster time, which is the median of the members' clocks. Budget windows, suspensions and expiries use it.",
      {
        ahead_ms: integer(
          "Milliseconds by which the node's own clock is ahead of cluster time; negative if it is behind.",
        ),
        log_ahead_ms: integer(
          "Milliseconds by which the time of the raft log is ahead of cluster time. 0 if it is within the tolerated 5 s.",
        ),
      },
    ),
  ),
  // Optional, since earlier builds do not send it.
  disk_low: optional(
    flag(
      "Whether the disk of `cluster.data_dir` has too little free space for the node to accept writes as the leader.",
    ),
  ),
  // Optional, since earlier builds do not send it.
  certificates: optional(
    list(
      "Certificates of the data listener. Empty if it serves plain HTTP.",
      object("A certificate.", {
        names: list("Names in the certificate, or the requested names if there is none yet.", text("Name.")),
        serial: nullable(text("Serial number in hexadecimal. Null if there is no certificate yet.")),
        not_after: nullable(time("Time at which the certificate expires. Null if there is none yet.")),
        next_renewal: nullable(
          time("Time of the next renewal. Null if there is no certificate yet, or if the gateway does not renew it."),
        ),
        last_error: nullable(text("Why the last renewal failed. Null if none failed since the last success.")),
      }),
    ),
  ),
  // Optional, since earlier builds do not send it.
  models: optional(
    list(
      "Models that the newest configuration needs. Until all are ready, the node serves the previous configuration.",
      object("A model.", {
        name: text("Name of the model."),
        state: choice("`failed`: the download failed and will be retried.", ["ready", "fetching", "failed"]),
        bytes: integer("Bytes that have been downloaded."),
        total_bytes: nullable(integer("Size of all its files in bytes. Null if it is not known yet.")),
        message: nullable(text("Why the last download failed. Null if none failed.")),
      }),
    ),
  ),
  // Optional, since earlier builds do not send it.
  workers: optional(
    object("Worker processes, which serve the data plane.", {
      wanted: integer("Configured number of worker processes."),
      serving: integer("Number that are serving. If some are missing, the others serve all requests."),
      restarts: integer("How often a worker process was replaced since the node started."),
      // Optional, since earlier builds do not send it.
      recent_ends: optional(integer("Number of worker processes that ended unexpectedly in the last 15 minutes.")),
      last_end_at: nullable(time("Last time that a worker process ended unexpectedly. Null if none has.")),
      last_end_by: nullable(text("How that process ended: a signal, an exit status, or why the node ended it.")),
    }),
  ),
  // Optional, since earlier builds do not send it.
  forward_proxies: optional(
    list(
      "Upstreams that are reached through a forward proxy; all others are reached directly.",
      object("An upstream.", {
        upstream: text(
          "The upstream, such as `provider NAME`. MCP servers and agents with a private address are always reached directly.",
        ),
        proxy: text("Address of the proxy, without credentials."),
      }),
    ),
  ),
});

/** Sign-in settings of specification document 2, `admin.issuers[].login`. Contains no secret. */
export const loginIssuer = object("Sign-in settings of an issuer.", {
  name: text("Name of the issuer, for `gateway login -issuer`."),
  issuer: text("URL of the issuer."),
  client_id: text("Client id of the public OAuth client."),
  scopes: list("Scopes to request.", text("Scope.")),
  extra: map("Additional authorization parameters, which are sent unchanged.", text("Value."), {
    keyPattern: "^.{1,256}$",
    maxProperties: 64,
  }),
  token: choice("Token that the client sends to the gateway: the ID token or the access token.", ["id", "access"]),
});

export const nodeOperations = {
  get_status: {
    method: "GET",
    path: "/status",
    group: "read",
    resource,
    help: "Shows the node, its leader, version, listeners and applied index.",
    params: NOTHING,
    query: NOTHING,
    body: NO_BODY,
    answer: answers(nodeStatus),
    codes: [],
  },
  get_whoami: {
    method: "GET",
    path: "/whoami",
    group: "read",
    resource,
    help: "Shows the caller's identity and roles, as the admin API sees them.",
    params: NOTHING,
    query: NOTHING,
    body: NO_BODY,
    answer: answers(
      object("The caller.", {
        issuer: text("Issuer of the token, or `local` on the admin socket."),
        subject: text("Subject of the token, or user of the machine."),
        roles: list("Roles of the caller.", text("Role.")),
      }),
    ),
    codes: [],
  },
  get_login: {
    method: "GET",
    path: "/login",
    group: "read",
    isOpen: true,
    resource,
    help: "Shows how a command-line client signs in.",
    params: NOTHING,
    query: NOTHING,
    body: NO_BODY,
    answer: answers(object("Ways to sign in.", { issuers: list("Issuers that offer a sign-in.", loginIssuer) })),
    codes: ["not_found"],
  },
  get_openapi: {
    method: "GET",
    path: "/openapi.json",
    group: "read",
    resource,
    help: "Shows this API as an OpenAPI 3.1 document.",
    params: NOTHING,
    query: NOTHING,
    body: NO_BODY,
    answer: answers(anything("OpenAPI 3.1 document.")),
    codes: [],
  },
} as const satisfies Record<string, Operation>;

export type LoginIssuer = TypeOf<typeof loginIssuer>;
export type NodeStatus = TypeOf<typeof nodeStatus>;
