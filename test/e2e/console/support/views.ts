/** Every view of the console, how to reach it and what it shows; and a walk through all of them at each size. */
import assert from "node:assert/strict";
import { TABLES } from "../../../../src/admin-api/index.ts";
import { VIEWS } from "../../../../src/console/views/all.ts";
import { KEYS, PROMPT, PROVIDERS, type SeenConsole } from "./console-gateway.ts";
import { faultsOf, wordsOf } from "./frame.ts";

interface ViewUnderTest {
  readonly id: string;
  readonly title: string;
  /** Text after `:` that opens it. */
  readonly command: string;
  /** Whether it reads something of its own first, so that it can be loading, forbidden or failed. */
  readonly reads: boolean;
  /** Whether the overview or the header also read it, so that a console has it at once. */
  readonly isReadAtOnce: boolean;
  /** Text with the gateway's rows. */
  readonly normal: RegExp;
  /** Sentence and next step for an empty gateway; `undefined` if it always has content. */
  readonly empty: readonly [sentence: RegExp, next: RegExp] | undefined;
}

type Facts = Pick<ViewUnderTest, "normal" | "empty"> & { readonly subject?: string };

const FACTS: ReadonlyMap<string, Facts> = new Map(
  Object.entries({
    overview: {
      normal: /FAIL .*acme/,
      empty: [/Nothing wants attention/, /2 providers, 3 keys, 4 budgets, : for everything else/],
    },
    acknowledgements: {
      normal: /Nothing is acknowledged/,
      empty: [/Nothing is acknowledged\./, /Press a on a row of/],
    },
    pulse: { normal: /REQUESTS[\s\S]*RAFT/, empty: undefined },
    providers: {
      normal: /acme-alt +!FAILING/,
      empty: [/No providers are configured\./, /Define them in the deployment document/],
    },
    errors: {
      subject: PROVIDERS.failing,
      normal: /503/,
      empty: [/No failure of acme-alt on any node/, /`:refusals`/],
    },
    pool: {
      subject: PROVIDERS.idle,
      normal: /127\.0\.0\.1:\d+ +idle/,
      empty: [/judge-local has no servers on any node/, /`gateway check` says which/],
    },
    refusals: {
      normal: /unknown caller +unauthenticated/,
      empty: [/Nothing was refused in the last hour\./, /e on a provider/],
    },
    requests: {
      normal: /prod-search/,
      empty: [/No finished requests yet\./, /`:providers` counts those in flight/],
    },
    usage: {
      normal: /HOUR|The ledger of usage is empty/,
      empty: [/The ledger of usage is empty\./, /once a minute/],
    },
    suspensions: { normal: /provider .*judge-local/, empty: [/Nothing is suspended\./, /Press n to suspend/] },
    models: { normal: /sim-\*/, empty: [/No model is routed/, /name a `default_provider`/] },
    mcp: {
      normal: /tickets +idle/,
      empty: [/No MCP servers are configured\./, /Define them in the deployment document/],
    },
    a2a: {
      normal: /planner +idle/,
      empty: [/No A2A agents are configured\./, /Define them in the deployment document/],
    },
    guardrails: {
      normal: /cards +deny/,
      empty: [/No guardrails are configured/, /written in the deployment document/],
    },
    certificates: {
      normal: /The gateway serves plain HTTP/,
      empty: [/The gateway serves plain HTTP/, /Set `tls\.domains`/],
    },
    artifacts: { normal: /No detector needs a model/, empty: [/No detector needs a model/, /`gateway models pin`/] },
    packs: { normal: /baseline-secrets/, empty: undefined },
    sweeps: { normal: /No sweep yet/, empty: [/No sweep yet/, /`gateway guardrails eval/] },
    controls: {
      normal: /No rule cites a control\./,
      empty: [/No rule cites a control\./, /`gateway pack list`/],
    },
    keys: { normal: new RegExp(KEYS.used), empty: [/No keys\./, /Press m to mint one/] },
    xray: {
      subject: KEYS.used,
      normal: /key prod-search[\s\S]*profile standard[\s\S]*budget team-research/,
      empty: [/No key or profile is named prod-search\./, /`:keys` and `:profiles` list them/],
    },
    favorites: {
      normal: /No view is kept under a function key/,
      empty: [/No view is kept under a function key\./, /K in any view keeps it there/],
    },
    profiles: { normal: /standard/, empty: [/No profiles\./, /Define them in the deployment document/] },
    budgets: { normal: /team-research/, empty: [/No budgets/, /Define them in the deployment document/] },
    reconcile: { normal: /No provider is reconciled/, empty: [/No provider is reconciled/, /`reconcile.providers`/] },
    cluster: { normal: /n1 .*leader/, empty: [/No members are known/, /`peers`, `join` or `bootstrap`/] },
    recover: { normal: /WHEN/, empty: undefined },
    config: { normal: /default/, empty: [/No configuration is stored/, /Press n|Press R/] },
    rehearsal: {
      normal: /No change was rehearsed yet/,
      empty: [/No change was rehearsed yet/, /Enter there opens its requests/],
    },
    revisions: { subject: "default", normal: /sort: rev/, empty: [/No revisions of default are kept/, /`:config`/] },
    secrets: { normal: /vendor-token/, empty: [/No sealed secrets\./, /Press n to create one/] },
    "audit-heads": { normal: /NODE .*\bn1 /, empty: [/No audit heads yet\./, /r reads again/] },
    "audit-tail": { normal: /admin/, empty: [/nodes have no audit records yet/, /press r to read again/] },
    "audit-verify": { normal: /Nothing verified yet/, empty: undefined },
    changes: { normal: /mint key|write secret/, empty: [/No changes through the admin API/, /`:audit-verify` checks/] },
    query: {
      normal: new RegExp(`you may read ${Object.keys(TABLES).length} tables`),
      empty: [/lets you read none of the tables/, /One SELECT over the lists/],
    },
  } satisfies Record<string, Facts>),
);

/** Reads of the header and of the first view. */
const HEADER_READS: ReadonlySet<string> = new Set([
  "get_status",
  "get_config",
  "list_cluster_members",
  "list_backends",
  "list_budgets",
  "list_suspensions",
]);
const FIRST_READS: ReadonlySet<string> = new Set(
  VIEWS.filter(({ id }) => id === "overview").flatMap(({ needs }) =>
    needs(undefined).map((read) => JSON.stringify(read)),
  ),
);

export const VIEWS_UNDER_TEST: readonly ViewUnderTest[] = VIEWS.map(({ id, title, needs }) => {
  const facts = FACTS.get(id);
  assert.ok(facts, `nothing is known of the view ${id}: a new view is a new line of this table`);
  const { subject, normal, empty } = facts;
  const [first] = needs(subject);
  return {
    id,
    title,
    command: subject === undefined ? id : `${id} ${subject}`,
    reads: first !== undefined,
    isReadAtOnce: first !== undefined && (HEADER_READS.has(first.id) || FIRST_READS.has(JSON.stringify(first))),
    normal,
    empty,
  };
});

/** Sizes that this project promises to support, as columns and rows. */
export const SIZES: readonly Size[] = [
  [120, 35],
  [80, 24],
  [60, 16],
];

type Size = readonly [columns: number, rows: number];

export async function goTo(console: SeenConsole, { command, title }: ViewUnderTest): Promise<void> {
  await console.command(command);
  // The previous view may still be shown; a prompt that is still drawn would pass for the next one.
  const frame = new RegExp(`^┌─ ${title} `, "m");
  await console.until((screen) => frame.test(screen) && !PROMPT.test(screen), `the view ${title}`);
}

/** Waits for the expected texts on a complete frame. */
export async function shows(console: SeenConsole, ...expected: readonly RegExp[]): Promise<void> {
  const areThere = (): boolean => expected.every((each) => each.test(wordsOf(console)));
  await console.until(areThere, expected.join(" and "));
  await console.settled();
  assert.deepEqual(faultsOf(console), [], console.screen());
}

/**
 * Walks through all views at all sizes; `visit` is called with the view on the screen. `isShort` visits each view at
 * one size, and each size with some of the views.
 */
export async function sweep(
  console: SeenConsole,
  visit: (view: ViewUnderTest) => Promise<void>,
  {
    sizes = SIZES,
    views = VIEWS_UNDER_TEST,
    isShort = false,
  }: { readonly sizes?: readonly Size[]; readonly views?: readonly ViewUnderTest[]; readonly isShort?: boolean } = {},
): Promise<void> {
  for (const [turn, [columns, rows]] of sizes.entries()) {
    console.resize(columns, rows);
    await console.until(() => console.row(2).length === columns && /^┌─ .*┐$/.test(console.row(2)), "the new size");
    await console.settled();
    for (const [at, view] of views.entries()) {
      if (isShort && at % sizes.length !== turn) continue;
      await goTo(console, view);
      await visit(view);
    }
  }
}
