/**
 * Who may import whom: the table of the architecture, as data. A change of the architecture is a change of this table.
 *
 * A unit is a folder of src/ with one face, its `index.ts`; folders within a unit belong to it. Every unit may import
 * `base`, and no unit's files but its index.
 */

/** The units under src/server/core, which are pure. */
const CORE = {
  "server/core/cel": [],
  "server/core/raft": [],
  "server/core/config": [],
  "server/core/catalog": ["server/core/config", "server/core/dialects"],
  "server/core/dialects": ["server/core/config"],
  "server/core/policy": ["server/core/config", "server/core/cel", "server/core/policy/variables"],
  // Apart from the rules: the data plane fills variables in without loading the engine that reads them.
  "server/core/policy/variables": ["server/core/cel"],
  "server/core/budgets": ["server/core/cel", "server/core/config", "server/core/dialects"],
  "server/core/guardrails": ["server/core/config", "server/core/dialects", "server/core/policy/variables"],
  // Apart from the types that detectors, streams and hops pass: it loads CEL.
  "server/core/guardrails/policy": ["server/core/cel", "server/core/config", "server/core/guardrails"],
  // How JSON and event streams are read.
  "server/core/agents": ["server/core/config", "server/core/dialects"],
  // Packs of controls, and how one is put into a document: what the objects of a deployment are, is the schema's to say.
  "server/core/packs": ["server/core/config"],
  // Pages of other origins: which are served, and what lets them read the answer.
  "server/core/cross-origin": [],
  "server/core/state": ["server/core/config", "server/core/budgets"],
  // Records of requests, and what another configuration would have made of them.
  "server/core/rehearsal": [],
} as const;

const PARTS = {
  "server/audit": [],
  "server/telemetry": [],
  // Which addresses are reached through a forward proxy, and the way through it.
  "server/forward-proxy": [],
  // Bytes that are held for requests, in account with each other.
  "server/memory": [],
  // Content encodings, of the data plane and of what another proxy routes.
  "server/coding": ["server/memory"],
  // The wire of ext_proc, for the client of pickers and the server of proxies.
  "server/ext-proc": [],
  "server/models": ["server/core/config", "server/forward-proxy"],
  "server/tls": ["server/core/config", "server/forward-proxy"],
  "server/auth": ["server/core/config", "server/forward-proxy"],
  "server/secrets": ["server/core/config", "server/core/state"],
  // Bodies of model answers before the guard: of the data plane, and of what another proxy routes.
  "server/answers": ["server/core/guardrails", "server/core/dialects"],
  "server/credentials": ["server/core/config", "server/auth", "server/forward-proxy"],
  "server/detectors": ["server/core/config", "server/core/guardrails", "server/core/dialects", "server/models"],
  "server/upstream": [
    "server/core/config",
    "server/core/catalog",
    "server/core/dialects",
    "server/coding",
    "server/credentials",
    "server/ext-proc",
    "server/forward-proxy",
  ],
  "server/cluster": ["server/core/config", "server/core/raft", "server/core/state"],
  "server/snapshot": [
    "server/core/cel",
    "server/core/config",
    "server/core/catalog",
    "server/core/dialects",
    "server/core/policy",
    "server/core/budgets",
    "server/core/guardrails",
    "server/core/guardrails/policy",
    "server/core/agents",
    "server/models",
    "server/secrets",
    "server/auth",
    "server/credentials",
    "server/detectors",
    "server/upstream",
  ],
  "server/dataplane": [
    "server/memory",
    "server/coding",
    "server/core/policy",
    "server/core/policy/variables",
    "server/core/budgets",
    "server/core/guardrails",
    "server/core/dialects",
    "server/core/agents",
    "server/core/cross-origin",
    "server/core/catalog",
    "server/core/rehearsal",
    "server/answers",
    "server/snapshot",
    "server/auth",
    "server/upstream",
    "server/forward-proxy",
  ],
  // The data plane in processes of its own: each port that it asks of the node, over a channel.
  "server/workers": [
    "server/audit",
    "server/auth",
    "server/cluster",
    "server/core/budgets",
    "server/core/guardrails",
    "server/core/rehearsal",
    "server/core/state",
    "server/dataplane",
    "server/memory",
    "server/snapshot",
    "server/telemetry",
    "server/tls",
    "server/upstream",
    "server/usage",
  ],
  // Judges recorded requests by a configuration, through the functions of the data plane.
  "server/rehearsal": [
    "server/auth",
    "server/core/budgets",
    "server/core/config",
    "server/core/dialects",
    "server/core/guardrails",
    "server/core/policy",
    "server/core/policy/variables",
    "server/core/rehearsal",
    "server/dataplane",
    "server/snapshot",
    "server/upstream",
  ],
  "server/inspector": [
    "server/memory",
    "server/coding",
    "server/answers",
    "server/core/guardrails",
    "server/core/dialects",
    "server/core/agents",
    "server/snapshot",
    "server/ext-proc",
  ],
  "server/usage": ["server/core/budgets", "server/core/state"],
  "server/reconcile": ["server/snapshot", "server/core/budgets", "server/credentials", "server/usage"],
  "server/admin": [
    "admin-api",
    "server/core/config",
    "server/core/guardrails",
    "server/core/budgets",
    "server/core/state",
    "server/snapshot",
    "server/auth",
    "server/secrets",
    "server/cluster",
  ],
} as const;

