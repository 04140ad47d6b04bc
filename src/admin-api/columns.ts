/**
 * Columns of every list of the admin API. A list returns rows of these columns, `query` has a table with the same name and
 * rows, and the console shows them. Values of type object or array are JSON text in SQL.
 */

import { artifacts } from "./artifact-columns.ts";
import { certificates } from "./certificate-columns.ts";
import { history } from "./history-columns.ts";
import { reconcile, reconcile_verdicts } from "./reconcile-columns.ts";
import { choice, flag, integer, list, map, nullable, number, object, optional, type TypeOf, text, time } from "../base/index.ts";
import { usage } from "./usage-columns.ts";

export const SUSPENSION_KINDS = ["provider", "key", "profile", "model", "mcp", "a2a", "issuer"] as const;

/** Severities of a row of attention, the worst last. */
export const ATTENTION_SEVERITIES = ["note", "warn", "fail"] as const;

/** Traffic types, named as in access rules; a WebSocket session has its own. */
export const REQUEST_HOPS = ["llm", "mcp", "a2a", "websocket"] as const;

const METADATA = {
  /** Excludes keys that would set a JavaScript object's prototype. */
  keyPattern: "^[A-Za-z0-9][A-Za-z0-9_.:/-]{0,63}$",
  maxProperties: 64,
} as const;

export const metadata = map(
  "Texts of the operator's own, readable by access rules.",
  text("Value.", { pattern: "^[^\\u0000]*$", maxLength: 1024 }),
  METADATA,
);

/** Columns of fronted servers and agents: their calls have neither retry nor failover. */
const MEASURED_CALLS = {
  state: choice("`failing`: at least half of three or more calls failed; `idle`: none counts or is under way.", [
    "ok",
    "failing",
    "idle",
    "suspended",
  ]),
  suspended_until: nullable(time("When its suspension ends; null: it has none, or one without an end.")),
  rate: number("Calls a second. One counts once it is answered or has failed (no connection, 429 or 5xx)."),
  error_ratio: nullable(number("Failed calls as a fraction of those that count; null: none does.")),
  ttfb_p50_ms: nullable(
    number("Median of the time to the first byte of answered calls, in milliseconds; null: there were none."),
  ),
  ttfb_p95_ms: nullable(number("95th percentile of it.")),
  in_flight: integer("Calls under way."),
  units_per_minute: number("Cost units that budgets were charged for calls; 0 while no budget counts."),
  node: text("Node that has met it so."),
} as const;

