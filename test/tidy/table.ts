/**
 * The architecture's table of imports that are allowed between units, as data. Changing the architecture means changing this table.
 *
 * A unit is a folder of src/ with one entry point, its `index.ts`; its subfolders belong to it. Every unit may import
 * `base`; only a unit's index may be imported from outside.
 */

/** The units under src/server/core, which are pure. */
const CORE = {
  "server/core/cel": [],
  "server/core/raft": [],
  "server/core/config": [],
  "server/core/catalog": ["server/core/config", "server/core/dialects"],
  "server/core/dialects": ["server/core/config"],
  "server/core/policy": ["server/core/config", "server/core/cel", "server/core/policy/variables"],
  // Separate from the rules: the data plane fills in variables without loading the engine that parses them.
  "server/core/policy/variables": ["server/core/cel"],
  "server/core/budgets": ["server/core/cel", "server/core/config", "server/core/dialects"],
  "server/core/guardrails": ["server/core/config", "server/core/dialects", "server/core/policy/variables"],
  // Separate from the types that detectors, streams and hops share, because it loads CEL.
  "server/core/guardrails/policy": ["server/core/cel", "server/core/config", "server/core/guardrails"],
  // How JSON and event streams are read.
  "server/core/agents": ["server/core/config", "server/core/dialects"],
  // Packs of controls and their insertion into a document. The schema defines the objects of a deployment.
  "server/core/packs": ["server/core/config"],
  // Requests from web pages of other origins: which are served, and which headers let the page read the answer.
  "server/core/cross-origin": [],
  "server/core/state": ["server/core/config", "server/core/budgets"],
  // Recorded requests, and their results under another configuration.
  "server/core/rehearsal": [],
} as const;

const PARTS = {
  "server/audit": [],
  "server/telemetry": [],
  // The addresses that are reached through a forward proxy, and the connection through it.
  "server/forward-proxy": [],
  // Accounting of the bytes held for requests.
  "server/memory": [],
  // Content encodings, for the data plane and for traffic that another proxy routes.
  "server/coding": ["server/memory"],
  // The wire format of ext_proc, for the client of endpoint pickers and the server for proxies.
  "server/ext-proc": [],
  "server/models": ["server/core/config", "server/forward-proxy"],
  "server/tls": ["server/core/config", "server/forward-proxy"],
  "server/auth": ["server/core/config", "server/forward-proxy"],
  "server/secrets": ["server/core/config", "server/core/state"],
  // Model answers before the guard, of the data plane and of traffic that another proxy routes.
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
  // The data plane in separate processes: each port that it uses of the node goes over a channel.
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
  // It shares nothing with our implementation of the protocols, so it cannot share our mistakes.
  simulator: [],
  cli: ["admin-api", "console", "simulator", ...SERVER, "server/node"],
  ...CORE,
  ...PARTS,
  // The composition root.
  "server/node": SERVER,
};

/**
 * Units of which another may import some types and nothing else. The inspector, for example, has nothing to route with.
 */
export const TYPES_ONLY: readonly { readonly from: string; readonly to: string; readonly types: readonly string[] }[] =
  [{ from: "server/inspector", to: "server/snapshot", types: ["GuardrailSnapshot"] }];

/**
 * Imports that must use `import()`: react and ink take a quarter of a second, which only the console needs, and the
 * simulated provider serves only two verbs.
 */
export const LAZY_ONLY: readonly { readonly from: string; readonly to: string }[] = [
  { from: "cli", to: "console" },
  { from: "cli", to: "simulator" },
];

/** Node modules that a pure file may import, because they are functions of their arguments. */
export const PURE_NODE_MODULES: readonly string[] = [
  "assert",
  "assert/strict",
  "buffer",
  "crypto",
  "string_decoder",
  "util",
];

/** Exports for time, waiting and I/O, in units that pure code may import; pure code may not use them. */
export const IMPURE_NAMES: readonly string[] = ["systemClock", "Lifetime", "createAdminClient"];

/** Folders whose files are functions of their arguments: the server's core, and the console except for its edges. */
export const PURE_FOLDERS: readonly string[] = [
  "src/server/core",
  ...["model", "format", "edit", "workbench", "actions", "pages", "store", "draw", "views"].map(
    (folder) => `src/console/${folder}`,
  ),
];

/**
 * The console's folders, each with those that it may import. The lowest layer has words and forms that all share; above
 * it the views and actions, as data. The edges (`terminal`, `watch`, `run`, `parts`) may use of one another only what
 * is listed here. `open.ts`, which only the index imports, connects them.
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
