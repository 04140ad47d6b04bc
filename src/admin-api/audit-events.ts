/**
 * Events of the audit trail: when each is recorded, and the members of its `data`. The reference is generated from this table.
 */

import type { AuditEventName } from "../base/index.ts";

interface AuditEventRule {
  /** When the event is recorded, as a sentence. */
  readonly when: string;
  /** Members of `data`, each with its meaning. */
  readonly data: Readonly<Record<string, string>>;
}

const PROCESS = { version: "Version of the build.", pid: "Process id." } as const;

const CALLER = {
  caller: "Kind of caller: `key`, `agent`, `user` or `anonymous`.",
  key: "Name of the virtual key, or null.",
  key_id: "Public id of the virtual key, or null.",
  agent: "Subject of the agent's token, or null.",
  user: "Subject of the user's token, or null.",
  issuer: "Issuer of the token, or null.",
  profile: "Profile of the caller, or null.",
  user_name: "Readable name of the user, or null.",
} as const;

const REQUEST = {
  request: "Id of the request, as in `x-gateway-request-id`.",
  hop: "Traffic type: `llm`, `mcp` or `a2a`.",
  route: "Route, or method of an MCP server or agent.",
  model: "Requested model, or null.",
  to: "Provider, server or agent that the request goes to.",
} as const;

const ADMIN = {
  action: "Operation of the admin API.",
  resource: "Object that the operation is about.",
  principal: "Caller of the admin API.",
  principal_name: "Readable name of the caller, if the token has one.",
  roles: "Roles of the caller.",
  door: "`local` for the admin socket, `network` for the admin listener.",
  request_id: "Id of the admin request.",
} as const;

export const AUDIT_EVENT_RULES = {
  "chain.start": {
    when: "A new chain begins: the node has no signing key yet, or the key file was removed.",
    data: {
      key: "Public Ed25519 key of the chain, base64.",
      ephemeral: "True if the key exists only in the memory of the process.",
      succeeds: "Head of the chain that this one continues, or null.",
      ...PROCESS,
    },
  },
  "chain.resume": { when: "A process continues its chain after a start.", data: PROCESS },
  "chain.pause": { when: "A process stops normally.", data: { pid: PROCESS.pid } },
  "access.decision": {
    when: "An access rule decided a request, a budget refused requests, or the admin policy denied an operation. Refusals of one budget are recorded together, at most once a minute.",
    data: {
      ...CALLER,
      ...REQUEST,
      decision: "`allow`, `deny`, or `error` if a condition could not be evaluated.",
      rule: "Rule that decided, or null.",
      layer: "`deployment` or `profile`: the list of the rule.",
      matched: "All rules that matched.",
      skipped: "Rules that could not be evaluated and fail open.",
      error: "Kind of error, or null.",
      budget: "Budget that refused the requests, or the budget of the caller.",
      refused: "Number of requests that the budget refused since its last record.",
      code: "Error code of the refusals of a budget.",
      policies:
        "Policies of the admin policy file that decided. Such a record has the members of `admin.write` instead of those of a request.",
      failed_policies: "Policies that could not be evaluated.",
    },
  },
  "guardrail.decision": {
    when: "A guardrail rule acted on a request or a response, a detector that fails closed failed, or values were restored for a server or agent.",
    data: {
      ...CALLER,
      ...REQUEST,
      direction: "`request` or `response`.",
      decision: "`allow`, `deny`, `error` or `restore`.",
      rule: "Rule that decided, or null.",
      matched: "Rules that acted, each with its action and with the types and kinds of its findings.",
      skipped: "Rules that could not be evaluated and fail open.",
      error: "Kind of error, or null.",
      detector: "Detector that failed.",
      restored: "Number of restored values by entity type.",
    },
  },
  "guardrail.shadow": {
    when: "A detector in shadow mode found something.",
    data: {
      ...CALLER,
      ...REQUEST,
      direction: "`request` or `response`.",
      detectors: "Number of findings by detector and type.",
    },
  },
  "admin.write": {
    when: "An operation of the admin API changed something, or was refused after the policy had allowed it.",
    data: {
      ...ADMIN,
      outcome: "`done`, or the error code.",
      dry_run: "True for a dry run, which changes nothing.",
    },
  },
  "auth.failure": {
    when: "A credential was not accepted, by the data plane or the admin API. Repeated failures of one kind are recorded together.",
    data: {
      plane: "Listener that did not accept the credential.",
      fault: "What was wrong with the credential.",
      suppressed: "Number of failures since the last record that were not recorded one by one.",
    },
  },
  "config.applied": {
    when: "The node began to serve another configuration.",
    data: { sources: "Sources with their revisions, as `name@revision`." },
  },
  "cluster.change": {
    when: "The leader or the members of the cluster changed.",
    data: {
      leader: "Node id of the leader, or null.",
      term: "Raft term.",
      members: "Node ids of all members.",
    },
  },
  "reconcile.breach": {
    when: "The metered usage of a day differs from the provider's report by more than the limits allow.",
    data: {
      provider: "Provider.",
      day: "UTC day.",
      class: "Token class.",
      metered: "Tokens that the gateway counted.",
      reported: "Tokens that the provider reports.",
      delta: "Metered minus reported tokens.",
      ratio: "Difference as a fraction of the larger number.",
      direction: "`over` if more was metered than reported, otherwise `under`.",
      hard: "1 if use of the account outside the gateway cannot explain the difference.",
      scope: "`organisation` or `keys`: the part of the account that the report covers.",
      unmeasured_streams: "Number of streams that ended before they reported their usage.",
    },
  },
} as const satisfies Readonly<Record<AuditEventName, AuditEventRule>>;