export const TABLES = {
  keys: object("A virtual key.", {
    id: text("Public part of the key, 8 characters."),
    name: text("Unique name."),
    profile: nullable(text("Profile whose limits apply to the key; null: none.")),
    metadata,
    created_at: time("When it was minted."),
    expires_at: nullable(time("When it ceases to be accepted; null: never.")),
    last_used_at: nullable(time("Last use this node knows of, coarse; null: none.")),
    status: choice("Whether a request with the key is accepted.", ["active", "suspended", "expired"]),
  }),
  profiles: object("A named policy that keys and issuers refer to.", {
    name: text("Unique name."),
    budget: nullable(text("Budget that its callers spend from; null: none.")),
    allowed_models: list("Models that may be asked for; empty: every routed one.", text("Name or pattern.")),
    require_caps: list("Capabilities that a channel must claim to serve it.", text("Capability.")),
    access_rules: integer("How many rules of its own it has."),
    // Earlier nodes do not send it.
    rules: optional(
      list(
        "Access rules that apply to its callers, in the order in which they are evaluated: those of the deployment first.",
        object("An access rule.", {
          name: text("Name, unique within its list."),
          action: choice("What happens to a request that it matches.", ["allow", "deny"]),
          layer: choice("List that it belongs to.", ["deployment", "profile"]),
          at: list("Traffic types that it is evaluated for.", choice("Traffic type.", ["llm", "mcp", "a2a"])),
        }),
      ),
    ),
    detectors: nullable(list("Detectors that inspect its traffic; null: all of them.", text("Name of a detector."))),
    keys: integer("Virtual keys that refer to it."),
  }),
  budgets: object("A bucket of a budget in its current window. Costs are in cost units.", {
    budget: text("Name of the budget."),
    bucket: text(
      "`shared`, or who has the bucket alone: the id of a key, or a digest of a token's issuer and subject.",
    ),
    key: nullable(text("Name of that key; null: a shared bucket, a token's, or that of a key that is there no more.")),
    limit: integer("May be spent in a window."),
    used: integer("Charged in the current window, as far as this node knows."),
    unaccounted: integer(
      "Of `used`: charged for a process that ended, or is silent for a minute, before it told whether it spent it.",
    ),
    reserved: integer("Held on this node by requests under way."),
    granted: integer("Handed to nodes and not yet reported as spent; the sum over `holders`."),
    remaining: integer("May still be spent; never negative."),
    window: text("Length of a window, Go-style duration."),
    resets_at: time("When the next window begins."),
    status: choice(
      "How the bucket stands; `low` with less than a tenth left, `refusing` while `refused_per_minute` is not 0.",
      ["ok", "low", "exhausted", "refusing"],
    ),
    refused_per_minute: integer("Requests and sessions that it refused on this node in the last 60 seconds."),
    holders: list(
      "Nodes that were granted something in the window, in the order of their ids.",
      object("What a node holds.", {
        node: text("Node id."),
        granted: integer("Handed to it and not yet reported as spent."),
        spent: integer("Spent by its process that runs, as far as the node asked knows."),
      }),
    ),
    node: text("Node that knows it so."),
  }),
  backends: object("A provider as this node has met it in the last 60 seconds.", {
    name: text("Name of the provider."),
    dialect: text("Dialects it is spoken to in, with commas between."),
    state: choice("`failing`: at least half of three or more attempts failed; `idle`: none counts or is under way.", [
      "ok",
      "failing",
      "idle",
      "suspended",
    ]),
    suspended_until: nullable(time("When its suspension ends; null: it has none, or one without an end.")),
    rate: number(
      "Attempts a second. One counts once it is answered or has failed (no connection, a first-byte timeout, 429 or 5xx).",
    ),
    error_ratio: nullable(number("Failed attempts as a fraction of those that count; null: none does.")),
    ttfb_p50_ms: nullable(
      number("Median of the time to the first byte of answered attempts, in milliseconds; null: there were none."),
    ),
    ttfb_p95_ms: nullable(number("95th percentile of it.")),
    in_flight: integer("Attempts under way."),
    retries: integer("Attempts that repeated one."),
    failovers_in: integer("Requests that came here from another provider."),
    failovers_out: integer("Requests that left here for another."),
    units_per_minute: number("Cost units that budgets were charged for what was used here; 0 while no budget meters."),
    subsets: list("Subsets of its pool.", text("Name of a subset.")),
    members: integer("Members of its pool; 0: it is none."),
    node: text("Node that has met it so."),
  }),
  guardrails: object("A detector or a rule of guardrails, in the order of the document; detectors come first.", {
    kind: choice("What it is.", ["detector", "rule"]),
    name: text("Unique name among its kind."),
    type: text("Type of a detector, action of a rule."),
    mode: nullable(choice("Of a detector; `shadow`: rules do not see what it finds.", ["inline", "shadow"])),
    schedule: nullable(choice("Of a detector: who waits for it.", ["sync", "overlap", "async"])),
    role: nullable(choice("Of a detector; `confirm`: it looks where others found something.", ["discover", "confirm"])),
    kinds: nullable(
      list("Kinds of text that it reads, or may rewrite; null: all that can be rewritten.", text("Kind of text.")),
    ),
    threshold: nullable(number("Of a detector: what scores less is dropped.")),
    timeout_ms: nullable(
      integer("Of a detector: longest work on one request, in milliseconds; null: as long as the request has."),
    ),
    on_error: choice("What happens when it cannot do its work.", ["fail_open", "fail_closed"]),
    entities: nullable(list("Entity types that a detector reports; null: all that it knows.", text("Entity type."))),
    recognizers: list(
      "Recognizers of the document's own, as `<name>: <entity type>`; what they look for is not shown.",
      text("Recognizer."),
    ),
    requires: nullable(list("Detectors that a rule depends on; null: all.", text("Name of a detector."))),
    operator: nullable(text("How a rule rewrites; null: it does not.")),
    controls: list("Identifiers of a rule's controls.", text("Identifier.")),
    exempt: list("Profiles whose texts it does not see.", text("Name of a profile.")),
    fingerprint: nullable(
      text("Of a detector: the same on every node on which the same is found; the first 12 digits of it."),
    ),
    horizon_bytes: nullable(
      integer("Of a detector that reads answers: bytes that a finding in a stream spans at most; null: no bound."),
    ),
    decisions: nullable(integer("Of a rule: requests in which it acted, since the process of this node started.")),
    errors: integer("Times that it could not do its work, since then."),
    texts_read: nullable(integer("Of a detector: texts that it read, since then.")),
    texts_remembered: nullable(integer("Of a detector: texts whose findings were remembered, since then.")),
    node: text("Node that counted."),
  }),
  controls: object("A control that rules carry, and how often they have served it: evidence.", {
    control: text("Identifier: its framework with the edition, then its own."),
    pack: text("Packs of this program that cite it, divided by commas; empty: none does."),
    rules: list("Rules of the running configuration that carry it.", text("Name of a rule.")),
    decisions: integer("Decisions that served it in the last 24 hours, since the process of this node started."),
    node: text("Node that counted."),
  }),
  certificates,
  artifacts,
  refusals: object("Requests that a node refused in the last hour, told together by caller, code and cause.", {
    node: text("Node that refused them."),
    caller_kind: choice(
      "Who was refused; `unrecognised`: the credential was none that is accepted, `others`: callers beyond those that are told one by one.",
      ["key", "agent", "user", "anonymous", "unrecognised", "others"],
    ),
    caller: nullable(
      text(
        "Name of the key, the user or the agent, where one is known; of `unrecognised` the id of the key that was presented and does not exist.",
      ),
    ),
    code: text("Code of the answers."),
    cause: nullable(
      choice("What refused them; null: the code tells.", [
        "rule",
        "guardrail",
        "budget",
        "profile",
        "suspension",
        "credential",
      ]),
    ),
    cause_name: nullable(
      text("Its name, of a profile's rule `profile <profile>/<rule>`; of a credential, what is wrong with it."),
    ),
    last_minute: integer("Refused in the last 60 seconds."),
    last_hour: integer("Refused in the last 60 minutes."),
    first_at: time("When the first was refused that is told here."),
    last_at: time("When the last was."),
    last_request: text("Id of the last request, as its answer carried it."),
  }),
  requests: object("A request or session that is over, be it answered, refused or abandoned. Metadata only.", {
    time: time("When it came."),
    id: text("Its id, as its answer carried it."),
    caller: nullable(text("Name of the key, the user or the agent; null: not known.")),
    profile: nullable(text("Profile of the caller; null: none.")),
    hop: nullable(
      choice("What it was for; null: for the gateway itself, or it was refused before that was known.", REQUEST_HOPS),
    ),
    route: nullable(text("Its route; of a call of a server or agent the method. Null: none.")),
    model: nullable(text("Model that was asked for, as the client wrote it; null: none.")),
    provider: nullable(text("Provider, server or agent that was asked last, or would have been; null: none.")),
    status: integer("Status of the answer; 499: the client left before its end, 101: a session."),
    code: nullable(text("Code of the refusal, also of one within the answer; null: none.")),
    attempts: integer("Attempts at providers."),
    ttfb_ms: nullable(integer("Milliseconds until an upstream's answer began; null: none did.")),
    total_ms: integer("Milliseconds until its end."),
    input_tokens: nullable(integer("Tokens that providers told of its input; null: not counted, or none told.")),
    output_tokens: nullable(integer("The same of its output.")),
    decided_by: nullable(
      text(
        "What refused it, as `budget day`; else the guardrail rules that acted, or the access rule that let it pass.",
      ),
    ),
    node: text("Node that served it."),
  }),
  history,
  usage,
  models: object("A name that a request may ask for, and where it goes. Rows are in the order in which they match.", {
    model: text("Name, or pattern with a trailing `*`; `*` alone: whatever matches nothing else."),
    kind: choice("What the name is; `default`: whatever no other row matches.", [
      "name",
      "pattern",
      "alias",
      "default",
    ]),
    provider: text("Provider it goes to."),
    upstream_model: nullable(text("What the provider is asked for; null: the same name.")),
    dialects: list("Dialects that the provider serves it in.", text("Dialect.")),
    failover: list("Providers that are asked next.", text("Name of a provider.")),
  }),
  mcp_servers: object("A fronted MCP server as this node has met it in the last 60 seconds.", {
    name: text("As in `/mcp/<name>`."),
    url: text("Where it is, references as written."),
    registry_name: nullable(text("Its name in the registry; null: it is not listed there.")),
    protocol: text("Revision that it is spoken to in."),
    ...MEASURED_CALLS,
  }),
  a2a_agents: object("A fronted A2A agent as this node has met it in the last 60 seconds.", {
    name: text("As in `/a2a/<name>`."),
    url: text("Where it is, references as written."),
    protocol: text("Version that it is spoken to in."),
    ...MEASURED_CALLS,
  }),
  suspensions: object("Something an operator switched off.", {
    kind: choice("What is suspended.", SUSPENSION_KINDS),
    name: text("Its name."),
    reason: text("Why; shown to callers."),
    by: text("Principal who suspended it."),
    created_at: time("Since when."),
    until: nullable(time("When it ends by itself; null: when it is lifted.")),
    status: choice("`ended` once `until` has passed.", ["active", "ended"]),
  }),
  acknowledgements: object("A row of attention that an operator has acknowledged.", {
    name: text("Name of the row, as the console has it."),
    reason: text("Why it is left as it is."),
    by: text("Principal who acknowledged it."),
    created_at: time("Since when."),
    until: time("When it ends by itself."),
    severity: nullable(
      choice("How bad it was then; null: was not said. What is more severe is shown again.", ATTENTION_SEVERITIES),
    ),
    degree: nullable(integer("Of how many things the row told then; null: was not said.")),
    status: choice("`ended` once `until` has passed.", ["active", "ended"]),
  }),
  secrets: object("A sealed secret. Its value is never shown.", {
    name: text("As in `${secret:NAME}`."),
    version: integer("Counted up with each value."),
    updated_at: time("When the value was put."),
    kek: text("Id of the key that wraps the data key the value is sealed with."),
  }),
  sources: object("A configuration source.", {
    name: text("Name; `default` in a deployment configured by a file."),
    revision: integer("Counted up with each change; its ETag."),
    writer: choice("Who may change it: this API, or the deployment document of the node file.", ["api", "file"]),
    updated_at: time("When this revision was accepted."),
    by: text("Principal who wrote it."),
    state: choice("Whether this node serves it; `refused`: it cannot compile it and keeps what it served before.", [
      "running",
      "pending",
      "refused",
    ]),
    message: nullable(text("Why this node does not serve it.")),
  }),
  cluster_members: object("A member of the cluster, as the node asked sees it.", {
    id: text("Node id."),
    role: choice("Its part in the cluster.", ["leader", "follower", "learner"]),
    voter: flag("Whether it counts towards a quorum."),
    raft_addr: text("Where it takes part in consensus."),
    forward_addr: text("Where it takes forwarded requests."),
    state: choice("Contact with it: a leader goes by its answers, another by its connections; `forgot`: refused.", [
      "reachable",
      "silent",
      "snapshot",
      "forgot",
    ]),
    last_contact_ms: nullable(integer("Milliseconds since it was last heard of.")),
    applied: nullable(integer("Last log index known to be on its disk.")),
    lag: nullable(integer("Entries behind the leader's commit.")),
    version: text("Version of its build."),
    clock_offset_ms: nullable(
      integer(
        "Milliseconds by which its clock is ahead of that of the node asked, negative behind; null: not measured.",
      ),
    ),
    node: text("Node that sees it so."),
  }),
  audit_heads: object("The newest record of an audit chain that was shown to the cluster.", {
    node: text("Node that writes the chain."),
    kid: text("RFC 7638 thumbprint of the key that signs it."),
    seq: integer("Number of the record in its chain, from 0."),
    hash: text("SHA-256 of the record, base64url."),
    witnessed_at: time("When the cluster saw it."),
    conflicts: integer("Times that the node showed what cannot be one chain with what it had shown; above 0: look."),
  }),
  reconcile,
  reconcile_verdicts,
} as const;

