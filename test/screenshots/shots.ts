/** The pictures in the order in which they are taken: which console is opened and what its operator does. */

import { VIEWS } from "../../src/console/views/all.ts";
import type { TestTerminal } from "../console/support/terminal.ts";
import { CASES } from "./cases.ts";
import { AUDIT_TRAIL, type DemoCluster, type NodeId } from "./cluster.ts";

export interface Shot {
  /** Name of the file. The picture of a view is named by the view's id. */
  readonly name: string;
  /** Text for people who cannot see the picture. */
  readonly title: string;
  readonly columns?: number;
  readonly rows?: number;
  /** Node whose socket is used; n1, the leader, by default. */
  readonly node?: NodeId;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** In the light theme, and reduced to 80 by 24 before the picture is taken. It has no PNG. */
  readonly light?: true;
  /** Drives the terminal until the screen shows the subject of the picture. */
  act(terminal: TestTerminal, cluster: DemoCluster): Promise<void>;
}

export const SMALL = { columns: 80, rows: 24 };

/** Opens a view by name from anywhere but the workbench. `shows` is awaited once the view is open. */
async function go(terminal: TestTerminal, command: string, shows: string | RegExp): Promise<void> {
  terminal.type(`:${command}`);
  await terminal.until((screen) => screen.trimEnd().endsWith(`:${command}`), `the prompt with ${command}`);
  await terminal.press("enter");
  // Both must be there, because the view's content may have been on the screen before.
  const isThere = (screen: string): boolean =>
    /\? help|Ctrl-R/.test(screen) && !screen.includes(`:${command}`) && new RegExp(shows).test(screen);
  await terminal.until((screen) => isThere(screen.replace(/\[:[\w-]+\]/g, "")), `${shows} in ${command}`);
}

/** A view by its name; `shows` is what it displays once its data is read. */
const view = (name: string, shows: string | RegExp, title: string, command = name): Shot => ({
  name,
  title,
  act: (terminal) => go(terminal, command, shows),
});

/** Presses a key on the row under the cursor, such as that of a verb, and waits for `shows`. */
async function press(terminal: TestTerminal, chord: string, shows: string | RegExp): Promise<void> {
  await terminal.press(chord);
  await terminal.until(shows);
}

/** A dialog for one row of a view. */
const dialog = (name: string, title: string, [command, row, chord]: readonly [string, string, string]): Shot => ({
  name,
  title,
  async act(terminal) {
    await go(terminal, `${command} /${row}`, new RegExp(`> ?${row}|>.*${row}`));
    await press(terminal, chord, /Esc {2}cancel/);
  },
});

/** There were requests in the last ten seconds. */
const PULSE_SHOWS = /REQUESTS +[1-9]/;
/** The failures of the row appear below. */
const PROVIDERS_SHOW = /attempt \d[\s\S]*attempt \d/;
/** Waits for what is above the alerts, and for the advice on the first one. */
const overview: Shot["act"] = (terminal) => terminal.until(/TRAFFIC[\s\S]*team-research[\s\S]* do {2}.*fails/);
const providers: Shot["act"] = (terminal) => go(terminal, "providers", /judge-local/);

/** Every node has the budgets, so there is one row per node. */
const SQL = `select k.name, k.profile, b.budget, max(b.used) as used, min(b.remaining) as remaining
from keys k join budgets b on b.key = k.name
where b.status <> 'ok' or k.name like 'prod-%'
group by 1, 2, 3 order by used desc`;

async function typed(terminal: TestTerminal, text: string): Promise<void> {
  terminal.type(text);
  await terminal.settled();
}

/** Fills in the dialog that creates a key. */
async function fillIn(terminal: TestTerminal): Promise<void> {
  terminal.type("prod-vision");
  await terminal.until("[prod-vision");
  await press(terminal, "tab", "> Profile");
  terminal.type("standard");
  await terminal.until(/"profile":"standard"/);
}

/** Removes a list of models from a profile. */
const REHEARSED = {
  env: { VISUAL: "", EDITOR: "sed -i 's/allowed_models: .acme-., messages/allowed_models: [messages/'" },
};

/** A node's first rehearsal may take longer than a dialog waits; the edited text is kept for the next try. */
async function rehearse(terminal: TestTerminal): Promise<void> {
  await go(terminal, "config /default", />default/);
  for (let times = 0; times < 3 && !/Last hour +\d/.test(terminal.screen()); times += 1) {
    await terminal.press("esc", "E");
    await terminal.until(/Last hour +(\d|not rehearsed)[\s\S]*allowed_models/);
  }
  await terminal.until(/Last hour +[\d,]+ requests: [\d,]+ would be refused[\s\S]*allowed_models/);
}