const SERVER: readonly string[] = [...Object.keys(CORE), ...Object.keys(PARTS)];

export const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  base: [],
  "admin-api": [],
  console: ["admin-api"],
  // It shares nothing with our reading of the protocols, so that it cannot share our mistakes.
  simulator: [],
  cli: ["admin-api", "console", "simulator", ...SERVER, "server/node"],
  ...CORE,
  ...PARTS,
  // The composition root.
  "server/node": SERVER,
};

/** Units of which another may take some types and nothing else: the inspector has nothing to route with. */
export const TYPES_ONLY: readonly { readonly from: string; readonly to: string; readonly types: readonly string[] }[] =
  [{ from: "server/inspector", to: "server/snapshot", types: ["GuardrailSnapshot"] }];

/**
 * Imports that must be `import()`: react and ink cost a quarter of a second, which only the console pays; the simulated
 * provider is for two verbs alone.
 */
export const LAZY_ONLY: readonly { readonly from: string; readonly to: string }[] = [
  { from: "cli", to: "console" },
  { from: "cli", to: "simulator" },
];

/** Modules of Node's that a pure file may import: functions of their arguments. */
export const PURE_NODE_MODULES: readonly string[] = [
  "assert",
  "assert/strict",
  "buffer",
  "crypto",
  "string_decoder",
  "util",
];

/** What units that pure code may import have for others: time, waits and the wire. */
export const IMPURE_NAMES: readonly string[] = ["systemClock", "Lifetime", "createAdminClient"];

/** Folders whose files are functions of their arguments: the core of the server, and the console but for its edges. */
export const PURE_FOLDERS: readonly string[] = [
  "src/server/core",
  ...["model", "format", "edit", "workbench", "actions", "pages", "store", "draw", "views"].map(
    (folder) => `src/console/${folder}`,
  ),
];

/**
 * The folders of the console, each with those that it may import. Below are the words and forms that all share; above them
 * what is seen and done, as data; the edges (`terminal`, `watch`, `run`, `parts`) know of one another only what is said
 * here, and `open.ts`, which nobody imports but the index, joins them.
 */
export const CONSOLE_MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  model: [],
  format: ["model"],
  settings: ["model"],
  edit: ["model"],
  pages: ["model", "format"],
  actions: ["model", "format", "pages"],
  views: ["model", "format", "actions"],
  workbench: ["model", "format", "edit"],
  store: ["model", "format", "edit", "workbench"],
  draw: ["model", "format", "workbench", "store"],
  terminal: ["model"],
  watch: ["model"],
  run: ["model", "pages", "watch"],
  parts: ["model", "settings", "store", "draw"],
};