export type TableName = keyof typeof TABLES;
export type RowOf<T extends TableName> = TypeOf<(typeof TABLES)[T]>;

export type KeyRecord = RowOf<"keys">;
export type SuspensionRecord = RowOf<"suspensions">;
export type AcknowledgementRecord = RowOf<"acknowledgements">;
export type SecretRecord = RowOf<"secrets">;
export type SourceRecord = RowOf<"sources">;
export type ClusterMemberRecord = RowOf<"cluster_members">;
export type BackendRecord = RowOf<"backends">;
export type McpServerRecord = RowOf<"mcp_servers">;
export type A2aAgentRecord = RowOf<"a2a_agents">;
export type ModelRecord = RowOf<"models">;
export type ProfileRecord = RowOf<"profiles">;
export type RefusalRecord = RowOf<"refusals">;
export type UsageRecord = RowOf<"usage">;
export type RequestRecord = RowOf<"requests">;
export type HistoryRecord = RowOf<"history">;
export type BudgetRecord = RowOf<"budgets">;
export type GuardrailRecord = RowOf<"guardrails">;
export type ArtifactRecord = RowOf<"artifacts">;
export type CertificateRecord = RowOf<"certificates">;
export type ControlRecord = RowOf<"controls">;
export type ReconcileRecord = RowOf<"reconcile">;
export type ReconcileVerdictRecord = RowOf<"reconcile_verdicts">;
export type AuditHeadRecord = RowOf<"audit_heads">;
export type SuspensionKind = (typeof SUSPENSION_KINDS)[number];