/** Pictures taken while all three nodes run. */
const WHOLE: readonly Shot[] = [
  { name: "overview", title: "The overview: what wants attention, worst first", act: overview },
  {
    name: "overview-80x24",
    title: "The overview in 80 columns",
    ...SMALL,
    act: (terminal) => terminal.until(/FAIL +acme-chat[\s\S]*team-research[\s\S]* do {2}.*fails/),
  },
  {
    name: "overview-ascii",
    title: "The overview in ASCII and without colours",
    args: ["-ascii"],
    env: { NO_COLOR: "1" },
    act: overview,
  },
  view("providers", PROVIDERS_SHOW, "Providers, the failing one first"),
  { name: "providers-80x24", title: "Providers in 80 columns", ...SMALL, act: providers },
  {
    name: "suspend",
    title: "The dialog that suspends a provider",
    async act(terminal) {
      await go(terminal, "providers", PROVIDERS_SHOW);
      await press(terminal, "s", /PUT .*suspensions/);
    },
  },
  view("errors", /503/, "The last failures of one provider", "errors acme-chat"),
  view("pool", /127\.0\.0\.1:\d+ +ok/, "The servers of a pool, as each node met them", "pool pool-eu"),
  view("requests", /STATUS/, "The last requests: who asked whom for what, and what came of it"),
  {
    name: "usage",
    title: "Who used what: tokens and cost units by hour, caller, provider and model",
    async act(terminal) {
      await go(terminal, "usage", /HOUR|empty/);
      // Nodes report to the ledger once a minute.
      for (let times = 0; times < 10 && !/prod-chat/.test(terminal.screen()); times += 1) {
        await terminal.until(/prod-chat/).catch(() => undefined);
      }
      await terminal.until(/prod-chat/);
    },
  },
  view("refusals", /CALLER/, "Who was refused, with which code and by what"),
  view("suspensions", /beta-labs/, "Suspensions, by whom and until when"),
  {
    name: "acknowledgements",
    title: "What operators have acknowledged, and how it stands now",
    async act(terminal, cluster) {
      await overview(terminal, cluster);
      await terminal.press("G");
      await press(terminal, "a", /Acknowledge/);
      terminal.type("rotation until the evening, ticket 4711");
      await terminal.press("enter", "enter", "y");
      await terminal.until(/1 acknowledged/);
      await go(terminal, "acknowledgements", /ticket 4711[\s\S]*until +\d/);
    },
  },
  view("models", /acme-large/, "Models, and the provider that is asked now"),
  view("mcp", /!FAILING[\s\S]*org\.example[\s\S]*bad +\d/, "MCP servers, the failing one first"),
  view("a2a", /planner[\s\S]*last 15m +\d/, "A2A agents, and what their calls took"),
  view("guardrails", /acted addresses .* [1-9]\d*/, "Guardrails in force, and what each did"),
  view("reconcile", /DAY[\s\S]*apart/, "Metered usage against the reports of providers"),
  view("controls", /iso-27001/, "Controls that rules carry, and how often they were served"),
  view("artifacts", /unused/, "Files of models on a node"),
  {
    ...view(
      "certificates",
      /models\.example/,
      "The certificate of the gateway's TLS listener, and what to do about it",
    ),
    node: "n3",
  },
  view("packs", /its cases +pass/, "Control packs, and what adding the one under the cursor would change", "packs"),
  {
    name: "sweeps",
    title: "Guardrails over marked texts at every threshold, and the cases that turn",
    async act(terminal) {
      await go(terminal, "sweeps", /No sweep yet/);
      await press(terminal, "x", /data files/);
      terminal.type(CASES);
      await terminal.press("enter");
      await terminal.until(/0\.40 in force/);
      for (let times = 0; times < 4; times += 1) {
        await terminal.press("right");
        await terminal.settled();
      }
      await terminal.until(/W write threshold/);
    },
  },
  view("keys", /prod-search/, "Virtual keys and what they have used"),
  {
    name: "keys-80x24",
    title: "Virtual keys in 80 columns",
    ...SMALL,
    act: (terminal) => press(terminal, "3", /status-page/),
  },
  view("xray", /FAILING/, "What a caller depends on, with the state of each part", "xray prod-search"),
  view("profiles", /research/, "Profiles"),
  view("budgets", /profile evals/, "Budgets, the fullest first"),
  {
    name: "mint",
    title: "The dialog that mints a key",
    async act(terminal) {
      await go(terminal, "keys", /prod-search/);
      await press(terminal, "m", /Mint a key/);
      await fillIn(terminal);
    },
  },
  {
    name: "minted",
    title: "A new key, whose text is shown once",
    async act(terminal) {
      await go(terminal, "keys", /prod-search/);
      await press(terminal, "m", /Mint a key/);
      await fillIn(terminal);
      await press(terminal, "tab", "> Expires in");
      await press(terminal, "tab", "> Metadata");
      await press(terminal, "tab", /y {2}mint/);
      await press(terminal, "y", /3\/3 nodes/);
    },
  },
  dialog("revoke", "The dialog that revokes a key, confirmed by its name", ["keys", "nb-oli", "X"]),
  view("cluster", /n3/, "The members of the cluster"),
  view("recover", /recover/, "What to do when the majority is lost for good"),
  view("config", /team-ml/, "Sources of the configuration"),
  {
    ...REHEARSED,
    name: "rehearse",
    title: "An edited source, and whom of the last hour it would have refused",
    act: rehearse,
  },
  {
    ...REHEARSED,
    name: "rehearsal",
    title: "The requests that the change would have refused; each opens its explanation",
    async act(terminal) {
      await rehearse(terminal);
      await press(terminal, "enter", /REQUEST[\s\S]*!REFUSED/);
    },
  },
  view("revisions", /alice/, "Revisions of one source", "revisions default"),
  {
    name: "difference",
    title: "What the last revision changed",
    async act(terminal) {
      await go(terminal, "config", /team-ml/);
      await press(terminal, "D", /window: hour/);
    },
  },
  {
    name: "document",
    title: "The document of a source",
    async act(terminal) {
      await go(terminal, "config", /team-ml/);
      await press(terminal, "v", /Providers, callers/);
    },
  },
  {
    name: "favorites",
    title: "Views that were kept under function keys",
    async act(terminal) {
      for (const [at, command, shows] of [
        [1, "requests /503", /STATUS/],
        [2, "errors acme-chat", /503/],
        [3, "keys /prod-", /prod-search/],
        [4, "budgets", /team-research/],
      ] as const) {
        await go(terminal, command, shows);
        await press(terminal, "K", /Keep this view/);
        await terminal.press("enter", "y");
        await terminal.until(new RegExp(`F${at} goes to`));
      }
      await go(terminal, "favorites", />F1 +requests[\s\S]*F4 +budgets/);
    },
  },
  view("secrets", /JUDGE_API_KEY/, "Sealed secrets and where they are used"),
  view("audit-heads", /n3/, "Heads of the audit chains, as the cluster has witnessed them"),
  {
    ...view("audit-tail", /beta-labs/, "The newest records of the audit trail"),
    args: ["-audit", AUDIT_TRAIL],
  },
  {
    name: "audit-verify",
    title: "An exported audit trail, verified",
    args: ["-audit", AUDIT_TRAIL],
    async act(terminal) {
      await go(terminal, "audit-verify", /Nothing verified yet/);
      await press(terminal, "V", /audit trail to verify/);
      terminal.type(AUDIT_TRAIL);
      await terminal.press("enter");
      await terminal.until(/records/);
    },
  },
  view("changes", /put_|create_|login/, "What was done through the admin API, and what was refused"),
  {
    name: "query",
    title: "The query workbench with a result",
    async act(terminal) {
      await go(terminal, "query", /Ctrl-R/);
      terminal.paste(SQL);
      await terminal.settled();
      await press(terminal, "ctrl-r", /rows? of .*index \d/);
    },
  },
  {
    name: "query-completion",
    title: "The query workbench completes what is typed",
    async act(terminal) {
      await go(terminal, "query", /Ctrl-R/);
      await typed(terminal, "select name, state, error_ratio from backends where r");
      await press(terminal, "tab", /1\/\d/);
    },
  },
  {
    name: "help",
    title: "The keys of a view",
    async act(terminal) {
      await go(terminal, "providers", /judge-local/);
      await press(terminal, "?", /Esc/);
      await terminal.settled();
    },
  },
  {
    name: "forbidden",
    title: "A list that the policy of the node does not permit",
    node: "n3",
    act: (terminal) => go(terminal, "secrets", /not permit|policy/),
  },
  // Last, because there is more to chart the longer the nodes have run.
  view("pulse", PULSE_SHOWS, "The pulse: the whole gateway in charts of 15 minutes"),
  {
    name: "pulse-80x24",
    title: "The pulse in 80 columns",
    ...SMALL,
    act: (terminal) => go(terminal, "pulse", PULSE_SHOWS),
  },
  {
    name: "pulse-cursor",
    title: "The pulse with its cursor at an earlier moment, on a wide screen",
    columns: 200,
    rows: 60,
    async act(terminal) {
      await go(terminal, "pulse", PULSE_SHOWS);
      await terminal.press("left", "left");
      await terminal.until(/s ago/);
    },
  },
];

/** `n3` fails while its console is open, and stays down. */
const BROKEN: readonly Shot[] = [
  {
    name: "offline",
    title: "The last that was known, while no gateway answers",
    node: "n3",
    async act(terminal, { n3 }) {
      await terminal.until(/acme-chat[\s\S]*team-research/);
      await n3.stop();
      await terminal.until(/OFFLINE since .*retry in/);
    },
  },
  {
    name: "prune",
    title: "Choosing the members that stay",
    async act(terminal) {
      await go(terminal, "cluster", /! ?silent/i);
      await press(terminal, "P", /keep/i);
      await terminal.settled();
    },
  },
];

const IDS: ReadonlySet<string> = new Set(VIEWS.map(({ id }) => id));

/** Each view in the other size and the other theme. */
const SMALL_AND_LIGHT: readonly Shot[] = WHOLE.filter(({ name }) => IDS.has(name)).map((shot) => ({
  ...shot,
  name: `${shot.name}-light-80x24`,
  title: `${shot.title}, in the light theme and 80 columns`,
  light: true,
}));

export const SHOTS: readonly Shot[] = [...WHOLE, ...SMALL_AND_LIGHT, ...BROKEN];
