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
import { answers, NO_BODY, NOTHING, type Operation } from "../operation.ts";

const resource = { kind: "Node", name: "node" } as const;

export const nodeStatus = object("The node that is asked.", {
  node: text("Its id."),
  version: text("Version of its build."),
  started_at: time("When its process started."),
  uptime_seconds: integer("Since then."),
  role: choice("Its part in the cluster.", ["leader", "follower", "candidate", "learner", "removed"]),
  leader: nullable(text("Id of the leader it knows.")),
  term: integer("Term of the cluster."),
  commit_index: integer("Last log index known to be committed."),
  applied_index: integer("Log index up to which reads here reflect the state."),
  cluster_id: nullable(text("Id of the cluster.")),
  ready: flag("Whether it can serve."),
  reasons: list("Why it cannot.", text("Reason.")),
  listeners: list(
    "Where it listens.",
    object("A listener.", { name: text("What it is for."), address: text("Address or path, as bound.") }),
  ),
  configuration: object("How its configuration stands.", {
    state: choice("`refused`: it cannot compile an accepted source and serves what it served before.", [
      "running",
      "refused",
    ]),
    message: nullable(text("Why it cannot.")),
  }),
  // Optional, since earlier builds do not send it.
  feature: optional(
    object("What the builds of all members allow the cluster to do.", {
      level: integer("Feature level in force; raised by itself, never lowered."),
      highest: integer("Highest level that the build of the node asked works at."),
      waiting: nullable(text("What a higher level waits for: the members, with their versions; null: for nothing.")),
    }),
  ),
  // Optional, since earlier builds do not send it.
  time: optional(
    object("The time that windows, suspensions and expiries go by: the median of the members' clocks.", {
      ahead_ms: integer("Milliseconds by which the node's own clock is ahead of it; negative behind."),
      log_ahead_ms: integer(
        "Milliseconds by which the time of the log is ahead of it; 0 within the 5 s that leaders may differ by.",
      ),
    }),
  ),
  // Optional, since earlier builds do not send it.
  certificates: optional(
    list(
      "What its front door presents; empty: plain HTTP.",
      object("A certificate.", {
        names: list("Names it has, or is to have.", text("Name.")),
        serial: nullable(text("Hex; null: there is none yet.")),
        not_after: nullable(time("When it expires.")),
        next_renewal: nullable(
          time("When it is renewed; null if there is none yet, or if the files are renewed by others."),
        ),
        last_error: nullable(text("Why there is no newer one.")),
      }),
    ),
  ),
  // Optional, since earlier builds do not send it.
  models: optional(
    list(
      "Models that its newest configuration needs. While one is not ready, the configuration before serves on.",
      object("A model.", {
        name: text("Its name."),
        state: choice("`failed`: it could not be fetched, and is tried again.", ["ready", "fetching", "failed"]),
        bytes: integer("Of it that are here."),
        total_bytes: nullable(integer("Of all its files, once it is known.")),
        message: nullable(text("Why it could not be fetched.")),
      }),
    ),
  ),
  // Optional, since earlier builds do not send it.
  workers: optional(
    object("The processes that serve its data plane.", {
      wanted: integer("How many there are to be."),
      serving: integer("How many serve; with fewer, the others take what comes."),
      restarts: integer("Times that one was to take the place of another, since the node started."),
      last_end_at: nullable(time("When one last ended that was to go on; null: none has.")),
      last_end_by: nullable(text("What it ended by: a signal, a status, or why the node ended it.")),
    }),
  ),
  // Optional, since earlier builds do not send it.
  forward_proxies: optional(
    list(
      "Upstreams that are reached through a forward proxy; all others are reached directly.",
      object("An upstream.", {
        upstream: text(
          "What is reached, such as `provider NAME`. A server or agent whose name resolves to a private address is reached directly all the same.",
        ),
        proxy: text("Address of the proxy, without credentials."),
      }),
    ),
  ),
});

/** Sign-in settings of specification document 2, `admin.issuers[].login`. Contains no secret. */
export const loginIssuer = object("How to sign in at an issuer.", {
  name: text("Name of the issuer, as `gateway login -issuer` takes it."),
  issuer: text("URL of the issuer."),
  client_id: text("Public OAuth client."),
  scopes: list("Scopes to ask for.", text("Scope.")),
  extra: map("Further authorization parameters, sent as they are.", text("Value."), {
    keyPattern: "^.{1,256}$",
    maxProperties: 64,
  }),
  token: choice("Which token is presented.", ["id", "access"]),
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
    help: "Shows who the caller is to this door.",
    params: NOTHING,
    query: NOTHING,
    body: NO_BODY,
    answer: answers(
      object("The caller.", {
        issuer: text("`local`, or the issuer of the token."),
        subject: text("Who, to that issuer."),
        roles: list("Its roles.", text("Role.")),
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
    answer: answers(object("Ways to sign in.", { issuers: list("One an issuer.", loginIssuer) })),
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
